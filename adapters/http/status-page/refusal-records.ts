import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RefusalQuery, RefusalRecord, RequestLine } from '../../../application/ports/telemetry.ts';
import { copyOf } from '../parsing/copy-of.ts';

/** Records of each reason, so that a flood of one reason evicts no record of another. There are about 80 reasons. */
export const RECORDS_OF_A_REASON = 256;

const RECORDS_OF_A_CLIENT = 5;

/** Registered clients that were refused last. */
export const CLIENTS_MAX = 1_000;

/** The last refusals, in memory. Adding one takes some microseconds. */
export class RefusalRecords {
  readonly #clock: Clock;
  /** The latest last. */
  readonly #byReason = new Map<string, RefusalRecord[]>();
  readonly #byClient = new LRUCache<string, RefusalRecord[]>({ max: CLIENTS_MAX });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that are kept for reasons, at most 256 for each. */
  get size(): number {
    return [...this.#byReason.values()].reduce((sum, records) => sum + records.length, 0);
  }

  /** Clients whose last refusals are kept, at most 1,000. */
  get clients(): number {
    return this.#byClient.size;
  }

  /** Adds the request if it was refused. */
  add(line: RequestLine): void {
    const { reason } = line;
    if (reason === undefined) return;
    const record = this.#recordOf(line, reason);
    this.#byReason.set(reason, withLast(record, RECORDS_OF_A_REASON, this.#byReason.get(reason)));
    const { client_id: clientId } = record;
    if (clientId === undefined) return;
    this.#byClient.set(clientId, withLast(record, RECORDS_OF_A_CLIENT, this.#byClient.get(clientId)));
  }

  /** The records of the query, the latest first. Reads all of them. */
  find(query: RefusalQuery): readonly RefusalRecord[] {
    if ('clientId' in query) return this.#byClient.peek(query.clientId)?.toReversed() ?? [];
    const ofClients = [...this.#byClient.values()];
    if ('latestClients' in query)
      return ofClients.slice(0, query.latestClients).flatMap((records) => records.at(-1) ?? []);
    const found = [...this.#byReason.values(), ...ofClients]
      .flat()
      .find((record) => record.request_id === query.requestId);
    return found === undefined ? [] : [found];
  }

  #recordOf({ fault, ...line }: RequestLine, reason: string): RefusalRecord {
    return {
      request_id: copyOf(line.request_id),
      at: this.#clock.now(),
      status: line.status,
      error: line.error ?? '',
      reason,
      detail: line.detail,
      dependency: fault instanceof DependencyUnavailable ? fault.dependency : undefined,
      route: line.route,
      method: line.method,
      remote_address: copyOf(line.remote_address),
      client_id: copyOf(line.client_id),
      duration_seconds: Math.round(line.duration_ms * 1_000) / 1e6,
    };
  }
}

/** Adds a record, and drops the oldest beyond the limit. */
function withLast(record: RefusalRecord, max: number, records: RefusalRecord[] = []): RefusalRecord[] {
  if (records.push(record) > max) records.shift();
  return records;
}
