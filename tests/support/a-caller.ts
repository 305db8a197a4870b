import type { Caller, RequestOrigin } from '../../application/ports/caller.ts';

/** A caller that never disconnects. */
export const A_CALLER: Caller & RequestOrigin = {
  requestId: '6f1c1d2e-0000-4000-8000-000000000001',
  remoteAddress: '192.0.2.1',
  network: '192.0.2.1',
  disconnected: new AbortController().signal,
  waitUncounted: (wait) => wait(),
};
