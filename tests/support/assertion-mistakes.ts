import { compactJws, generateSigningKey } from './assertions.ts';
import { JWT_BEARER } from './forged-assertion.ts';
import type { FormFields } from './http.ts';
import { ISSUER } from './running-service.ts';
import { WorkloadKey } from './workload-issuer.ts';

export const PLATFORM = 'https://platform.test';
export const KEY = generateSigningKey('ES256');
export const PLATFORM_KEY = new WorkloadKey('p', 'ES256');

const now = () => Math.floor(Date.now() / 1000);

interface Changes {
  readonly header?: object;
  readonly claims?: object;
  readonly form?: FormFields;
}

/** The form of an assertion that a client signed, or one that a platform issued for it, but for these changes. */
export function assertionForm(
  signer: 'client' | 'platform',
  client: string,
  { header, claims, form }: Changes,
): FormFields {
  const common = { aud: ISSUER, iat: now(), exp: now() + 60, jti: crypto.randomUUID() };
  const assertion =
    signer === 'client'
      ? compactJws({ alg: 'ES256', ...header }, { iss: client, sub: client, ...common, ...claims }, KEY.seal)
      : PLATFORM_KEY.mint({ header: { ...header }, claims: { iss: PLATFORM, sub: client, ...common, ...claims } });
  return {
    grant_type: 'client_credentials',
    client_assertion_type: JWT_BEARER,
    client_assertion: assertion,
    ...form,
  };
}

/** What an assertion shows itself, by the signer: each is refused without a look-up, and the response names the fix. */
export const ASSERTION_MISTAKES: readonly (readonly [
  reason: string,
  signer: 'client' | 'platform',
  what: string,
  Changes,
])[] = [
  ['assertion_malformed', 'client', 'no jti', { claims: { jti: undefined } }],
  ['assertion_malformed', 'client', 'no JWT', { form: { client_assertion: 'x' } }],
  ['assertion_malformed', 'client', 'critical extensions', { header: { crit: ['x'] } }],
  ['assertion_malformed', 'platform', 'no exp', { claims: { exp: undefined } }],
  ['assertion_type_refused', 'client', 'the type of an access token', { header: { typ: 'at+jwt' } }],
  ['assertion_type_refused', 'platform', 'the type of an access token', { header: { typ: 'at+jwt' } }],
  ['assertion_algorithm_refused', 'client', 'ES512', { header: { alg: 'ES512' } }],
  [
    'assertion_algorithm_refused',
    'platform',
    'an algorithm that the issuer does not use',
    { header: { alg: 'EdDSA' } },
  ],
  ['assertion_issuer_untrusted', 'client', 'another issuer', { claims: { iss: 'https://other.test' } }],
  ['assertion_client_contradictory', 'client', 'another client_id', { form: { client_id: 'third-client' } }],
  ['assertion_audience_wrong', 'client', 'the token endpoint', { claims: { aud: `${ISSUER}/oauth2/token` } }],
  ['assertion_audience_wrong', 'client', 'two audiences', { claims: { aud: [ISSUER, 'https://other.test'] } }],
  ['assertion_audience_wrong', 'platform', 'another audience', { claims: { aud: 'https://other.test' } }],
  ['assertion_expired', 'client', 'an end long ago', { claims: { exp: 1 } }],
  ['assertion_expired', 'platform', 'an end long ago', { claims: { exp: 1 } }],
  ['assertion_not_yet_valid', 'client', 'a beginning in a minute', { claims: { nbf: now() + 1_000 } }],
  ['assertion_not_yet_valid', 'platform', 'a beginning in a minute', { claims: { nbf: now() + 1_000 } }],
  ['assertion_lifetime_too_long', 'client', 'an hour, as of Authlib', { claims: { exp: now() + 3_600 } }],
  ['assertion_lifetime_too_long', 'platform', 'a day without iat', { claims: { iat: undefined, exp: now() + 86_400 } }],
  ['assertion_too_old', 'platform', 'a day old', { claims: { iat: now() - 86_400 } }],
];
