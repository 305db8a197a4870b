import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../candidates.ts';
import { writePicture } from '../drawing/write-picture.ts';
import { machineText, say } from '../report.ts';
import { runAttackers, runLegitimateClients } from './attack-drivers.ts';
import { attackJob, legitimateJob, type MixedAttack, startTarget } from './attack-target.ts';
import type { TimelineResult } from './timeline.ts';
import { timelineChart } from './timeline-chart.ts';
import { timelineReport, timelineVerdicts } from './timeline-report.ts';

export interface TimelineOptions extends MixedAttack {
  readonly stores: readonly Store[];
  /** Whether docs/images/flood.svg is drawn again, for the first of the stores. */
  readonly write: boolean;
}

/** Prints the figures of known clients and attackers before, during and after the attack. Returns whether the requirements are met. */
export async function runTimeline(options: TimelineOptions, opened: AsyncDisposableStack): Promise<boolean> {
  let passed = true;
  for (const store of options.stores) {
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    say(`timeline, ${store}: ${options.seconds} s before, during and after the attack …`);
    const { tokenUrls } = await startTarget(store, options, running);
    const result = await measureTimeline(tokenUrls[0] ?? '', options);
    process.stdout.write(`\n${timelineReport(`Repository: ${store}`, result)}\n`);
    const isDrawn = options.write && store === options.stores[0];
    if (isDrawn) await writePicture('flood.svg', timelineChart(result, conditions(store, options)));
    passed &&= timelineVerdicts(result).every((verdict) => verdict.passed);
  }
  return passed;
}

/** One run of the known clients over all three phases; the attackers join for the second. */
export async function measureTimeline(tokenUrl: string, options: MixedAttack): Promise<TimelineResult> {
  const { seconds } = options;
  const job = { ...legitimateJob(tokenUrl, options), seconds: 3 * seconds, newClientIds: [] };
  const [clients, attackers] = await runLegitimateClients(job, async () => {
    const beginMs = Date.now();
    await delay(seconds * 1000);
    return runAttackers(attackJob(tokenUrl, options, seconds, beginMs));
  });
  return { phaseSeconds: seconds, clients, attackerAnswers: attackers.seconds };
}

function conditions(store: Store, { seconds, rate, lorises }: MixedAttack): readonly string[] {
  return [
    `Attackers: 65 connections send wrong secrets, unknown clients and garbage as fast as they are answered; ${lorises} send headers slowly.`,
    `Good clients: ${rate} requests per second with cached secrets, on the same machine. Registrations in ${store === 'memory' ? 'memory' : 'PostgreSQL'}. p50 and p99 of each second.`,
    `${machineText()}. Drawn by: npm run bench -- attack --part timeline --repository ${store} --seconds ${seconds} --rate ${rate} --write`,
  ];
}
