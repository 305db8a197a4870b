import { availableParallelism } from 'node:os';
import { startOn } from '../candidates.ts';
import type { Options, Repository } from '../command-line.ts';
import { highestMb, sampleMemory } from '../process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from '../registrations.ts';
import { conditions, print, printVerdicts, say, table, type Verdict } from '../report.ts';
import { MIXED_FLOODS, type MixedFloodName } from './floods.ts';
import { runMemory } from './memory.ts';
import {
  CLIENT_COLUMNS,
  countText,
  type FloodResult,
  type LegitimateResult,
  legitimateFigures,
  legitimateJob,
  runFloods,
  runLegitimateClients,
} from './programs.ts';
import { runStrong } from './strong.ts';

const EXPENSIVE_COST = 14;
const KNOWN_CLIENTS = 20;
const NEW_CLIENT_EVERY_SECONDS = 2;
const MEMORY_EVERY_MS = 1_000;

/** The attack outlasts the measurement, so that every measured request is sent during it. */
const SURPLUS_SECONDS = 2;

const P99_MS_MAX = 100;
const NEW_CLIENT_MS_MAX = 2_000;

/**
 * `npm run bench -- attack`: clients, and the memory of the service, during attacks. Returns whether it met all
 * requirements.
 */
export async function runAttack(options: Options<'attack'>, opened: AsyncDisposableStack): Promise<boolean> {
  print(conditions());
  let passed = true;
  for (const part of options.part) {
    if (part === 'memory') passed = (await runMemory(opened)) && passed;
    else {
      for (const repository of options.repository) {
        await using running = new AsyncDisposableStack();
        opened.defer(() => running.disposeAsync());
        const run = part === 'mixed' ? runMixed : runStrong;
        passed = (await run(repository, options, running)) && passed;
      }
    }
  }
  return passed;
}

/** Legitimate clients at a steady rate, first without and then during an attack with many kinds of requests. */
async function runMixed(
  repository: Repository,
  options: Options<'attack'>,
  opened: AsyncDisposableStack,
): Promise<boolean> {
  const { seconds, rate, lorises } = options;
  say(`mixed, ${repository}: ${seconds} s without and ${seconds} s during the attack …`);
  const stored = await hashedSecret(RECOMMENDED_COST);
  const known = registrations('client', KNOWN_CLIENTS, stored);
  const newcomers = registrations('new', Math.max(1, Math.floor(seconds / NEW_CLIENT_EVERY_SECONDS)), stored);
  // With registrations in memory, which are all known at startup, the service would hash at this cost for every
  // refusal.
  const expensive = repository === 'memory' ? [] : registrations('expensive', 1, await hashedSecret(EXPENSIVE_COST));
  const { port, tokenUrls, tree } = await startOn(repository, [...known, ...newcomers, ...expensive], opened);
  const job = legitimateJob(tokenUrls[0] ?? '', known, newcomers, {
    rate,
    seconds,
    // Enough connections that each worker process of the service gets some.
    connections: Math.max(16, 2 * availableParallelism()),
    newClientEverySeconds: NEW_CLIENT_EVERY_SECONDS,
    retryMsMax: 250,
  });
  const floods = Object.keys(MIXED_FLOODS) as MixedFloodName[];
  const flooding = {
    port,
    seconds: seconds + SURPLUS_SECONDS,
    floods,
    connections: { 'slow header senders': lorises },
  };
  const [without] = await runLegitimateClients({ ...job, newClientIds: [] }, async () => {});
  const before = await tree.memoryMb();
  const attacked = () => runLegitimateClients(job, () => runFloods(flooding));
  const [[during, attackers], samples] = await sampleMemory(tree, MEMORY_EVERY_MS, attacked);

  print(`### Repository: ${repository}`);
  const rows = [
    { name: 'without', ...legitimateFigures(without), memoryMb: before },
    { name: 'under attack', ...legitimateFigures(during), memoryMb: highestMb(samples) },
  ];
  print(table(rows, [['', ({ name }) => name], ...CLIENT_COLUMNS, ['highest memory, MB', ({ memoryMb }) => memoryMb]]));
  print(
    `Answers to known clients without a token: ${countText(without.failures)} before the attack, ${countText(during.failures)} during it.`,
    ...attackers.map(
      ({ name, answers, unanswered }) => `${name}: ${countText(answers)}; without a response: ${unanswered}.`,
    ),
  );
  return printVerdicts(attackVerdicts(during, attackers));
}

/** The requirements on a service under attack, and whether it met them. Slow header senders are not judged. */
export function attackVerdicts(during: LegitimateResult, attackers: readonly FloodResult[]): readonly Verdict[] {
  const { success, p99Ms, newClientHighestMs } = legitimateFigures(during);
  const isRefused = ({ name, answers, unanswered }: FloodResult) => {
    const allowed = ['closed', name === 'garbage' ? '400' : '401', '429', '503'];
    return unanswered === 0 && Object.keys(answers).every((status) => allowed.includes(status));
  };
  const judged = attackers.filter(({ name }) => name !== 'slow header senders');
  return [
    { requirement: 'every request of a known client is answered with a token', passed: success === 100 },
    { requirement: `the p99 of known clients is below ${P99_MS_MAX} ms`, passed: p99Ms < P99_MS_MAX },
    {
      requirement: `a new client gets its first token within ${NEW_CLIENT_MS_MAX / 1000} s`,
      passed: newClientHighestMs <= NEW_CLIENT_MS_MAX,
    },
    {
      requirement: 'attackers are answered with 401, 429 or 503, and garbage with 400, 429 or 503',
      passed: judged.every(isRefused),
    },
  ];
}
