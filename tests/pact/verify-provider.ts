import { join } from 'node:path';
import { contractNames } from './contract-folder.ts';
import type { ProviderStates } from './provider-states.ts';
import { type Repository, startProvider } from './provider-under-test.ts';
import { RenamingProxy } from './renaming-proxy.ts';
import { type VerifiedInteraction, verifyContract } from './verify-contract.ts';

/** What came of the contracts, by their names. `rename` is the break that was made deliberately, as it was asked for. */
export interface Verification {
  readonly rename?: string;
  readonly contracts: Readonly<Record<string, readonly VerifiedInteraction[]>>;
}

// A program of its own: the verifier prints a report that nothing can switch off, and reads the environment of its
// process. It writes its verifications in one line, the last one.
const [repository, folder = '', ...renames] = process.argv.slice(2);

await using provider = await startProvider(repository as Repository);
const verifications: Verification[] = [{ contracts: await verifyAll(provider.url, provider.states) }];
for (const rename of renames) {
  const [from = '', to = ''] = rename.split('=');
  await using proxy = await RenamingProxy.to(provider.url, { from, to });
  verifications.push({ rename, contracts: await verifyAll(proxy.url, provider.states) });
}
process.stdout.write(`\n${JSON.stringify(verifications)}\n`);

async function verifyAll(url: string, states: ProviderStates): Promise<Verification['contracts']> {
  const contracts: Record<string, readonly VerifiedInteraction[]> = {};
  for (const name of contractNames(folder)) contracts[name] = await verifyContract(join(folder, name), url, states);
  return contracts;
}
