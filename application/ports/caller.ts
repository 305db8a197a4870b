/** Who waits: the network, to count failed attempts, and whether they are still connected. */
export interface Connected {
  /**
   * The IPv4 address or the /64 network of IPv6 that attempts are counted for. Behind a proxy that is not trusted, the
   * proxy's.
   */
  readonly network: string;
  /** Aborted when the caller disconnects. */
  readonly disconnected: AbortSignal;
}

/** The sender of a request. */
export interface Caller extends Connected {
  /**
   * Waits without counting the request as work of this process. Afterwards it counts again if the outcome is one that
   * there is more work to do for. Resolves and rejects as `wait` does.
   */
  waitUncounted<Outcome>(wait: () => Promise<Outcome>, isMoreWork: (outcome: Outcome) => boolean): Promise<Outcome>;
}

/** Where a token request came from, and the id under which it is in the request log. */
export interface RequestOrigin {
  readonly requestId: string;
  /** The address of the caller, or of a proxy that is not trusted. */
  readonly remoteAddress: string;
}
