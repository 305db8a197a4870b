import type { Caller } from '../../application/ports/caller.ts';

/** A caller that never disconnects. */
export const A_CALLER: Caller = { address: '192.0.2.1', disconnected: new AbortController().signal };
