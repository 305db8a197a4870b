import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RefusalQuery, RefusalRecord, RequestLine } from '../../../application/ports/telemetry.ts';

/** Records of each reason, so that a flood of one reason evicts no record of another. There are about 80 reasons. */
export const RECORDS_OF_A_REASON = 256;

const RECORDS_OF_A_CLIENT = 5;

/** Registered clients that were refused last. */
export const CLIENTS_MAX = 1_000;

/** The refusals that this process has answered last, in memory. Adding one takes less than 2 µs. */
export class RefusalRecords {
  readonly #clock: Clock;
  readonly #process: string;
  readonly #byReason = new Map<string, LastRecords>();
  /** In order of the last refusal. */
  readonly #byClient = new Map<string, LastRecords>();

  /** @param process the name of this process in metrics. */
  constructor(clock: Clock, process: string) {
    this.#clock = clock;
    this.#process = process;
  }

  /** Records that are kept for reasons, at most 256 for each. */
  get size(): number {
    return [...this.#byReason.values()].reduce((sum, { records }) => sum + records.length, 0);
  }

  /** Clients whose last refusals are kept, at most 1,000. */
  get clients(): number {
    return this.#byClient.size;
  }

  /** Adds the request if it was refused. */
  add(line: RequestLine): void {
    const { reason, client_id: clientId } = line;
    if (reason === undefined) return;
    const record = this.#recordOf(line, reason);
    const ofReason = this.#byReason.get(reason);
    if (ofReason !== undefined) ofReason.add(record);
    else this.#byReason.set(reason, new LastRecords(RECORDS_OF_A_REASON, record));
    if (record.client_id !== undefined && clientId !== undefined) this.#addToClient(record.client_id, record);
  }

  /** The records of the query, the latest first. Reads all of them. */
  find(query: RefusalQuery): readonly RefusalRecord[] {
    if ('requestId' in query) {
      const kept = [...this.#byReason.values(), ...this.#byClient.values()];
      const found = kept.flatMap(({ records }) => records).find(({ request_id: id }) => id === query.requestId);
      return found === undefined ? [] : [found];
    }
    if ('clientId' in query) return this.#byClient.get(query.clientId)?.latestFirst() ?? [];
    if ('reason' in query) return this.#byReason.get(query.reason)?.latestFirst() ?? [];
    const latest = [...this.#byClient.values()].slice(-query.latestClients).toReversed();
    return latest.flatMap((client) => client.latestFirst()[0] ?? []);
  }

  #recordOf({ fault, ...line }: RequestLine, reason: string): RefusalRecord {
    return {
      request_id: copyOf(line.request_id),
      at: this.#clock.now(),
      status: line.status,
      error: line.error ?? '',
      reason,
      dependency: fault instanceof DependencyUnavailable ? fault.dependency : undefined,
      route: line.route,
      method: line.method,
      remote_address: copyOf(line.remote_address),
      client_id: line.client_id === undefined ? undefined : copyOf(line.client_id, 'utf8'),
      duration_seconds: Math.round(line.duration_ms * 1_000) / 1e6,
      process: this.#process,
    };
  }

  #addToClient(clientId: string, record: RefusalRecord): void {
    const known = this.#byClient.get(clientId);
    if (known === undefined) {
      this.#byClient.set(clientId, new LastRecords(RECORDS_OF_A_CLIENT, record));
      const [oldest] = this.#byClient.keys();
      if (this.#byClient.size > CLIENTS_MAX && oldest !== undefined) this.#byClient.delete(oldest);
      return;
    }
    known.add(record);
    // To the end: the client that was refused least recently is evicted.
    this.#byClient.delete(clientId);
    this.#byClient.set(clientId, known);
  }
}

/** The last records of some kind, in a ring. */
class LastRecords {
  readonly records: RefusalRecord[];
  readonly #max: number;
  #next = 1;

  constructor(max: number, first: RefusalRecord) {
    this.records = [first];
    this.#max = max;
  }

  add(record: RefusalRecord): void {
    this.#next %= this.#max;
    this.records[this.#next] = record;
    this.#next += 1;
  }

  latestFirst(): readonly RefusalRecord[] {
    return [...this.records.slice(this.#next), ...this.records.slice(0, this.#next)].toReversed();
  }
}

/** A part of a text keeps the whole text in memory, here a header field; and a text made of parts, as an id is, keeps them all. */
function copyOf(text: string, encoding: 'latin1' | 'utf8' = 'latin1'): string {
  return Buffer.from(text, encoding).toString(encoding);
}
