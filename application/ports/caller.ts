/** The sender of a request, as far as it matters for how long the request may keep the service busy. */
export interface Caller {
  /** The network address of the connection. Behind a proxy, this is the proxy's address. */
  readonly address: string;
  /** Aborted when the caller disconnects. */
  readonly disconnected: AbortSignal;
}
