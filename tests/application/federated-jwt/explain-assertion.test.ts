import { beforeAll, describe, expect, test } from '@jest/globals';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { InMemoryFederatedClients } from '../../../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { ExplainAssertion } from '../../../application/federated-jwt/explain-assertion.ts';
import { ClientAssertion } from '../../../domain/client-assertion.ts';
import { type FederatedSubject, NO_DETAILS } from '../../../domain/client-details.ts';
import { type TrustedIssuer, TrustedIssuers } from '../../../domain/federated-jwt/trusted-issuers.ts';
import type { PublicJwk } from '../../../domain/public-jwk.ts';
import { NO_SECRET } from '../../../domain/stored-secret.ts';
import { compactJws, generateSigningKey } from '../../support/assertions.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const NOW = 1_800_000_000;
const ISSUER: TrustedIssuer = {
  issuer: 'https://gitlab.com',
  audience: 'https://auth.test',
  algorithms: ['ES256'],
  preset: 'gitlab',
};
const SUBJECT = 'project_path:g/p:ref_type:branch:ref:main';
const IDS = { '/project_id': '20', '/namespace_id': '72' };
const KEY = generateSigningKey('ES256');
const OTHER_KEY = generateSigningKey('ES256');

interface Options {
  readonly key?: typeof KEY;
  readonly kid?: string;
  readonly clientId?: string;
  readonly fetchKeys?: (issuer: string) => Promise<readonly PublicJwk[]>;
}

describe('ExplainAssertion', () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock(NOW));
  const clients = new InMemoryFederatedClients(repository);
  const add = (clientId: string, rule: Omit<FederatedSubject, 'issuer'>, clientSecret: string, scope = 'read') => {
    const subjects = [{ issuer: ISSUER.issuer, ...rule }];
    const client = { clientId, clientSecret, clientName: 'C', scope, details: { ...NO_DETAILS, subjects } };
    repository.add(client);
    clients.add(client);
  };
  beforeAll(() => {
    add('billing', { subject: SUBJECT, claims: IDS }, NO_SECRET);
    add('release', { subject: SUBJECT, claims: { ...IDS, '/ref_protected': 'true' } }, NO_SECRET);
    add('weak', { subject: `${SUBJECT}2`, claims: {} }, NO_SECRET);
    add('broken', { subject: `${SUBJECT}3`, claims: IDS }, NO_SECRET, '');
    add('locked', { subject: `${SUBJECT}4`, claims: IDS }, `!${NO_SECRET}`);
  });

  function explain(claims: object = {}, { key = KEY, kid = 'a', clientId, fetchKeys }: Options = {}) {
    const useCase = new ExplainAssertion({
      issuers: new TrustedIssuers([ISSUER]),
      fetchKeys: fetchKeys ?? (async (issuer) => (issuer === ISSUER.issuer ? [{ ...KEY.jwk, kid: 'a' }] : [])),
      verifier: new NodeCryptoAssertionVerifier({ run: atOnce }),
      clients,
      clock: new FixedClock(NOW),
      maxAgeSeconds: 3_600,
    });
    const payload = { iss: ISSUER.issuer, sub: SUBJECT, aud: ISSUER.audience, exp: NOW + 60, iat: NOW };
    const ids = { project_id: '20', namespace_id: '72' };
    const assertion = compactJws({ alg: 'ES256', kid }, { ...payload, ...ids, ...claims }, key.seal);
    return useCase.execute({ assertion, type: 'jwt-bearer', clientId });
  }

  test('names the client that gets the token, and what the rules of the others ask for', async () => {
    expect(await explain()).toStrictEqual({
      clientId: 'billing',
      assertion: expect.any(ClientAssertion),
      issuer: ISSUER,
      signature: 'verified',
      rules: [
        { clientId: 'billing', unmet: [] },
        { clientId: 'release', unmet: [{ path: '/ref_protected', expected: 'true', found: undefined }] },
      ],
      at: NOW,
    });
  });

  test('says what the assertion has in place of what a rule asks for', async () => {
    const { rules } = await explain({ ref_protected: true });
    expect(rules[1]?.unmet).toEqual([{ path: '/ref_protected', expected: 'true', found: true }]);
  });

  test('finds only the client that the request names', async () => {
    const { rules } = await explain({}, { clientId: 'release' });
    expect(rules.map(({ clientId }) => clientId)).toEqual(['release']);
  });

  test.each<[string, string, string, object, Options?]>([
    ['assertion_expired', 'the verified signature', 'verified', { exp: NOW }],
    ['assertion_expired', 'the wrong signature', 'signature_wrong', { exp: NOW }, { key: OTHER_KEY }],
    ['assertion_signature_wrong', 'an unknown subject', 'signature_wrong', { sub: 'x' }, { key: OTHER_KEY }],
    ['assertion_key_unknown', 'an unknown subject', 'key_unknown', { sub: 'x' }, { kid: 'b' }],
    ['assertion_subject_unknown', 'no rules', 'verified', { sub: 'x' }],
    ['assertion_claims_unmatched', 'the conditions', 'verified', { project_id: '21' }],
    ['client_disabled', 'its rule', 'verified', { sub: `${SUBJECT}4` }],
  ])('refuses as %s, and still looks at %s', async (reason, _what, signature, claims, options = {}) => {
    expect(await explain(claims, options)).toMatchObject({ reason, signature, rules: expect.any(Array) });
  });

  test.each([
    ['federated_rule_refused', '2', /claims must have \/project_id/],
    ['registration_broken', '3', /^the registration is broken: scope$/],
  ])('refuses as %s, and says what is wrong with the rule or its client', async (reason, end, problem) => {
    const { rules, ...explanation } = await explain({ sub: SUBJECT + end });
    expect([explanation.reason, rules]).toMatchObject([reason, [{ problem: expect.stringMatching(problem) }]]);
  });

  test('says why the keys cannot be fetched, and explains the rest', async () => {
    const fetchKeys = () => Promise.reject(new Error('no answer in time'));
    const explanation = await explain({}, { fetchKeys });
    expect(explanation).toMatchObject({ clientId: 'billing', signature: { unavailable: 'no answer in time' } });
    expect(explanation).not.toHaveProperty('reason');
  });

  test('has no issuer and no rules for an issuer that is not trusted', async () => {
    expect(await explain({ iss: 'https://evil.test' })).toStrictEqual({
      reason: 'assertion_issuer_untrusted',
      assertion: expect.any(ClientAssertion),
      rules: [],
      at: NOW,
    });
  });

  test('has nothing but the reason for a malformed assertion', async () => {
    expect(await explain({ exp: 'tomorrow' })).toStrictEqual({ reason: 'assertion_malformed', rules: [], at: NOW });
  });
});
