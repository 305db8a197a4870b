import { availableParallelism } from 'node:os';
import { startProcess } from '../../../tests/support/server-process.ts';
import { signingClients } from '../assertion-clients.ts';
import { type Candidate, REPLICA_SETTINGS, startOn } from '../candidates.ts';
import type { Machine, Options, PathName, Repository } from '../command-line.ts';
import { conditions, print, say } from '../report.ts';
import type { Collection } from './collect-samples.ts';
import { REFUSAL_PATHS } from './refusal-paths.ts';
import { CASES, type Case, idPrefix, ROW_CASES, registrationsOf } from './timing-cases.ts';
import { caseResults, passes, timingReport } from './timing-report.ts';

/** Signs without a pause, and ends by itself. */
const BUSY_SCRIPT = `
  const { generateKeyPairSync, sign } = require('node:crypto');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const end = Date.now() + 600_000;
  while (Date.now() < end) sign('sha256', Buffer.alloc(64), privateKey);`;

/**
 * `npm run bench -- timing`: whether the time of a refusal tells which clients exist. Returns whether it tells nothing.
 */
export async function runTiming(options: Options<'timing'>, opened: AsyncDisposableStack): Promise<boolean> {
  print(conditions());
  let passed = true;
  for (const repository of options.repository) {
    for (const machine of options.machine) {
      for (const path of options.path) {
        const requirement = { planted: options.plant, powerRequired: REFUSAL_PATHS[path].powerRequired ?? false };
        const results = caseResults(await measure(path, repository, machine, options, opened));
        print(`### ${path}, ${repository}, ${machine} machine`, '', timingReport(results, requirement));
        passed &&= results.every((result) => passes(result, requirement) ?? true);
      }
    }
  }
  return passed;
}

/** All runs of one path, each on its own service. */
async function measure(
  path: PathName,
  repository: Repository,
  machine: Machine,
  options: Options<'timing'>,
  opened: AsyncDisposableStack,
): Promise<readonly Collection[]> {
  const cases = options.rows && repository === 'postgres' ? [...CASES, ...ROW_CASES] : CASES;
  const { accepts, collect } = REFUSAL_PATHS[path];
  const runs: Collection[] = [];
  for (let run = 1; run <= options.runs; run += 1) {
    say(`${path}, ${repository}, ${machine} machine: run ${run} …`);
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    const { port } = await startTarget(path, repository, cases, options, running);
    if (machine === 'busy') loadMachine(running);
    runs.push(await collect({ port, cases, count: options.n, forger: signingClients() }, accepts));
  }
  return runs;
}

async function startTarget(
  path: PathName,
  repository: Repository,
  cases: readonly Case[],
  { cost: usualCost, plant }: Options<'timing'>,
  opened: AsyncDisposableStack,
): Promise<Candidate> {
  const { module, signs, cost = usualCost, failuresPerMinute } = REFUSAL_PATHS[path];
  const environment = {
    CLIENT_SECRET_COST: String(cost),
    CLIENT_FAILURES_PER_MINUTE: String(failuresPerMinute),
    ...(signs && { GRANT_TYPES: 'client_credentials,jwt-bearer' }),
    ...(signs && repository === 'postgres' && REPLICA_SETTINGS),
  };
  const modules = [...(module ? [module] : []), ...(plant > 0 ? [`plant-delay.ts?microseconds=${plant}`] : [])];
  const flags = modules.flatMap((file) => ['--import', new URL(file, import.meta.url).href]);
  const withSecrets = await registrationsOf(cases, cost);
  const assertions = signs && signingClients();
  const isKeyless = (id: string) => id.startsWith(idPrefix('cheaper hash'));
  const clients = withSecrets.flatMap((client) =>
    assertions === undefined || isKeyless(client.client_id) ? client : assertions.register([client]),
  );
  return startOn(repository, clients, opened, { environment, flags, assertions });
}

/** Keeps each core busy with a process until the end. */
function loadMachine(opened: AsyncDisposableStack): void {
  for (let core = 0; core < availableParallelism(); core += 1) {
    const child = startProcess(process.execPath, ['-e', BUSY_SCRIPT], { stdio: 'ignore' });
    opened.defer(() => void child.kill('SIGKILL'));
  }
}
