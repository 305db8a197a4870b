import type { Candidate, Store } from '../candidates.ts';
import { MemoryLog } from '../process-tree.ts';
import { machineLines, markdownList, say } from '../report.ts';
import { type AttackResult, runAttackers, runLegitimateClients } from './attack-drivers.ts';
import { attackReport, attackVerdicts } from './attack-report.ts';
import { attackJob, legitimateJob, type MixedAttack, startTarget } from './attack-target.ts';
import { memoryReport, memoryVerdicts } from './memory-report.ts';
import { measureMemory } from './memory-run.ts';
import { strongReport, strongVerdicts } from './strong-report.ts';
import { measureStrongAttacks } from './strong-run.ts';
import { runTimeline } from './timeline-run.ts';

/** `seconds` is the length of each phase: without the attack, and then again during it. */
export interface AttackOptions extends MixedAttack {
  readonly stores: readonly Store[];
  readonly parts: readonly AttackPart[];
  /** Whether docs/images/flood.svg is drawn again, from the timeline. */
  readonly write: boolean;
}

/**
 * `mixed`: many kinds of requests at once. `timeline`: the same, second by second, before, during and after the attack.
 * `strong`: one aim at a time. `memory`: as much memory as possible.
 */
export type AttackPart = 'mixed' | 'timeline' | 'strong' | 'memory';

const MEMORY_EVERY_MS = 1_000;
const MEMORY_SECONDS = 8;

/** The attack outlasts the measurement, so that every measured request is sent during it. */
const SURPLUS_SECONDS = 2;

/** `npm run bench -- attack`: clients, and the memory of the service, during attacks. Returns whether it met all requirements. */
export async function runAttack(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  process.stdout.write(`${markdownList(machineLines())}\n`);
  const run = { mixed: runMixed, timeline: runTimeline, strong: runStrong, memory: runMemory };
  let passed = true;
  for (const part of options.parts) passed = (await run[part](options, opened)) && passed;
  return passed;
}

async function runMixed(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  let passed = true;
  for (const store of options.stores) {
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    say(`${store}: ${options.seconds} s without and ${options.seconds} s during the attack …`);
    const result = await measureAttack(await startTarget(store, options, running), options);
    process.stdout.write(`\n${attackReport(`Repository: ${store}`, result)}\n`);
    passed &&= attackVerdicts(result).every((verdict) => verdict.passed);
  }
  return passed;
}

async function runStrong(options: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  let passed = true;
  for (const store of options.stores) {
    const result = await measureStrongAttacks(store, options, opened);
    process.stdout.write(`\nRepository: ${store}\n\n${strongReport(result)}\n`);
    passed &&= strongVerdicts(result).every((verdict) => verdict.passed);
  }
  return passed;
}

async function runMemory(_: AttackOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const results = await measureMemory(MEMORY_SECONDS, opened);
  process.stdout.write(`\n${memoryReport(results)}\n`);
  return memoryVerdicts(results).every((verdict) => verdict.passed);
}

/** Legitimate clients at a steady rate, first without and then during the attack. */
async function measureAttack({ tokenUrls, tree }: Candidate, options: AttackOptions): Promise<AttackResult> {
  const [tokenUrl = ''] = tokenUrls;
  const clients = legitimateJob(tokenUrl, options);
  const seconds = options.seconds + SURPLUS_SECONDS;
  const [without] = await runLegitimateClients({ ...clients, newClientIds: [] }, async () => {});
  const before = await tree.memoryMb();
  const memory = new MemoryLog(tree, MEMORY_EVERY_MS);
  const [during, { answers }] = await runLegitimateClients(clients, () =>
    runAttackers(attackJob(tokenUrl, options, seconds)),
  );
  const samples = (await memory.end()).map(({ megabytes }) => megabytes);
  const highest = samples.length === 0 ? undefined : Math.max(...samples);
  return { without, during, attackers: answers, memory: { before, atTheEnd: samples.at(-1), highest } };
}
