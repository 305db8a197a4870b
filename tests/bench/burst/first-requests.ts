import { NO_ANSWER } from '../attack/raw-connection.ts';
import { TimedConnection } from '../timing/timed-connection.ts';

export interface FirstRequests {
  /** Milliseconds from opening a connection to the first byte of its answer, of each answer with status 200. */
  readonly times: readonly number[];
  /** Requests that were answered 503: a worker has only so many in progress at once. */
  readonly refused: number;
  /** Requests without an answer, and those with another status. */
  readonly failures: number;
}

/** Opens all connections at the same time. Each sends its request as soon as it is open, and is closed after the answer. */
export async function sendFirstRequests(port: number, requests: readonly string[]): Promise<FirstRequests> {
  const answers = await Promise.all(requests.map((request) => sendFirst(port, request)));
  const times = answers.filter(({ status }) => status === 200).map(({ milliseconds }) => milliseconds);
  const refused = answers.filter(({ status }) => status === 503).length;
  return { times, refused, failures: answers.length - times.length - refused };
}

async function sendFirst(port: number, request: string): Promise<{ status: number; milliseconds: number }> {
  using connection = new TimedConnection(port);
  const openedAt = performance.now();
  try {
    await connection.open();
  } catch {
    return { status: NO_ANSWER, milliseconds: performance.now() - openedAt };
  }
  const { status } = await connection.send(request);
  return { status, milliseconds: performance.now() - openedAt };
}
