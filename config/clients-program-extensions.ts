import type { CommandDefinition } from '../adapters/cli/command-program.ts';
import type { Input } from '../adapters/cli/read-secret.ts';
import type { ReadTextFile } from '../adapters/system/read-text-file.ts';
import type { FederatedSubject } from '../domain/client-details.ts';
import type { Result } from '../domain/result.ts';
import { federatedClientsProgram } from './capabilities/federated-jwt/clients-program-extension.ts';
import type { Environment } from './settings/read-environment.ts';

/** What a capability adds to `npm run clients`. */
interface ClientsProgramExtension {
  /** @param program how users call the program. */
  commands(environment: Environment, program: string, stdin: Input): readonly CommandDefinition[];
  /** What says why a rule of a client can match nothing, or is too weak. Fails with the setting that it cannot read. */
  readRuleCheck(
    environment: Environment,
    readTextFile: ReadTextFile,
  ): Result<(rule: FederatedSubject) => string | undefined, string>;
}

/** The program works without any of them. */
export const CLIENTS_PROGRAM_EXTENSIONS: readonly ClientsProgramExtension[] = [federatedClientsProgram];
