import { type BirpcReturn, createBirpc } from 'birpc';
import type { PrimaryFunctions, WorkerFunctions } from './protocol.ts';

/** One end of the pipe between the primary and a worker. */
export interface Pipe {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
}

export type WorkerChannel = BirpcReturn<WorkerFunctions, PrimaryFunctions>;
export type PrimaryChannel = BirpcReturn<PrimaryFunctions, WorkerFunctions>;

// Nothing is said of time here: turns have their own, and the pipe ends with either process.
const options = ({ send, onMessage }: Pipe) => ({ post: send, on: onMessage, timeout: -1 });

/** The worker, as the primary speaks to it. Closing it refuses all that is under way. */
export function channelToWorker(pipe: Pipe, functions: PrimaryFunctions): WorkerChannel {
  return createBirpc<WorkerFunctions, PrimaryFunctions>(functions, { ...options(pipe), eventNames: ['remember'] });
}

/** The primary, as a worker speaks to it. */
export function channelToPrimary(pipe: Pipe, functions: WorkerFunctions): PrimaryChannel {
  return createBirpc<PrimaryFunctions, WorkerFunctions>(functions, {
    ...options(pipe),
    // `callerGone` is none, since an event may overtake the call that it is about.
    eventNames: ['remembered', 'health'],
  });
}
