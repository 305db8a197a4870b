import { PeriodicTask } from '../../../application/periodic-task.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { type HealthCheck, statesOf } from '../../../application/ports/health-check.ts';
import type { KeyPeriod, RefusalQuery, RefusalRecord, StatusFigures } from '../../../application/ports/telemetry.ts';
import { nowInWords } from './now-in-words.ts';
import type { StatusData } from './status-data.ts';
import { type Reading, SAMPLE_SECONDS, StatusHistory } from './status-history.ts';

const REFUSALS_MAX = 100;

interface ServiceStatusParts {
  readonly clock: Clock;
  readonly service: Omit<StatusData['service'], 'started_at' | 'ready'>;
  readonly checks: () => readonly HealthCheck[];
  readonly figures: () => Promise<StatusFigures>;
  readonly keys: () => readonly KeyPeriod[];
  /** The latest first. */
  readonly findRefusals: (query: RefusalQuery) => readonly RefusalRecord[];
}

/** The state of the service, collected for the status page, and a history of the last hour. */
export class ServiceStatus {
  readonly #parts: ServiceStatusParts;
  readonly #history = new StatusHistory();
  readonly #sampling = new PeriodicTask(async () => {
    await this.sample();
    return SAMPLE_SECONDS * 1_000;
  });

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
  }

  /** Samples of the history, at most 240. */
  get samples(): number {
    return this.#history.samples.length;
  }

  /** Reads the figures now, and then every 15 s. */
  start(): void {
    void this.#sampling.start();
  }

  /** Adds a sample to the history. Never rejects: a sample that cannot be taken is left out. */
  async sample(): Promise<void> {
    const reading = await this.#read().catch(() => undefined);
    if (reading === undefined) return;
    const ready = statesOf(this.#parts.checks()).every((check) => check.ready);
    this.#history.add(reading, { at: this.#parts.clock.now(), ready });
  }

  async close(): Promise<void> {
    this.#sampling.close();
  }

  /** @param query whose refusals; by default, the last one of each registered client. */
  async data(query: RefusalQuery = { latestClients: REFUSALS_MAX }): Promise<StatusData> {
    const { clock, service, keys, findRefusals } = this.#parts;
    const reading = await this.#read();
    const at = clock.now();
    const lastMinute = this.#history.lastMinute(reading);
    const checks = statesOf(this.#parts.checks());
    const recordsOf = (reason: string) => findRefusals({ reason }).filter((record) => record.at >= at - 60);
    return {
      at,
      service: {
        ...service,
        started_at: Math.floor(Math.round(performance.timeOrigin) / 1e3),
        ready: checks.every(({ ready }) => ready),
      },
      summary: nowInWords({ checks, lastMinute, recordsOf }),
      checks,
      totals: reading.totals,
      last_minute: lastMinute,
      keys: keys(),
      history: this.#history.samples,
      refusals: findRefusals(query).slice(0, REFUSALS_MAX),
    };
  }

  /** The refusal of this request, if it is kept. */
  findRefusal(requestId: string): RefusalRecord | undefined {
    return this.#parts.findRefusals({ requestId })[0];
  }

  async #read(): Promise<Reading> {
    return { seconds: performance.now() / 1_000, ...(await this.#parts.figures()) };
  }
}
