/** The current time. */
export interface Clock {
  /** Now, in whole seconds since the epoch (RFC 7519 NumericDate), rounded down. Never fails, costs nothing. */
  now(): number;
}
