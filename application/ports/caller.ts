/** The sender of a request: the address, to count failed attempts, and whether they are still connected. */
export interface Caller {
  /** The IPv4 address or the /64 network of IPv6 that attempts are counted for. Behind a proxy that is not trusted, the proxy's. */
  readonly address: string;
  /** Aborted when the caller disconnects. */
  readonly disconnected: AbortSignal;
}
