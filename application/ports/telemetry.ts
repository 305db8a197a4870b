import type { TokenAlgorithm } from '../../domain/token-key.ts';

// What the service measures, as plain data: it is logged and scraped.

/** One request in the log, without secret, token, or path and parameter as sent, which may contain one. */
export interface RequestLine {
  readonly request_id: string;
  readonly method: string;
  /** The declared path of the matched route, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly remote_address: string;
  /** Field `error` of the response. */
  readonly error?: string;
  /** The reason of the refusal, which the response does not contain. */
  readonly reason?: string;
  /** What an operator compares, for some reasons. */
  readonly detail?: string | undefined;
  /** Only of a registered client. */
  readonly client_id?: string;
  /** `jti` of the token that was issued or presented. */
  readonly token_id?: string;
  /** The error behind a 500 or 503. */
  readonly fault?: unknown;
}

/** Where the server writes one line per request. Must not throw. */
export interface RequestLog {
  info(line: RequestLine): void;
  /** For statuses from 500 on. */
  error(line: RequestLine): void;
}

/** Where the server counts requests. Must not throw. */
export interface RequestCounter {
  count(line: RequestLine): void;
}

/** One refused request, for the status page. It has nothing that an unknown caller chose. */
export interface RefusalRecord {
  readonly request_id: string;
  readonly at: number;
  readonly status: number;
  /** Field `error` of the response. */
  readonly error: string;
  readonly reason: string;
  readonly detail?: string | undefined;
  /** What was unavailable, if that was the reason: `client repository`, `secret verification`, … */
  readonly dependency?: string | undefined;
  /** The declared path, or `none`. */
  readonly route: string;
  readonly method: string;
  readonly remote_address: string;
  /** Only of a registered client. */
  readonly client_id?: string | undefined;
  readonly duration_seconds: number;
}

/** Which records to find: of one request, of one registered client, or the last one of so many clients. */
export type RefusalQuery =
  | { readonly requestId: string }
  | { readonly clientId: string }
  | { readonly latestClients: number };

/**
 * A published key, and since when and until when it is in its state, in seconds: since the epoch, unless the method
 * says otherwise. A key may be `signing` from a moment that has not come. `null`: no time is known or set.
 */
export interface KeyPeriod {
  readonly kid: string;
  readonly alg: TokenAlgorithm;
  readonly state: 'published' | 'signing' | 'retired';
  readonly from: number | null;
  readonly until: number | null;
}

/** The connections of a public port at one moment, the most that it can hold, and what it has refused to hold. */
export interface HttpLoad {
  readonly connections: number;
  readonly connectionsMax: number;
  /** Connections closed since startup because there were too many. */
  readonly dropped: number;
}

/** What bounds the requests that are answered at the same time. */
export interface Admission {
  /** Requests in progress, without those that upload or wait. Fewer are possible while the event loop is late. */
  readonly load: { readonly inFlight: number; readonly max: number };
  /** Requests whose refusal is delayed. */
  readonly rejectionDelay: { readonly waiting: number; readonly max: number };
  /** Responses that wait for the next pass of the event loop. */
  readonly responsePacing: { readonly waiting: number; readonly max: number };
}

/** The uses of a database, by the names that `/readyz` has. */
export const DATABASES = [
  'client repository',
  'key directory',
  'used assertions',
  'revocations',
  'last used',
  'client management',
] as const;

/** What a database is used for. */
export type DatabaseName = (typeof DATABASES)[number];

/** The connections of a pool at one moment. */
export interface PoolLoad {
  readonly open: number;
  readonly max: number;
  /** Open ones that no statement uses. */
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

/** Takes the duration of a statement in seconds, with the wait for a connection, by how it ended. Must not throw. */
export type StatementTimes = Readonly<Record<'answered' | 'failed', (seconds: number) => void>>;

/** Lines that wait to be written, at most so many bytes, and those that were lost since the process started. */
export interface LogLoad {
  readonly linesLost: number;
  readonly bufferedBytes: number;
  readonly bufferedBytesMax: number;
}

/** Metrics as a scraper receives them. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}
