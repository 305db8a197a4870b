import type { ServerResponse } from 'node:http';
import type { Caller, RequestOrigin } from '../../../application/ports/caller.ts';
import { type Exchange, signalOfClose } from '../server/exchange.ts';

/**
 * The client behind a response. Its abort signal is made on first use, because most requests never wait. This is a
 * class, because each object literal with a getter has its own hidden class, which doubles the time of garbage
 * collection.
 */
export class ResponseCaller implements Caller, RequestOrigin {
  readonly requestId: string;
  readonly remoteAddress: string;
  readonly network: string;
  readonly #request: Exchange['state'];
  readonly #response: ServerResponse;
  #disconnected: AbortSignal | undefined;

  constructor({ res, state }: Exchange) {
    this.requestId = state.requestId;
    this.remoteAddress = state.clientAddress;
    this.network = networkOf(state.clientAddress);
    this.#request = state;
    this.#response = res;
  }

  get disconnected(): AbortSignal {
    this.#disconnected ??= signalOfClose(this.#response);
    return this.#disconnected;
  }

  waitUncounted<Outcome>(wait: () => Promise<Outcome>, isMoreWork: (outcome: Outcome) => boolean): Promise<Outcome> {
    return this.#request.load.waitUncounted(this.#request, wait, isMoreWork);
  }
}

/**
 * What attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address, such as `2001:db8:1:2::/64`. A
 * host can use every address of its /64 network (RFC 4291 section 2.5.4), so a count for each address would limit
 * nothing.
 */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''));
  const zeros = address.includes('::') ? 8 - left.length - right.length : 0;
  return `${[...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4).join(':')}::/64`;
}
