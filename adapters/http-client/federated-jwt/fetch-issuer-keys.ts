import type { TrustedIssuer } from '../../../domain/federated-jwt/trusted-issuers.ts';
import type { PublicJwk } from '../../../domain/public-jwk.ts';
import { readJson } from '../read-json.ts';
import { readIssuerKeys } from './read-issuer-keys.ts';

/** The longest that one attempt to fetch a key set of a trusted issuer may take, in milliseconds. */
export const KEY_SET_TIMEOUT_MS = 5_000;

/** An issuer, and where its keys are: at a URL, or in the file. */
export type IssuerSource = Pick<TrustedIssuer, 'issuer' | 'algorithms' | 'preset'> & {
  readonly source: { readonly uri: string } | { readonly keys: readonly PublicJwk[] };
};

/**
 * The keys of an issuer now. Throws if they cannot be fetched, or are none. A redirect is refused: it would name a URL
 * that the operator does not trust.
 */
export async function fetchIssuerKeys(issuer: IssuerSource, signal: AbortSignal): Promise<readonly PublicJwk[]> {
  if ('keys' in issuer.source) return issuer.source.keys;
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const response = await fetch(issuer.source.uri, { redirect: 'manual', signal, headers }).catch(throwNamed);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with status ${response.status}`);
  }
  const read = readIssuerKeys(await readJson(response), issuer);
  if (!read.ok) throw new Error(`the key set ${read.problem}`);
  return read.value;
}

/** Codes of a certificate chain whose authority Node.js does not know. */
const UNTRUSTED =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/;

/** `fetch failed` alone says nothing: the cause does. */
function throwNamed(fault: Error): never {
  const { code } = Object(fault.cause) as NodeJS.ErrnoException;
  if (code === undefined || !UNTRUSTED.test(code)) throw fault;
  const text = `${code}: give its certificate authority to the service as NODE_EXTRA_CA_CERTS`;
  throw new Error(text, { cause: fault });
}
