/** The scheme of a SPIFFE ID. A trust domain is named by its own ID, such as `spiffe://example.org`. */
export const SPIFFE_SCHEME = 'spiffe://';

/** In characters, which are all ASCII. */
const TRUST_DOMAIN_MAX = 255;
const SPIFFE_ID_MAX = 2_048;

const TRUST_DOMAIN = /^[a-z0-9._-]+$/;
const WORKLOAD_ID = /^spiffe:\/\/([a-z0-9._-]+)((?:\/[a-zA-Z0-9._-]+)+)$/;

/** Whether a text can name a trust domain (SPIFFE-ID section 2.1): lower case, without a port and a user. */
export function isTrustDomain(text: string): boolean {
  return text.length <= TRUST_DOMAIN_MAX && TRUST_DOMAIN.test(text);
}

/**
 * The trust domain of a workload's SPIFFE ID; undefined if the text is none. An ID has one spelling: nothing is
 * decoded, no segment is a dot.
 */
export function trustDomainOf(text: string): string | undefined {
  const [, trustDomain = '', path = ''] = (text.length <= SPIFFE_ID_MAX && WORKLOAD_ID.exec(text)) || [];
  const isId = isTrustDomain(trustDomain) && !path.split('/').some((segment) => segment === '.' || segment === '..');
  return isId ? trustDomain : undefined;
}
