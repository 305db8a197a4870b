// What the processes of one service agree on.

/** `planned`: a load balancer sends requests here and gets the grace time to stop. `immediate`: a person waits. */
export type ShutdownMode = 'planned' | 'immediate';

/** How the workers of a service listen on one port. */
export interface SharedPort {
  readonly port: number;
  /**
   * Whether each worker has sockets of its own. The system then distributes the connections, and resets those that wait for
   * a worker that dies. Otherwise all workers accept from one socket, which the primary opens.
   */
  readonly reusePort: boolean;
}

/** A GET request for a route, without the connection that it came on. */
export interface AskedRoute {
  /** The declared path of the route. */
  readonly route: string;
  readonly path: string;
  readonly querystring: string;
}

/** An answer that another process sends. */
export interface RouteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Why the request is refused, if it is. */
  readonly reason?: string | undefined;
}

/** Answers for a process that has the connection but not what the answer needs. Rejects if that is not possible. */
export type AnswerRoutes = (asked: AskedRoute) => Promise<RouteAnswer>;
