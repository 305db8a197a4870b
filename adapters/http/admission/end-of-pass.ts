/** The most requests that wait in a pass: far fewer than the load limit, which counts them. Others go on at once. */
export const WAITING_MAX = 64;

let pass: Promise<void> | undefined;
let waiting = 0;

/**
 * Resolves once the event loop has read what its sockets have in this pass, for all that wait in it. Requests that go
 * on together take half the CPU time of requests that each take a pass of their own (ES256, 16 connections). One alone
 * waits for some microseconds.
 */
export function endOfPass(): Promise<void> {
  if (waiting >= WAITING_MAX) return Promise.resolve();
  waiting += 1;
  pass ??= new Promise((resolve) => {
    setImmediate(() => {
      pass = undefined;
      waiting = 0;
      resolve();
    });
  });
  return pass;
}
