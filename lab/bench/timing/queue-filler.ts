import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { RawConnection, type TimedResponse } from '../raw-connection.ts';
import { requestFor } from './timing-cases.ts';

/** More than the requests that small-queue.ts lets wait. */
const CONNECTIONS = 250;

/** Sent at a time and milliseconds between, so that not too many are in progress at once. */
const BATCH = 50;
const BATCH_EVERY_MS = 20;

const ATTEMPTS_MAX = 5;

/** A request that still waits is refused two seconds after it came. */
const FULL_MS = 1_850;

/** Keeps the verification queue full with requests for unknown clients, on connections of its own. */
export class QueueFiller implements Disposable {
  readonly #connections: readonly RawConnection[];
  #waiting: readonly Promise<unknown>[] = [];
  #fullUntil = 0;

  constructor(port: number) {
    this.#connections = Array.from({ length: CONNECTIONS }, () => new RawConnection(port));
  }

  /** Resolves when the queue is full and stays so for a while. Throws if requests are not refused at once. */
  readonly fill = async (): Promise<void> => {
    if (performance.now() < this.#fullUntil) return;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) if (await this.#fillOnce()) return;
    throw new Error(`the verification queue was not full in ${ATTEMPTS_MAX} attempts`);
  };

  /** Whether a request was refused at once. */
  async #fillOnce(): Promise<boolean> {
    await Promise.all(this.#waiting);
    await Promise.all(this.#connections.map((connection) => connection.open()));
    this.#fullUntil = performance.now() + FULL_MS;
    const answers: Promise<TimedResponse>[] = [];
    for (let first = 0; first < CONNECTIONS; first += BATCH) {
      const batch = this.#connections.slice(first, first + BATCH);
      answers.push(...batch.map((connection) => connection.send(requestFor(randomBytes(10).toString('hex')))));
      await delay(BATCH_EVERY_MS);
    }
    this.#waiting = answers;
    return Promise.any(answers.map(refusedAtOnce)).catch(() => false);
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }
}

async function refusedAtOnce(response: Promise<TimedResponse>): Promise<true> {
  const { status, microseconds } = await response;
  if (status !== 503 || microseconds > FULL_MS * 1_000) throw new Error('not refused at once');
  return true;
}
