/** One request as the log tells it. No secret and no token, nor a path or parameter as it was sent, since each may hold one. */
export interface RequestLine {
  readonly request_id: string;
  readonly method: string;
  /** The path of the matched route as it was declared, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly remote_address: string;
  /** What the caller was told. */
  readonly error?: string;
  /** What the caller was not told. */
  readonly reason?: string;
  /** Only of a registered client. */
  readonly client_id?: string;
  /** `jti` of the token that was issued or shown. */
  readonly token_id?: string;
  /** What was thrown, behind a 500 or 503. */
  readonly fault?: unknown;
}

/** Where the edge writes its one line a request. Must not throw. */
export type RequestLog = (line: RequestLine) => void;
