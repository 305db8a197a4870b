/** Who asks, as far as it matters for how long he may keep us busy. */
export interface Caller {
  /** The network address that the connection comes from: of a proxy, where there is one in front. */
  readonly address: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** True where the secret that he shows has proved good before, so that checking it again is no attempt. */
  readonly proved?: boolean;
  /** Waits for what costs nothing meanwhile, so that he does not count as one who keeps us busy. */
  aside<Outcome>(wait: () => Promise<Outcome>): Promise<Outcome>;
}
