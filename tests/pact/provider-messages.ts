import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { ProviderStates } from './provider-states.ts';

type Message = Readonly<Record<string, unknown>>;

/** Every message that a contract may describe: what a resource server gets from us, though a client brings it. */
export function providerMessages(states: ProviderStates): Readonly<Record<string, () => Message>> {
  return {
    'the header and the claims of an access token': () => {
      const token = states.accessToken;
      if (token === undefined) throw new Error('the interaction names no state that has an access token');
      return { header: { ...decodeProtectedHeader(token) }, claims: { ...decodeJwt(token) } };
    },
  };
}
