import type { TrustedIssuer } from '../../../domain/federated-jwt/trusted-issuers.ts';
import type { PublicJwk } from '../../../domain/public-jwk.ts';
import { fetchKeySet } from '../fetch-key-set.ts';
import { readIssuerKeys } from './read-issuer-keys.ts';

/** The longest that one attempt to fetch a key set of a trusted issuer may take, in milliseconds. */
export const KEY_SET_TIMEOUT_MS = 5_000;

/** An issuer, and where its keys are: at a URL, or in the file. */
export type IssuerSource = Pick<TrustedIssuer, 'issuer' | 'algorithms' | 'preset'> & {
  readonly source: { readonly uri: string } | { readonly keys: readonly PublicJwk[] };
};

/** The keys of an issuer now. Throws if they cannot be fetched, or are none. */
export async function fetchIssuerKeys(issuer: IssuerSource, signal: AbortSignal): Promise<readonly PublicJwk[]> {
  if ('keys' in issuer.source) return issuer.source.keys;
  const { document } = await fetchKeySet(issuer.source.uri, signal);
  const read = readIssuerKeys(document, issuer);
  if (!read.ok) throw new Error(`the key set ${read.problem}`);
  return read.value;
}
