import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findLoadGenerator } from '../load/find-load-generator.ts';
import { machineLines } from '../machine/machine-lines.ts';
import { findRsaLimit } from '../machine/rsa-limit.ts';
import { say } from '../say.ts';
import { startBenchDatabaseServer } from '../servers/bench-database-server.ts';
import { installPeers, peerVersion } from '../servers/peers.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { COMPARISON_CONNECTIONS, type ComparisonPlan, compare } from './comparison.ts';
import { comparisonChart } from './comparison-chart.ts';
import { comparisonPage } from './comparison-page.ts';
import { comparisonReport } from './comparison-report.ts';

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

export interface ComparisonOptions extends ComparisonPlan {
  /** Whether docs/benchmark.md and docs/benchmark.svg are written anew. */
  readonly write: boolean;
}

/** `npm run bench`: this service beside others. Answers whether every answer was a token. */
export async function runComparison(options: ComparisonOptions, opened: AsyncDisposableStack): Promise<boolean> {
  await installPeers();
  const tools = {
    generator: await findLoadGenerator(),
    rsaLimit: await findRsaLimit(),
    databases: await startBenchDatabaseServer(opened),
    folder: await temporaryFolder(opened),
  };
  const comparison = await compare(options, tools, opened);
  const peers = ['oidc-provider', '@node-oauth/oauth2-server'];
  const versions = await Promise.all(peers.map(async (name) => `${name} ${await peerVersion(name)}`));
  const report = comparisonReport(comparison, [
    ...machineLines(),
    `Load: ${tools.generator.name}, ${COMPARISON_CONNECTIONS} keep-alive connections, ${options.rounds} rounds of ${options.seconds} s`,
    `RSA limit: ${tools.rsaLimit.name}`,
    `PostgreSQL: ${tools.databases.name}`,
    `Others: ${versions.join(', ')}`,
  ]);
  process.stdout.write(`${report}\n`);
  if (options.write) {
    await writeFile(join(DOCS, 'benchmark.md'), comparisonPage(report));
    await writeFile(join(DOCS, 'benchmark.svg'), await comparisonChart(comparison));
  }
  const failed = comparison.rows.filter(({ rounds }) => rounds.some(({ failures }) => failures > 0));
  for (const { name } of failed) say(`FAILED: ${name} did not answer every request with a token`);
  return failed.length === 0;
}
