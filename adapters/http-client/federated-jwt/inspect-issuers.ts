import { type Finding, fine, problem } from '../../../domain/finding.ts';
import { fetchIssuerKeys, type IssuerSource, KEY_SET_TIMEOUT_MS } from './fetch-issuer-keys.ts';

/** Whether the key set of each trusted issuer can be fetched now, and has a key to verify assertions with. */
export function inspectIssuers(issuers: readonly IssuerSource[]): Promise<readonly Finding[]> {
  return Promise.all(issuers.map(inspectIssuer));
}

async function inspectIssuer(issuer: IssuerSource): Promise<Finding> {
  const name = issuer.issuer;
  try {
    const keys = await fetchIssuerKeys(issuer, AbortSignal.timeout(KEY_SET_TIMEOUT_MS));
    return fine(`${name}: ${keys.length} usable keys`);
  } catch (fault) {
    const { message, cause } = fault as Error & { readonly cause?: NodeJS.ErrnoException };
    return problem(
      `${name}: the key set cannot be fetched: ${cause?.code ?? message}`,
      'correct jwks_uri in CLIENT_ASSERTION_ISSUERS_FILE, or the network between here and the issuer',
    );
  }
}
