/** The grants of the token endpoint, as settings and clients name them. */
export const GRANT_TYPES = ['client_credentials', 'jwt-bearer'] as const;

export type GrantType = (typeof GRANT_TYPES)[number];

/** The value of the parameter `grant_type` (RFC 6749 section 4.4.2, RFC 7523 section 2.1). */
export const GRANT_NAMES: Readonly<Record<GrantType, string>> = {
  client_credentials: 'client_credentials',
  'jwt-bearer': 'urn:ietf:params:oauth:grant-type:jwt-bearer',
};

/** The grant that a name means, short or in full. */
export function grantNamed(name: unknown): GrantType | undefined {
  return GRANT_TYPES.find((grant) => name === grant || name === GRANT_NAMES[grant]);
}

/** The rule that the grants of a client break, if they break one; null: all that are switched on. */
export function ruleOfGrants(grants: unknown): string | undefined {
  if (grants === null) return undefined;
  const named = Array.isArray(grants) ? grants.map(grantNamed) : [];
  const isGood = named.length > 0 && !named.includes(undefined) && new Set(named).size === named.length;
  return isGood ? undefined : 'must be an array of client_credentials and jwt-bearer, each at most once';
}
