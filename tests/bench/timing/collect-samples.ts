import { setTimeout as delay } from 'node:timers/promises';
import { FallingRate } from './falling-rate.ts';
import type { TimedAnswer, TimedConnection } from './timed-connection.ts';
import { type Case, clientIdsOf, requestFor } from './timing-cases.ts';

export interface Collection {
  /** Microseconds. */
  readonly times: ReadonlyMap<Case, readonly number[]>;
  /** Answers of each case that were not of the measured path. */
  readonly others: ReadonlyMap<Case, number>;
}

export interface SamplingPlan {
  readonly connections: readonly TimedConnection[];
  readonly cases: readonly Case[];
  /** Client ids of each case, at most CLIENTS_PER_CASE. They are used in turn. */
  readonly clients: number;
  /** Answers to collect for each case. */
  readonly count: number;
  /** Whether an answer is of the measured path. */
  readonly accepts: (answer: TimedAnswer) => boolean;
  /** The request of a client; with a wrong secret by default. */
  readonly requestFor?: (clientId: string) => string;
  /** Runs before each round, such as to fill the queue. */
  readonly prepare?: () => Promise<void>;
}

/** Rounds that are not counted: the service compiles its code meanwhile. */
const WARM_UP_ROUNDS = 200;

/** An answer that takes longer is not waited for by the others. */
const AT_ONCE_MS = 500;

const COLLECTION_MS_MAX = 240_000;

/** For answers at once: one request after another, a round of all cases in random order on each connection in turn. */
export async function collectInTurn(plan: SamplingPlan): Promise<Collection> {
  const { connections, cases, count, prepare } = plan;
  const collector = new Collector(plan);
  const end = performance.now() + COLLECTION_MS_MAX;
  for (let round = 0; collector.least < count && performance.now() < end; round += 1) {
    await prepare?.();
    const connection = connections[round % connections.length];
    if (connection === undefined || connection.busy) {
      await delay(1);
      continue;
    }
    await connection.open();
    // The first request on a connection after a pause takes longer.
    let answer = await connection.sendWithin(AT_ONCE_MS, collector.requestFor(anyOf(cases)));
    for (const name of shuffled(cases)) {
      if (answer === undefined) break;
      answer = await connection.sendWithin(AT_ONCE_MS, collector.requestFor(name));
      if (round >= WARM_UP_ROUNDS) collector.add(name, answer);
    }
  }
  return collector;
}

/**
 * For answers after a wait: requests at a steady rate, each on a connection of its own, all cases in random order. The rate
 * falls if the machine is too slow for it, so that verifications overflow their queue and other answers come.
 */
export async function collectSpaced(plan: SamplingPlan, perSecondMax: number): Promise<Collection> {
  const { connections, cases, count } = plan;
  const collector = new Collector(plan);
  const rate = new FallingRate(perSecondMax);
  const waiting = new Set<Promise<void>>();
  const end = performance.now() + COLLECTION_MS_MAX;
  let due = performance.now();
  for (let round = 0; collector.least < count && performance.now() < end; round += 1) {
    for (const name of shuffled(cases)) {
      const connection = connections.find(({ busy }) => !busy);
      if (connection === undefined) throw new Error('all connections wait: the answers take longer than expected');
      await connection.open();
      const { perSecond } = rate;
      const answered = connection.send(collector.requestFor(name)).then((answer) => {
        waiting.delete(answered);
        if (round < WARM_UP_ROUNDS) return;
        rate.add(perSecond, collector.add(name, answer));
      });
      waiting.add(answered);
      due += 1_000 / perSecond;
      await delay(Math.max(0, due - performance.now()));
    }
  }
  await Promise.all(waiting);
  return collector;
}

class Collector implements Collection {
  readonly times: ReadonlyMap<Case, number[]>;
  readonly others = new Map<Case, number>();
  readonly #plan: SamplingPlan;
  #requests = 0;

  constructor(plan: SamplingPlan) {
    this.#plan = plan;
    this.times = new Map(plan.cases.map((name) => [name, []]));
  }

  /** How many samples the case with the fewest has. */
  get least(): number {
    return Math.min(...[...this.times.values()].map(({ length }) => length));
  }

  /** A request of the case, for its client whose turn it is. */
  requestFor(name: Case): string {
    this.#requests += 1;
    const { clients, cases } = this.#plan;
    const place = Math.floor(this.#requests / cases.length) % clients;
    return (this.#plan.requestFor ?? requestFor)(clientIdsOf(name)[place] ?? '');
  }

  /** Whether the answer is of the measured path. */
  add(name: Case, answer: TimedAnswer | undefined): boolean {
    const accepted = answer !== undefined && this.#plan.accepts(answer);
    if (accepted) this.times.get(name)?.push(answer.microseconds);
    else this.others.set(name, (this.others.get(name) ?? 0) + 1);
    return accepted;
  }
}

function anyOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item;
}

/** Fisher and Yates's shuffle. */
function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const result = [...items];
  for (let end = result.length - 1; end > 0; end -= 1) {
    const place = Math.floor(Math.random() * (end + 1));
    [result[end], result[place]] = [result[place] as Item, result[end] as Item];
  }
  return result;
}
