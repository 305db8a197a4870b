import { markdownList } from '../figures/markdown-list.ts';
import { findLoadGenerator } from '../load/find-load-generator.ts';
import { machineLines } from '../machine/machine-lines.ts';
import { startBenchDatabaseServer } from '../servers/bench-database-server.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { measureCrowding } from './crowding.ts';
import { type GrowthPlan, measureGrowth } from './growth.ts';
import { growthReport } from './growth-report.ts';

const CONNECTIONS = [1, 16, 256, 2_048];

export type GrowthOptions = GrowthPlan;

/** `npm run bench -- growth`: what registrations and connections cost. Answers whether every client of a table got its tokens. */
export async function runGrowth(options: GrowthOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const databases = await startBenchDatabaseServer(opened);
  const growth = await measureGrowth(options, generator, databases, opened);
  const plan = { rounds: options.rounds, seconds: options.seconds, connections: CONNECTIONS };
  const crowding = await measureCrowding(plan, generator, await temporaryFolder(opened), opened);
  const conditions = [
    ...machineLines(),
    `Load: ${generator.name}, ${options.rounds} rounds of ${options.seconds} s; tables at 16 connections`,
    `PostgreSQL: ${databases.name}`,
  ];
  process.stdout.write(`${markdownList(conditions)}\n\n${growthReport(growth, crowding)}\n`);
  return growth.every(({ rounds }) => rounds.every(({ failures }) => failures === 0));
}
