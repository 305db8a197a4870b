/** The sender of a request: the address, to count failed attempts, and whether they are still connected. */
export interface Caller {
  /** The network address of the connection. Behind a proxy, this is the proxy's address. */
  readonly address: string;
  /** Aborted when the caller disconnects. */
  readonly disconnected: AbortSignal;
}
