import { ALGORITHMS } from '../../adapters/jwt/algorithms.ts';
import type { SigningThreads } from '../../adapters/jwt/signing-threads.ts';

/** Runs work of libuv's pool as soon as it comes, where its bound does not matter. */
export const atOnce = <Outcome>(work: () => Promise<Outcome>): Promise<Outcome> => work();

/** Signs in this thread, where it does not matter which one does. */
export const threadsAtOnce: Pick<SigningThreads, 'sign'> = {
  sign: async ({ alg, key }, input) => ALGORITHMS[alg].sign(key, input),
};
