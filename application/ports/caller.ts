/** Who asks, as far as it matters for how long he may keep us busy. */
export interface Caller {
  /** The network address that the connection comes from: of a proxy, where there is one in front. */
  readonly address: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}
