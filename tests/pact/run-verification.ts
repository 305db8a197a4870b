import { runProgram } from '../support/program.ts';
import { BROKER_VARIABLE } from '../support/test-database-broker.ts';
import { CONTRACT_FOLDER } from './contract-folder.ts';
import type { Repository } from './provider-under-test.ts';
import type { Verification } from './verify-provider.ts';

export interface VerificationOptions {
  readonly folder?: string;
  /** Changes `from=to` of the service's answers, each of which is verified on its own. */
  readonly renames?: readonly string[];
}

/**
 * Verifies every contract of a folder against the real service: first as it is, then with each rename. Throws with all
 * that the verifier printed where it could not do its work.
 */
export async function runVerification(
  repository: Repository,
  { folder = CONTRACT_FOLDER, renames = [] }: VerificationOptions = {},
): Promise<readonly Verification[]> {
  const environment = { PACT_DO_NOT_TRACK: 'true', [BROKER_VARIABLE]: process.env[BROKER_VARIABLE] ?? '' };
  await using program = runProgram('tests/pact/verify-provider.ts', environment, [repository, folder, ...renames]);
  const code = await program.ended();
  if (code !== 0) throw new Error(`the verification ended with ${code}:\n${program.stdout()}\n${program.stderr()}`);
  return JSON.parse(program.stdout().trimEnd().split('\n').at(-1) ?? '') as Verification[];
}
