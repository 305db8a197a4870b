/** How the workers of a service listen on one port. */
export interface SharedPort {
  readonly port: number;
  /**
   * Whether each worker has sockets of its own. The system then distributes the connections, and resets those that wait for
   * a worker that dies. Otherwise all workers accept from one socket, which the primary opens.
   */
  readonly reusePort: boolean;
}
