import type { Caller } from '../../application/ports/caller.ts';

/** Somebody who waits as long as it takes. */
export const A_CALLER: Caller = { address: '192.0.2.1', disconnected: new AbortController().signal };
