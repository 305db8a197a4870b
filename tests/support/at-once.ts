import { sign } from 'node:crypto';
import type { RsaSigner } from '../../adapters/jwt/algorithms.ts';

/** Runs work of libuv's pool as soon as it comes, where its bound does not matter. */
export const atOnce = <Outcome>(work: () => Promise<Outcome>): Promise<Outcome> => work();

/** Signs in this thread, where it does not matter which one does. */
export const threadsAtOnce: RsaSigner = {
  sign: async (by, input) => sign('sha256', Buffer.from(input), by).toString('base64url'),
};
