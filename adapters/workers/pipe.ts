import { type BirpcReturn, createBirpc } from 'birpc';
import type { PrimaryFunctions, WorkerFunctions } from './protocol.ts';

/** One end of the pipe between the primary and a worker. */
export interface Pipe {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** The functions of the other process. Closing it rejects the calls in progress. */
export type WorkerPipe = BirpcReturn<WorkerFunctions, PrimaryFunctions>;
export type PrimaryPipe = BirpcReturn<PrimaryFunctions, WorkerFunctions>;

// No time limit for all calls alike: a start and a stop may take long. Those that a request or a scrape waits for have limits
// of their own, and the pipe closes when either process ends.
const options = ({ send, onMessage }: Pipe) => ({ post: send, on: onMessage, timeout: -1 });

/** Connects the primary to a worker. */
export function connectToWorker(pipe: Pipe, functions: PrimaryFunctions): WorkerPipe {
  return createBirpc<WorkerFunctions, PrimaryFunctions>(functions, {
    ...options(pipe),
    eventNames: ['cacheSecret', 'includeCost', 'takeIssuerKeys'],
  });
}

/** Connects a worker to the primary. */
export function connectToPrimary(pipe: Pipe, functions: WorkerFunctions): PrimaryPipe {
  return createBirpc<PrimaryFunctions, WorkerFunctions>(functions, {
    ...options(pipe),
    // `callerDisconnected` and `abandonSlot` are calls, not events: an event could overtake the `acquireSlot` call of the same id.
    eventNames: ['secretVerified', 'costFound', 'health'],
  });
}
