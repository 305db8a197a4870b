/** The current time. */
export interface Clock {
  /** Now, in whole seconds since the epoch (RFC 7519 NumericDate), rounded down. Never fails, costs nothing. */
  now(): number;
}

/**
 * The clock for durations: nobody can set it. It counts from the same moment in all processes of this machine, and
 * continues while a process is stopped. It may pause while a virtual machine is suspended.
 */
export interface MonotonicClock extends Clock {
  /** The whole seconds that have passed since an arbitrary moment. They never go back. */
  now(): number;

  /** The same with fractions. */
  seconds(): number;

  /** The time of day in seconds since the epoch, with fractions. Unlike the others, it can be set. */
  wallSeconds(): number;
}
