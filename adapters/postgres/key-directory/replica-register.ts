import { hostname } from 'node:os';
import { PeriodicTask } from '../../../application/periodic-task.ts';
import type { ReplicaRecord } from '../../../application/ports/telemetry.ts';
import { NOW } from '../database-time.ts';
import { holdsGrant } from '../privileges.ts';
import type { Runner } from '../runner.ts';

/** Between two reports of this replica, in milliseconds. */
const INTERVAL_MS = 10_000;

/** A replica that has not reported for so long is left out, and later deleted, in seconds. */
const SHOWN_SECONDS = 600;
const KEPT_SECONDS = 3_600;

const SHOWN_MAX = 100;

/** Whether this role may use the table; null if it is missing. */
const IS_USABLE = `select ${holdsGrant('service', 'service_replicas', 'current_user', '')} as "usable"`;

/** Writes the row of this replica, deletes those of replicas that have ended, and reads the others. */
const REPORT = `with own as (
    insert into $schema.service_replicas (name, clock_offset_ms, seen_at) values ($1, nullif($2::text, '')::bigint, ${NOW})
      on conflict (name) do update set clock_offset_ms = excluded.clock_offset_ms, seen_at = excluded.seen_at
  ), ended as (delete from $schema.service_replicas where name <> $1 and seen_at < ${NOW} - ${KEPT_SECONDS})
  select name, clock_offset_ms::text as "offsetMs", seen_at::text as "seenAt" from $schema.service_replicas
    where name <> $1 and seen_at > ${NOW} - ${SHOWN_SECONDS} order by seen_at desc, name limit ${SHOWN_MAX}`;

interface ReplicaRow {
  readonly name: string;
  readonly offsetMs: string | null;
  readonly seenAt: string;
}

/**
 * Lets the replicas of a service know of each other, for the status page, with the table that `npm run migrate` creates.
 * Without it, and while the database is unavailable, there is nothing to know, and no fault.
 */
export class ReplicaRegister {
  readonly #runner: Runner;
  readonly #name = `${hostname()}:${process.pid}`;
  #reporting: PeriodicTask | undefined;
  /** The others that have reported in the last ten minutes, at most 100, as last read. */
  latest: readonly ReplicaRecord[] = [];

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** @param clockOffset by how many seconds the clock of this replica is ahead of the database's; undefined while nothing tells. */
  start(clockOffset: () => number | undefined, intervalMs = INTERVAL_MS): Promise<void> {
    this.#reporting = new PeriodicTask(async () => {
      this.latest = await this.#report(clockOffset());
      return intervalMs;
    });
    return this.#reporting.start();
  }

  close(): void {
    this.#reporting?.close();
  }

  async #report(offset: number | undefined): Promise<readonly ReplicaRecord[]> {
    const [found] = (await this.#runner.tryRun<{ readonly usable: boolean | null }>({ text: IS_USABLE })) ?? [];
    if (!found?.usable) return [];
    const values = [this.#name, offset === undefined ? '' : String(Math.round(offset * 1_000))];
    const rows = await this.#runner.tryRun<ReplicaRow>({ text: REPORT, values });
    return (rows ?? []).map(({ name, offsetMs, seenAt }) => ({
      name,
      clock_offset_seconds: offsetMs === null ? null : Number(offsetMs) / 1_000,
      seen_at: Number(seenAt),
    }));
  }
}
