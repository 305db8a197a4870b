import { hash, randomUUID } from 'node:crypto';
import { PeriodicTask } from '../../../application/periodic-task.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import {
  type AssertionUse,
  USED_ASSERTIONS_LIMITS,
  type UsedAssertions,
  type UsedAssertionsLoad,
  type UseOutcome,
} from '../../../application/ports/used-assertions.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { NOW } from '../postgres-dialect.ts';
import type { Runner } from '../runner.ts';
import { alwaysReady, openTable } from '../table.ts';
import { USED_ASSERTIONS } from '../tables.ts';

/**
 * What a use has to reach to have ended: the time of the database or that of this replica (the parameter), whichever is
 * behind. So neither of two clocks that jumps ahead ends a use early, and back again an assertion is not accepted
 * twice.
 */
function endedAt(parameter: string): string {
  return `(select least(${NOW}, ${parameter}::bigint))`;
}

/**
 * Records uses and returns the digests of those that were the first. Parameters: the uses as JSON, the id of this use,
 * and the time of this replica, by which the assertions are valid now. In order, so that two replicas with the same
 * digests do not wait for each other.
 */
const RECORD_USES = {
  name: 'record_uses',
  text: `insert into used_assertions as used (digest, client_id, kept_until, use_id)
    select digest, client_id, $3::bigint + seconds, $2
      from pg_catalog.json_to_recordset($1::json) as given (digest text, client_id text, seconds bigint) order by digest
    on conflict (digest) do update
      set client_id = excluded.client_id, kept_until = excluded.kept_until, use_id = excluded.use_id
      where used.kept_until <= ${endedAt('$3')} or used.use_id = excluded.use_id
    returning digest`,
} as const;

/**
 * Deletes uses that have ended, at most $1, and returns how many. $2 is the time of this replica. Rows that another
 * replica deletes are left to it.
 */
const DELETE_ENDED = {
  text: `with ended as (
      select digest from used_assertions where kept_until <= ${endedAt('$2')}
        limit $1::int for update skip locked),
    deleted as (delete from used_assertions using ended where used_assertions.digest = ended.digest returning 1)
    select pg_catalog.count(*) as "deleted" from deleted`,
} as const;

/**
 * The number of all uses, and of those of each client that has at least $1. Reads the whole table: a million uses take
 * about a third of a second.
 */
const COUNT_USES = {
  text: `select client_id as "clientId", pg_catalog.count(*) as "uses" from used_assertions
    group by grouping sets ((), (client_id)) having client_id is null or pg_catalog.count(*) >= $1::bigint`,
} as const;

/** How often rows are deleted and counted, and how many are deleted at once. */
const SWEEP_EVERY_MS = 5_000;
const DELETED_AT_ONCE = 5_000;

/** A client with less than this share of its limit is not counted one by one. */
const COUNTED_SHARE = 0.1;

/**
 * Used assertions in the table `used_assertions`, which all replicas share. A batch is one transaction. The limits are
 * approximate: the table is counted every five seconds, and between that only what this process adds is known.
 */
