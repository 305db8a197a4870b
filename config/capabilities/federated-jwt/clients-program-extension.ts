import { explainCommand } from '../../../adapters/cli/federated-jwt/explain-command.ts';
import type { Input } from '../../../adapters/cli/read-secret.ts';
import type { Environment } from '../../settings/read-environment.ts';
import { readRuleCheck } from './rule-check.ts';

/** `explain`, and the check of rules that operators add. */
export const federatedClientsProgram = {
  readRuleCheck,
  commands(environment: Environment, program: string, stdin: Input) {
    // Loaded when it runs, since only this command needs the settings of the service.
    const open = async () => (await import('./open-explain.ts')).openExplain(environment);
    return [explainCommand(open, program, stdin)];
  },
};
