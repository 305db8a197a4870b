import { setTimeout as delay } from 'node:timers/promises';
import type { RawConnection, TimedResponse } from '../raw-connection.ts';
import { type Case, clientIdsOf } from './timing-cases.ts';

export interface Collection {
  /** Microseconds. */
  readonly times: ReadonlyMap<Case, readonly number[]>;
  /** Answers of each case that were not of the measured path. */
  readonly others: ReadonlyMap<Case, number>;
}

export interface SamplingPlan {
  readonly connections: readonly RawConnection[];
  readonly cases: readonly Case[];
  /** Client ids of each case, at most CLIENTS_PER_CASE. They are used in turn. */
  readonly clients: number;
  /** Answers to collect for each case. */
  readonly count: number;
  /** Whether a response is of the measured path. */
  readonly accepts: (response: TimedResponse) => boolean;
  /** The request of a client. */
  readonly requestFor: (clientId: string) => string;
  /** Runs before each round, such as to fill the queue. */
  readonly prepare: () => Promise<void>;
}

/** Rounds that are not counted: the service compiles its code meanwhile. */
const WARM_UP_ROUNDS = 200;

/** A response that takes longer is not waited for by the others. */
const AT_ONCE_MS = 500;

const COLLECTION_MS_MAX = 240_000;

/** For answers at once: one request after another, a round of all cases in random order on each connection in turn. */
export async function collectInTurn(plan: SamplingPlan): Promise<Collection> {
  const { connections, cases, count, prepare } = plan;
  const collector = new Collector(plan);
  const end = performance.now() + COLLECTION_MS_MAX;
  for (let round = 0; collector.least < count && performance.now() < end; round += 1) {
    await prepare();
    const connection = connections[round % connections.length];
    if (connection === undefined || connection.busy) {
      await delay(1);
      continue;
    }
    await connection.open();
    // The first request on a connection after a pause takes longer.
    let response = await connection.sendWithin(AT_ONCE_MS, collector.requestFor(shuffled(cases)[0] as Case));
    for (const name of shuffled(cases)) {
      if (response === undefined) break;
      response = await connection.sendWithin(AT_ONCE_MS, collector.requestFor(name));
      if (round >= WARM_UP_ROUNDS) collector.add(name, response);
    }
  }
  return collector;
}

/**
 * For answers after a wait: requests at a steady rate, each on its own connection, all cases in random order. The rate
 * falls if the machine is too slow for it, so that verifications overflow their queue and other responses come.
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
      if (connection === undefined) throw new Error('all connections wait: the responses take longer than expected');
      await connection.open();
      const { perSecond } = rate;
      const answered = connection.send(collector.requestFor(name)).then((response) => {
        waiting.delete(answered);
        if (round < WARM_UP_ROUNDS) return;
        rate.add(perSecond, collector.add(name, response));
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
    const { clients, cases, requestFor } = this.#plan;
    return requestFor(clientIdsOf(name)[Math.floor(this.#requests / cases.length) % clients] ?? '');
  }

  /** Whether the response is of the measured path. */
  add(name: Case, response: TimedResponse | undefined): boolean {
    const accepted = response !== undefined && this.#plan.accepts(response);
    if (accepted) this.times.get(name)?.push(response.microseconds);
    else this.others.set(name, (this.others.get(name) ?? 0) + 1);
    return accepted;
  }
}

/** After so many responses in a row, the rate is halved if more than a fifth of them were not of the measured path. */
const RATE_CHECKED_EVERY = 100;
const OTHERS_MAX = RATE_CHECKED_EVERY / 5;

/** Requests per second. Halved as long as too many responses are not of the measured path. */
export class FallingRate {
  perSecond: number;
  #answers = 0;
  #others = 0;

  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  /** Counts the response to a request that was sent at this rate. */
  add(perSecond: number, accepted: boolean): void {
    if (perSecond !== this.perSecond) return;
    this.#answers += 1;
    if (!accepted) this.#others += 1;
    if (this.#answers < RATE_CHECKED_EVERY) return;
    if (this.#others > OTHERS_MAX) this.perSecond /= 2;
    this.#answers = 0;
    this.#others = 0;
  }
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
