/** The sender of a request: the network, to count failed attempts, and whether they are still connected. */
export interface Caller {
  /** The IPv4 address or the /64 network of IPv6 that attempts are counted for. Behind a proxy that is not trusted, the proxy's. */
  readonly network: string;
  /** Aborted when the caller disconnects. */
  readonly disconnected: AbortSignal;
}

/** Where a token request came from, and the id under which it is in the request log. */
export interface RequestOrigin {
  readonly requestId: string;
  /** The address of the caller, or of a proxy that is not trusted. */
  readonly remoteAddress: string;
}