export class PostgresUsedAssertions implements UsedAssertions {
  readonly #runner: Pick<Runner, 'run' | 'tryRun'>;
  readonly #clock: Clock;
  readonly #limits: typeof USED_ASSERTIONS_LIMITS;
  #total = 0;
  /** The uses of the clients that have many, as counted last, and what was added since, by client id. */
  #counted: ReadonlyMap<string, number> = new Map();
  #added = new Map<string, number>();
  readonly #sweeping = new PeriodicTask(async () => {
    // A fault is reported by the health of the table, and the next sweep does the rest.
    await this.sweep().catch(() => {});
    return SWEEP_EVERY_MS;
  });

  /** @param clock the one by which assertions are valid. */
  constructor(runner: Pick<Runner, 'run' | 'tryRun'>, clock: Clock, limits = USED_ASSERTIONS_LIMITS) {
    this.#runner = runner;
    this.#clock = clock;
    this.#limits = limits;
  }

  get load(): UsedAssertionsLoad {
    return { used: this.#total, max: this.#limits.total };
  }

  /** Deletes and counts now and from now on, until `close`. */
  start(): void {
    void this.#sweeping.start();
  }

  close(): void {
    this.#sweeping.close();
  }

  async use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]> {
    const outcomes = new Array<UseOutcome>(uses.length).fill('replayed');
    /** Only the first of equal uses can be the first. */
    const recorded = new Map<string, number>();
    for (const [position, use] of uses.entries()) {
      const full = this.#fullFor(use.clientId);
      const digest = digestOf(use);
      if (full !== undefined) outcomes[position] = full;
      else if (!recorded.has(digest)) recorded.set(digest, position);
    }
    for (const digest of await this.#record(uses, recorded)) {
      const position = recorded.get(digest) ?? -1;
      outcomes[position] = 'first';
      this.#count(uses[position]);
    }
    return outcomes;
  }

  /**
   * Deletes what has ended, in batches, and counts the rest. If the count takes longer than a statement may, the last
   * one and what this process has added and deleted since are what is known. Throws DependencyUnavailable.
   */
  async sweep(): Promise<void> {
    for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
      const statement = { ...DELETE_ENDED, values: [String(DELETED_AT_ONCE), this.#now()] };
      const [response] = await this.#runner.run<{ readonly deleted: string }>(statement);
      deleted = Number(response?.deleted);
      this.#total = Math.max(0, this.#total - deleted);
    }
    const least = String(Math.ceil(this.#limits.perClient * COUNTED_SHARE));
    const added = this.#added;
    this.#added = new Map();
    const counts = await this.#runner.tryRun<{ readonly clientId: string | null; readonly uses: string | null }>({
      ...COUNT_USES,
      values: [least],
    });
    if (counts === undefined) {
      for (const [clientId, count] of added) this.#added.set(clientId, count + (this.#added.get(clientId) ?? 0));
      return;
    }
    this.#total = Number(counts.find(({ clientId }) => clientId === null)?.uses ?? 0);
    this.#counted = new Map(counts.map(({ clientId, uses }) => [clientId ?? '', Number(uses)]));
  }

  async #record(uses: readonly AssertionUse[], positions: ReadonlyMap<string, number>): Promise<readonly string[]> {
    const rows = [...positions].flatMap(([digest, position]) => {
      const use = uses[position];
      return use === undefined ? [] : { digest, client_id: use.clientId, seconds: use.keptSeconds };
    });
    if (rows.length === 0) return [];
    const statement = { ...RECORD_USES, values: [JSON.stringify(rows), randomUUID(), this.#now()] };
    const first = await this.#runner.run<{ readonly digest: string }>(statement);
    return first.map(({ digest }) => digest);
  }

  #now(): string {
    return String(this.#clock.now());
  }

  #fullFor(clientId: string): UseOutcome | undefined {
    const { total, perClient } = this.#limits;
    if (this.#total >= total) return 'full';
    const uses = (this.#counted.get(clientId) ?? 0) + (this.#added.get(clientId) ?? 0);
    return uses >= perClient ? 'client_full' : undefined;
  }

  #count(use: AssertionUse | undefined): void {
    if (use === undefined) return;
    this.#total += 1;
    this.#added.set(use.clientId, (this.#added.get(use.clientId) ?? 0) + 1);
  }
}

/** A client id has no control character, so no other pair has this text. */
function digestOf({ clientId, assertionId }: AssertionUse): string {
  return hash('sha256', `${clientId}\0${assertionId}`, 'base64url');
}

/** One batch of uses is sent at a time. */
const USES_POOL_SIZE = 4;

/**
 * The store of used assertions; otherwise as `openClientRepository`. It is always ready: without it, other
 * authentication methods work.
 */
export async function openUsedAssertions(options: Omit<ConnectionOptions, 'poolSize'>, clock: Clock, log: DatabaseLog) {
  const table = await openTable('used assertions', USED_ASSERTIONS, { ...options, poolSize: USES_POOL_SIZE }, log);
  const store = new PostgresUsedAssertions(table.runner, clock);
  store.start();
  return { store, dependency: alwaysReady(table, () => store.close()) };
}
