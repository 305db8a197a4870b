import { startBenchDatabaseServer } from '../bench-database.ts';
import { type Candidate, type Store, startInMemory, startOnPostgres } from '../candidates.ts';
import { machineLines, markdownList, say } from '../report.ts';
import { SigningClients } from '../signing-clients.ts';
import type { Collection } from './collect-samples.ts';
import { loadMachine } from './machine-load.ts';
import { type PathName, REFUSAL_PATHS } from './refusal-paths.ts';
import { CASES, type Case, idPrefix, ROW_CASES, registrationsOf } from './timing-cases.ts';
import { caseResults, passes, timingReport } from './timing-report.ts';

/** Of services whose clients sign assertions. */
const ISSUER = 'http://issuer.test';

export type Machine = 'quiet' | 'busy';

export interface TimingOptions {
  readonly paths: readonly PathName[];
  readonly stores: readonly Store[];
  readonly machines: readonly Machine[];
  readonly workers: number;
  /** Samples per case and run. */
  readonly count: number;
  readonly runs: number;
  /** The BCrypt cost of refusals where the path does not decide it. */
  readonly cost: number;
  /** Microseconds by which one case is slowed down; 0 leaves the service as it is. */
  readonly plant: number;
  /** Also measure rows that only a table can have. */
  readonly rows: boolean;
}

/** `npm run bench -- timing`: whether the time of a refusal tells which clients exist. Returns whether it tells nothing. */
export async function runTiming(options: TimingOptions, opened: AsyncDisposableStack): Promise<boolean> {
  process.stdout.write(`${markdownList([...machineLines(), `Workers: ${options.workers}`])}\n`);
  let passed = true;
  for (const store of options.stores) {
    for (const machine of options.machines) {
      for (const path of options.paths) {
        const requirement = { planted: options.plant, powerRequired: REFUSAL_PATHS[path].powerRequired };
        const results = caseResults(await measure(path, store, machine, options, opened));
        process.stdout.write(`\n${timingReport(`${path}, ${store}, ${machine} machine`, results, requirement)}\n`);
        passed &&= results.every((result) => passes(result, requirement) ?? true);
      }
    }
  }
  return passed;
}

/** All runs of one path, each on a service of its own. */
async function measure(
  path: PathName,
  store: Store,
  machine: Machine,
  options: TimingOptions,
  opened: AsyncDisposableStack,
): Promise<readonly Collection[]> {
  const cases = options.rows && store === 'postgres' ? [...CASES, ...ROW_CASES] : CASES;
  const runs: Collection[] = [];
  for (let run = 1; run <= options.runs; run += 1) {
    say(`${path}, ${store}, ${machine} machine: run ${run} …`);
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    const { tokenUrls } = await startTarget(path, store, cases, options, running);
    if (machine === 'busy') loadMachine(running);
    const port = Number(new URL(tokenUrls[0] ?? '').port);
    runs.push(await REFUSAL_PATHS[path].collect({ port, cases, count: options.count, issuer: ISSUER }));
  }
  return runs;
}

async function startTarget(
  path: PathName,
  store: Store,
  cases: readonly Case[],
  { cost, workers, plant }: TimingOptions,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const { module, signs, ...refusalPath } = REFUSAL_PATHS[path];
  const environment = { ...refusalPath.environment(cost), WORKERS: String(workers) };
  const modules = [
    ...(module === undefined ? [] : [module]),
    ...(plant === 0 ? [] : [`plant-delay.ts?microseconds=${plant}`]),
  ];
  const flags = modules.flatMap((file) => ['--import', new URL(file, import.meta.url).href]);
  const withSecrets = await registrationsOf(cases, Number(environment.CLIENT_SECRET_COST));
  const signingClients = signs && new SigningClients(ISSUER);
  const clients =
    signingClients?.withKeys(withSecrets, (id) => !id.startsWith(idPrefix('cheaper hash'))) ?? withSecrets;
  const serviceOptions = { environment, flags, ...(signingClients && { signingClients }) };
  if (store === 'memory') return startInMemory('memory', clients, opened, serviceOptions);
  const database = await (await startBenchDatabaseServer(opened)).create();
  return startOnPostgres('PostgreSQL', database, clients, opened, serviceOptions);
}
