/** One request in the log. It holds no secret and no token, and no path or parameter as it was sent: each may contain one. */
export interface RequestLine {
  readonly request_id: string;
  readonly method: string;
  /** The declared path of the matched route, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly remote_address: string;
  /** Member `error` of the response. */
  readonly error?: string;
  /** The reason of the refusal, which the response does not contain. */
  readonly reason?: string;
  /** Only of a registered client. */
  readonly client_id?: string;
  /** `jti` of the token that was issued or presented. */
  readonly token_id?: string;
  /** The error behind a 500 or 503. */
  readonly fault?: unknown;
}

/** Where the server writes one line per request; a pino logger is one. Must not throw. */
export interface RequestLog {
  info(line: RequestLine): void;
  /** For statuses from 500 on. */
  error(line: RequestLine): void;
}
