import { createHmac, createPublicKey, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { InMemoryUsedAssertions } from '../../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { ASSERTION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { SystemMonotonicClock } from '../../../adapters/system/system.ts';
import type { USED_ASSERTIONS_LIMITS } from '../../../application/ports/used-assertions.ts';
import { PARTS } from '../../../config/container.ts';
import { heldSlot, slotRequest } from '../../contracts/verification-slots.ts';
import { ASSERTION_MISTAKES, assertionForm, KEY, PLATFORM, PLATFORM_KEY } from '../../support/assertion-mistakes.ts';
import { compactJws, generateSigningKey, type Seal, sealedWith } from '../../support/assertions.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { forgedRequestBody, JWT_BEARER } from '../../support/forged-assertion.ts';
import { type FormFields, type HttpResponse, requestToken, send } from '../../support/http.ts';
import { expectRefusedAssertion, OPENLY_REFUSED } from '../../support/openly-refused.ts';
import { readSamples, total } from '../../support/read-samples.ts';
import { RecordingProxy } from '../../support/recording-proxy.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { PLATFORMS, type Platform, ruleOf, WorkloadIssuer, WorkloadKey } from '../../support/workload-issuer.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

describe('federated_jwt', () => {
  const BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const SPIFFE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';
  const NAMES = PLATFORMS.map(({ name }) => name);

  const now = () => Math.floor(Date.now() / 1000);
  const client = (client_id: string, ...federated_subjects: readonly object[]) => {
    return { client_id, client_name: 'A workload', scope: 'read write', federated_subjects };
  };

  const issuers = new Map<Platform['name'], WorkloadIssuer>();
  let service: ServiceUnderTest;
  const issuer = (name: Platform['name']): WorkloadIssuer => {
    const found = issuers.get(name);
    if (found === undefined) throw new Error(name);
    return found;
  };

  beforeAll(async () => {
    for (const name of NAMES) issuers.set(name, await WorkloadIssuer.start(name));
    const gitlab = issuer('gitlab').platform;
    const twin = (job: string) => ({
      ...ruleOf(gitlab, { '/pipeline_source': job }),
      subject: 'project_path:a/b:twin',
    });
    service = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,federated_jwt',
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
        PUBLIC_METADATA: 'true',
      },
      files: { 'issuers.json': JSON.stringify([...issuers.values()].map((one) => one.entry())) },
      clients: [
        ...PLATFORMS.map((platform) => client(`${platform.name}-client`, ruleOf(platform))),
        client('twin-push', twin('push')),
        client('twin-schedule', twin('schedule')),
        client('same-1', { ...ruleOf(gitlab), subject: 'project_path:a/b:same' }),
        client('same-2', { ...ruleOf(gitlab), subject: 'project_path:a/b:same' }),
        client('old-spelling', {
          ...ruleOf(issuer('github-actions').platform),
          subject: 'repo:octo-org/octo-repo:ref:refs/heads/main',
        }),
      ],
    });
    for (const name of NAMES) {
      await until(async () => (await present(issuer(name).mint(ISSUER))).status === 200, `the keys of ${name}`);
    }
  }, 60_000);

  afterAll(async () => {
    await service.stop();
    for (const one of issuers.values()) await one[Symbol.asyncDispose]();
  });

  const present = (assertion: string, more: Readonly<Record<string, string>> = {}): Promise<HttpResponse> =>
    requestToken(service.url, {
      grant_type: 'client_credentials',
      client_assertion_type: BEARER,
      client_assertion: assertion,
      ...more,
    });
  const subjectOf = ({ json }: HttpResponse): unknown => {
    const token = String(json()['access_token']);
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub;
  };

  /** The reason in the log. Of what the assertion does not show itself, only the log has it. */
  async function reasonOf(response: HttpResponse): Promise<unknown> {
    const { reason } = logLineOf(service, response);
    expectRefusedAssertion(response, String(reason));
    expect(response.headers).not.toHaveProperty('www-authenticate');
    return reason;
  }

  describe.each(NAMES)('with a token of %s', (name) => {
    const mint: WorkloadIssuer['mint'] = (...args) => issuer(name).mint(...args);

    test('gives the client of its rule a token', async () => {
      const response = await present(mint(ISSUER), { scope: 'read' });
      expect(response.json()).toMatchObject({ token_type: 'Bearer', scope: 'read' });
      expect(subjectOf(response)).toBe(`${name}-client`);
    });

    test('accepts it more than once, with or without the client id', async () => {
      const assertion = mint(ISSUER);
      for (const more of [{}, {}, { client_id: `${name}-client` }]) {
        expect((await present(assertion, more)).status).toBe(200);
      }
    });

    test('refuses it for another client, whether or not that is registered', async () => {
      for (const client_id of ['same-1', 'nobody', `${name}-client2`, `${name}-Client`]) {
        expect(await reasonOf(await present(mint(ISSUER), { client_id }))).toBe('assertion_subject_unknown');
      }
    });

    const other = new WorkloadKey(`${name}-1`, PLATFORMS.find((one) => one.name === name)?.algorithm);
    const seconds = (shift: number) => now() + shift;
    const forged = (changes: object, header: object = {}) => mint(ISSUER, { ...changes }, { ...header });

    test.each<[string, string, () => string]>([
      ['no algorithm', 'assertion_algorithm_refused', () => forged({}, { alg: 'none' })],
      ['an algorithm that is not listed', 'assertion_algorithm_refused', () => forged({}, { alg: 'PS256' })],
      ['another key of the same id', 'assertion_signature_wrong', () => other.mint({ claims: claimsOf(mint(ISSUER)) })],
      ['an unknown key id', 'assertion_key_unknown', () => forged({}, { kid: 'unknown' })],
      [
        'its own key in the header',
        'assertion_signature_wrong',
        () =>
          other.mint({ claims: claimsOf(mint(ISSUER)), header: { jwk: other.jwk(), jku: 'https://evil.example/' } }),
      ],
      ['changed claims', 'assertion_signature_wrong', () => withClaims(mint(ISSUER), { jti: 'other' })],
      ['another audience', 'assertion_audience_wrong', () => mint('https://other.example')],
      ['several audiences', 'assertion_audience_wrong', () => forged({ aud: [ISSUER, 'https://other.example'] })],
      ['an end in the past', 'assertion_expired', () => forged({ exp: seconds(-1) })],
      ['a beginning in the future', 'assertion_not_yet_valid', () => forged({ nbf: seconds(120) })],
      ['an age of more than an hour', 'assertion_too_old', () => forged({ iat: seconds(-3_602), exp: seconds(600) })],
      [
        'a long life without a time of issue',
        'assertion_lifetime_too_long',
        () => forged({ iat: undefined, exp: seconds(3_660) }),
      ],
      ['the type of an access token', 'assertion_type_refused', () => forged({}, { typ: 'at+jwt' })],
      ['a longer subject', 'assertion_subject_unknown', () => forged({ sub: `${issuer(name).platform.subject}2` })],
      ['a list of subjects', 'assertion_malformed', () => forged({ sub: [issuer(name).platform.subject] })],
    ])('refuses %s', async (_what, reason, forge) => {
      const log = await reasonOf(await present(forge()));
      // A trust domain is found by its subject, so a subject that is no workload of it names nobody.
      const isNobody =
        name === 'spiffe' && reason === 'assertion_subject_unknown' && log === 'assertion_issuer_untrusted';
      expect(isNobody ? reason : log).toBe(reason);
    });

    test('writes nothing of the token into the log', () => {
      for (const part of mint(ISSUER).split('.').slice(2)) expect(service.logText()).not.toContain(part.slice(0, 20));
      expect(service.logText()).not.toMatch(/eyJ[\w-]{20}/);
    });
  });

  describe('conditions', () => {
    const unmatched = (name: Platform['name'], claims: object) => present(issuer(name).mint(ISSUER, { ...claims }));

    test.each<[string, Platform['name'], object]>([
      ['the id of another repository', 'github-actions', { repository_id: '456780' }],
      ['an id with a zero in front', 'github-actions', { repository_id: '0456789' }],
      ['no id of the owner', 'github-actions', { repository_owner_id: undefined }],
      ['the ids of a fork', 'gitlab', { project_id: '21', namespace_id: '73' }],
      ['a branch that is not protected', 'gitlab', { ref_protected: 'false' }],
      [
        'another namespace',
        'kubernetes',
        { 'kubernetes.io': { namespace: 'other', serviceaccount: { name: 'billing' } } },
      ],
      [
        'flat names',
        'kubernetes',
        {
          'kubernetes.io': undefined,
          'kubernetes.io/namespace': 'shop',
          'kubernetes.io/serviceaccount/name': 'billing',
        },
      ],
      ['the account at the top', 'aws', { 'https://sts.amazonaws.com/': {}, aws_account: '123456789012' }],
      ['another account', 'aws', { 'https://sts.amazonaws.com/': { aws_account: '123456789013' } }],
    ])('are not met by %s', async (_what, name, claims) => {
      const response = await unmatched(name, claims);
      expect(await reasonOf(response)).toBe('assertion_claims_unmatched');
      expect(logLineOf(service, response)).toMatchObject({ client_id: `${name}-client` });
    });
  });

  describe('the issuer', () => {
    test.each<[string, unknown]>([
      ['another one', 'https://evil.example'],
      ['one with a slash at the end', 'https://gitlab.com/'],
      ['one in another case', 'https://GitLab.com'],
      ['none', undefined],
      ['this service', ISSUER],
    ])('is refused where it is %s', async (_what, iss) => {
      expect(await reasonOf(await present(issuer('gitlab').mint(ISSUER, { iss })))).toBe('assertion_issuer_untrusted');
    });

    test('cannot sign for another trusted one', async () => {
      for (const from of NAMES) {
        for (const to of NAMES.filter((name) => name !== from)) {
          const claims = { iss: undefined, ...issuer(to).platform.claims(ISSUER, now()) };
          const refused = await reasonOf(await present(issuer(from).mint(ISSUER, claims)));
          expect(refused).toMatch(/^assertion_(key_unknown|algorithm_refused)$/);
          const kid = issuer(to).key.kid;
          const sameId = await reasonOf(
            await present(issuer(from).mint(ISSUER, claims, { kid, alg: issuer(to).key.algorithm })),
          );
          expect(sameId).toBe('assertion_signature_wrong');
        }
      }
    });

    test('cannot use the subject of another trusted one', async () => {
      const { subject } = issuer('kubernetes').platform;
      expect(await reasonOf(await present(issuer('gitlab').mint(ISSUER, { sub: subject })))).toBe(
        'assertion_subject_unknown',
      );
      const spiffe = issuer('spiffe').platform.subject;
      expect(await reasonOf(await present(issuer('gitlab').mint(ISSUER, { sub: spiffe })))).toBe(
        'assertion_subject_unknown',
      );
    });

    test('cannot make a shared secret of its public key', async () => {
      const { key } = issuer('gitlab');
      const unsigned = key.mint({ claims: claimsOf(issuer('gitlab').mint(ISSUER)), header: { alg: 'HS256' } });
      const input = unsigned.slice(0, unsigned.lastIndexOf('.'));
      const signature = createHmac('sha256', JSON.stringify(key.jwk())).update(input).digest('base64url');
      expect(await reasonOf(await present(`${input}.${signature}`))).toBe('assertion_algorithm_refused');
    });
  });

  describe('SPIFFE', () => {
    test('is accepted with its own assertion type too, whatever iss says', async () => {
      for (const iss of [undefined, 'https://spire.example', 'https://gitlab.com']) {
        const response = await present(issuer('spiffe').mint(ISSUER, { iss }), { client_assertion_type: SPIFFE });
        expect(subjectOf(response)).toBe('spiffe-client');
      }
    });

    test('is refused with the key of a certificate', async () => {
      const assertion = issuer('spiffe').mint(ISSUER, {}, { kid: 'x509' });
      expect(await reasonOf(await present(assertion))).toBe('assertion_key_unknown');
    });

    test.each([
      'spiffe://example.com/ns/shop/sa/billing',
      'spiffe://example.org.evil.example/ns/shop/sa/billing',
      'spiffe://Example.org/ns/shop/sa/billing',
      'spiffe://example.org/ns/shop/sa/billing/',
      'spiffe://example.org/ns/shop/sa/../sa/billing',
      'spiffe://example.org',
    ])('is refused with the subject %s', async (sub) => {
      for (const client_assertion_type of [BEARER, SPIFFE]) {
        const response = await present(issuer('spiffe').mint(ISSUER, { sub }), { client_assertion_type });
        expect(await reasonOf(response)).toBe('assertion_issuer_untrusted');
      }
    });

    test('is the only platform with its assertion type', async () => {
      for (const name of NAMES.filter((one) => one !== 'spiffe')) {
        const response = await present(issuer(name).mint(ISSUER), { client_assertion_type: SPIFFE });
        expect(await reasonOf(response)).toBe('assertion_issuer_untrusted');
      }
    });
  });

  describe('a subject of several clients', () => {
    const mint = (sub: string, claims: object = {}) => issuer('gitlab').mint(ISSUER, { sub, ...claims });

    test('needs the client id', async () => {
      const assertion = mint('project_path:a/b:same');
      expect(await reasonOf(await present(assertion))).toBe('client_ambiguous');
      for (const client_id of ['same-1', 'same-2'])
        expect(subjectOf(await present(assertion, { client_id }))).toBe(client_id);
      expect(await reasonOf(await present(assertion, { client_id: 'twin-push' }))).toBe('assertion_subject_unknown');
    });

    test('needs no client id where the conditions decide', async () => {
      const sub = 'project_path:a/b:twin';
      expect(subjectOf(await present(mint(sub, { pipeline_source: 'schedule' })))).toBe('twin-schedule');
      expect(await reasonOf(await present(mint(sub, { pipeline_source: 'web' })))).toBe('assertion_claims_unmatched');
      const wrong = await present(mint(sub, { pipeline_source: 'schedule' }), { client_id: 'twin-push' });
      expect(await reasonOf(wrong)).toBe('assertion_claims_unmatched');
    });
  });

  test('accepts both spellings of a repository, each by its own rule', async () => {
    const sub = 'repo:octo-org/octo-repo:ref:refs/heads/main';
    expect(subjectOf(await present(issuer('github-actions').mint(ISSUER, { sub })))).toBe('old-spelling');
  });

  test('is in the metadata', async () => {
    const metadata = (await send(service.url, '/.well-known/oauth-authorization-server')).json();
    expect(metadata['token_endpoint_auth_methods_supported']).toEqual(['client_secret_post', 'federated_jwt']);
  });

  test('never fetches a key set because of a request', async () => {
    const before = issuer('gitlab').keySet.questions;
    for (let n = 0; n < 20; n += 1) await present(issuer('gitlab').mint(ISSUER, {}, { kid: `unknown-${n}` }));
    expect(issuer('gitlab').keySet.questions - before).toBeLessThanOrEqual(1);
  });

  function claimsOf(assertion: string): Readonly<Record<string, unknown>> {
    return JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
  }

  /** The same signature over other claims. */
  function withClaims(assertion: string, changes: object): string {
    const [header, , signature] = assertion.split('.');
    const payload = Buffer.from(JSON.stringify({ ...claimsOf(assertion), ...changes })).toString('base64url');
    return `${header}.${payload}.${signature}`;
  }
});

describe('private_key_jwt', () => {
  type Forgery = readonly [reason: string, what: string, forge: () => string | Readonly<Record<string, string>>];

  const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

  const EC = generateSigningKey('ES256');
  const RSA = generateSigningKey('RS256');
  const PSS = generateSigningKey('PS256');
  const OTHER = generateSigningKey('ES256');
  const ATTACKER = generateSigningKey('ES256');

  const clientWith = (client_id: string, keys: readonly object[]) => ({
    client_id,
    client_name: 'A client of the suite',
    scope: 'read',
    jwks: { keys },
  });

  const now = () => Math.floor(Date.now() / 1000);
  let lastId = 0;

  function claims(more: object = {}): object {
    lastId += 1;
    return { iss: 'ec', sub: 'ec', aud: ISSUER, exp: now() + 60, iat: now(), jti: `forged-${lastId}`, ...more };
  }

  /** The assertion of the client `ec`, but for these. */
  function forged(more: object = {}, header: object = {}, seal: Seal = EC.seal): string {
    return compactJws({ alg: 'ES256', kid: 'e', ...header }, claims(more), seal);
  }

  const by = (client: string) => ({ iss: client, sub: client });
  const hmac =
    (secret: string): Seal =>
    (input) =>
      createHmac('sha256', secret).update(input).digest();
  const PEM = String(createPublicKey(RSA.privateKey).export({ type: 'spki', format: 'pem' }));
  const NO_SIGNATURE: Seal = () => Buffer.alloc(0);

  // One of each kind. domain/assertions has every form, contracts/assertion-verifier every key and signature,
  // application/authentication every claim.
  const ALGORITHMS: readonly Forgery[] = [
    ['assertion_algorithm_refused', 'alg none, signed by the right key', () => forged({}, { alg: 'none' })],
    ['assertion_malformed', 'alg none without a signature', () => forged({}, { alg: 'none' }, NO_SIGNATURE)],
    [
      'assertion_algorithm_refused',
      'HS256 with the published JWK for the secret',
      () => forged({}, { alg: 'HS256' }, hmac(JSON.stringify(EC.jwk))),
    ],
    [
      'assertion_signature_wrong',
      'an HMAC with the public key as PEM, in a header with RS256',
      () => forged(by('rsa'), { alg: 'RS256', kid: 'r' }, hmac(PEM)),
    ],
    [
      'assertion_key_unknown',
      'RS256 by a key that is registered for PS256',
      () => forged(by('pss'), { alg: 'RS256', kid: 'p' }, sealedWith('RS256', PSS.privateKey)),
    ],
  ];

  const KEYS: readonly Forgery[] = [
    ['assertion_signature_wrong', 'the key of an attacker under the right key id', () => forged({}, {}, ATTACKER.seal)],
    ['assertion_key_unknown', 'the key and the key id of another client', () => forged({}, { kid: 'o' }, OTHER.seal)],
    ['assertion_key_unknown', 'an expired key of the client', () => forged(by('expired'), { kid: 'x' })],
    ['assertion_signature_wrong', 'a jwk in the header', () => forged({}, { jwk: ATTACKER.jwk }, ATTACKER.seal)],
    [
      'assertion_key_unknown',
      'a jwk in the header with its own key id',
      () => forged({}, { jwk: { ...ATTACKER.jwk, kid: 'a' }, kid: 'a' }, ATTACKER.seal),
    ],
    ['client_unknown', 'a client that does not exist', () => forged(by('nobody'), {}, ATTACKER.seal)],
    [
      'assertion_key_unknown',
      'a client that authenticates with a secret',
      () => forged(by('other-method'), {}, ATTACKER.seal),
    ],
  ];

  const CLAIMS: readonly Forgery[] = [
    ...[
      ['another server', 'https://other.test'],
      ['the token endpoint (CVE-2025-27370)', `${ISSUER}/oauth2/token`],
      ['the issuer in other case', ISSUER.toUpperCase()],
      ['the issuer as a prefix', `${ISSUER}.attacker.test`],
    ].map(([what = '', aud]): Forgery => ['assertion_audience_wrong', what, () => forged({ aud })]),
    ['assertion_expired', 'an end 31 s ago', () => forged({ exp: now() - 31 })],
    ['assertion_lifetime_too_long', 'an end in milliseconds', () => forged({ exp: Date.now() + 60_000 })],
    ['assertion_not_yet_valid', 'a beginning in 60 s', () => forged({ nbf: now() + 60 })],
    ['assertion_issuer_untrusted', 'another client as the issuer', () => forged({ iss: 'rsa' })],
    [
      'assertion_client_contradictory',
      'another client_id in the body',
      () => ({ client_assertion: forged(), client_id: 'rsa' }),
    ],
    ['assertion_type_refused', 'the type of an access token', () => forged({}, { typ: 'at+jwt' })],
    [
      'assertion_malformed',
      'the subject twice',
      () => compactJws({ alg: 'ES256', kid: 'e' }, `${JSON.stringify(claims()).slice(0, -1)},"sub":"ec"}`, EC.seal),
    ],
    ['assertion_malformed', 'white space behind it', () => `${forged()} `],
  ];

  const service = serviceForSuite({
    environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt' },
    clients: [
      clientWith('ec', [{ ...EC.jwk, kid: 'e' }]),
      clientWith('other', [
        { ...OTHER.jwk, kid: 'e' },
        { ...generateSigningKey('ES256').jwk, kid: 'o' },
      ]),
      clientWith('rsa', [{ ...RSA.jwk, kid: 'r' }]),
      clientWith('pss', [{ ...PSS.jwk, kid: 'p', alg: 'PS256' }]),
      clientWith('expired', [{ ...EC.jwk, kid: 'x', expires_at: 1 }]),
      { client_id: 'other-method', client_secret: '{noop}its-secret', client_name: 'A client', scope: 'read' },
    ],
  });

  const ask = (client_assertion: string, more: Readonly<Record<string, string>> = {}) =>
    requestToken(service().url, {
      grant_type: 'client_credentials',
      client_assertion_type: TYPE,
      client_assertion,
      ...more,
    });

  it.each([
    ['jti is missing', { jti: undefined }],
    ['jti is longer than 255 characters', { jti: 'j'.repeat(256) }],
    ['sub is no client_id, which has 1 to 255 characters', { iss: 'a\nb', sub: 'a\nb' }],
    ['exp is missing', { exp: undefined }],
  ])('tells a client the one fault of its assertion: %s', async (fault, claims) => {
    expect((await ask(forged(claims))).json()['error_description']).toBe(`the assertion is malformed: ${fault}`);
  });

  it('never shows a good assertion that was sent as a resource too: nobody has used it yet', async () => {
    const assertion = forged();
    const response = await ask(assertion, { resource: assertion });
    expect([response.status, response.json()['error']]).toEqual([400, 'invalid_target']);
    expect(response.text).not.toContain(assertion.slice(0, 20));
  });

  it('issues a token for the assertion that every forgery starts from, once', async () => {
    const assertion = forged();
    const response = await ask(assertion);
    expect(response.status).toBe(200);
    expect(logLineOf(service(), response)).toMatchObject({ status: 200, client_id: 'ec' });
    const replay = await ask(assertion);
    expect([replay.status, replay.text]).toEqual([401, '{"error":"invalid_client"}']);
    expect(logLineOf(service(), replay)).toMatchObject({ reason: 'assertion_replayed', client_id: 'ec' });
  });

  const FORGERIES = { ALGORITHMS, KEYS, CLAIMS };
  describe.each(Object.entries(FORGERIES))('refuses a forged assertion: %s', (_kind, forgeries) => {
    it.each(forgeries)('%s: %s', async (reason, _what, forge) => {
      const forgery = forge();
      const { client_assertion = '', ...more } = typeof forgery === 'string' ? { client_assertion: forgery } : forgery;
      const response = await ask(client_assertion, more);
      expectRefusedAssertion(response, reason);
      expect(logLineOf(service(), response)).toMatchObject({ reason });
    });
  });

  it.each<[string, typeof USED_ASSERTIONS_LIMITS]>([
    ['of all clients', { perClient: 10, total: 1 }],
    ['of this client', { perClient: 1, total: 10 }],
  ])('answers 503 if no more used assertions %s can be kept, and forgets none', async (_what, limits) => {
    await using small = await startServiceUnderTest({
      environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt' },
      clients: [clientWith('ec', [EC.jwk])],
      override: (container) => {
        const store = new InMemoryUsedAssertions(new SystemMonotonicClock(), limits);
        container.registerInstance(PARTS.usedAssertions, store);
      },
    });
    const present = (client_assertion: string) =>
      requestToken(small.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion,
      });
    const first = forged({}, { kid: undefined });
    expect((await present(first)).status).toBe(200);
    const second = await present(forged({}, { kid: undefined }));
    expect([second.status, second.headers['retry-after']]).toEqual([503, '1']);
    expect(second.json()).toEqual({ error: 'temporarily_unavailable' });
    expect(logLineOf(small, second)).toMatchObject({ reason: 'dependency_unavailable' });
    expect((await present(first)).status).not.toBe(200);
  });

  it('accepts assertions of an hour, as Authlib makes them, if the setting says so', async () => {
    await using lenient = await startServiceUnderTest({
      environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt', CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: '3600' },
      clients: [clientWith('ec', [EC.jwk])],
    });
    for (const [seconds, status] of [
      [3_600, 200],
      [3_640, 401],
    ] as const) {
      const response = await requestToken(lenient.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: forged({ exp: now() + seconds }, { kid: undefined }),
      });
      expect(response.status).toBe(status);
      if (status === 401) expectRefusedAssertion(response, 'assertion_lifetime_too_long');
    }
  });

  it('accepts the token endpoint as the audience, if the setting says so, and the issuer too', async () => {
    await using lenient = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt',
        CLIENT_ASSERTION_AUDIENCE: 'issuer_or_token_endpoint',
      },
      clients: [clientWith('ec', [EC.jwk])],
    });
    for (const aud of [ISSUER, `${ISSUER}/oauth2/token`, [`${ISSUER}/oauth2/token`], 'https://other.test']) {
      const response = await requestToken(lenient.url, {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: forged({ aud }, { kid: undefined }),
      });
      expect(response.status).toBe(aud === 'https://other.test' ? 401 : 200);
    }
  });
});

describe('POST /oauth2/token: no capacity to verify assertions', () => {
  const KEY = generateSigningKey('ES256');
  const PLATFORM = 'https://platform.test';
  const PLATFORM_KEY = new WorkloadKey('platform', 'ES384');

  /** Room for one assertion of the most expensive kind. */
  const LIMITS = { ...ASSERTION_QUEUE_LIMITS, fifoRounds: 2 ** 5, unanswered: 2, waitMs: 300 };
  const FLOOD = 20;

  const now = () => Math.floor(Date.now() / 1_000);

  const queue = new VerificationQueue(LIMITS, 'assertion verification');
  const service = serviceForSuite({
    environment: {
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
      CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
    },
    clients: [
      GOOD_CLIENT,
      { client_id: 'signing', client_name: 'A client', scope: 'read', jwks: { keys: [KEY.jwk] } },
      {
        client_id: 'workload',
        client_name: 'A workload',
        scope: 'read',
        federated_subjects: [{ issuer: PLATFORM, subject: 'workload', claims: {} }],
      },
    ],
    files: {
      'issuers.json': JSON.stringify([
        { issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk({ alg: 'ES384' })] }, preset: 'none' },
      ]),
    },
    override: (container) => container.registerInstance(PARTS.assertionQueue, queue),
  });

  const withAssertion = (client_assertion: string) =>
    requestToken(service().url, {
      grant_type: 'client_credentials',
      client_assertion_type: JWT_BEARER,
      client_assertion,
    });
  const bound = async (name: string) => {
    const { text } = await service().container.resolve(PARTS.processMetrics).exposition();
    return total(readSamples(text), name);
  };

  it.each([
    [
      'private_key_jwt',
      { iss: 'nobody', sub: 'nobody', aud: ISSUER },
      () =>
        compactJws(
          { alg: 'ES256' },
          { iss: 'signing', sub: 'signing', aud: ISSUER, exp: now() + 60, jti: randomUUID() },
          KEY.seal,
        ),
    ],
    [
      'federated_jwt',
      { iss: PLATFORM, sub: 'nobody', aud: ISSUER },
      () =>
        PLATFORM_KEY.mint({
          claims: { iss: PLATFORM, sub: 'workload', aud: ISSUER, iat: now(), exp: now() + 60 },
        }),
    ],
  ])(
    '%s: answers a part of a flood with 503, and continues to serve cached secrets, and its clients behind it',
    async (_method, forged, sign) => {
      const good = () =>
        requestToken(service().url, {
          grant_type: 'client_credentials',
          client_id: GOOD_CLIENT.client_id,
          client_secret: GOOD_SECRET,
        });
      expect((await good()).status).toBe(200);
      // Another client has the only slot until the flood has arrived, however fast this machine verifies.
      const verification = await heldSlot(queue, slotRequest({ cost: 5 }));
      const flood = Array.from({ length: FLOOD }, () => requestToken(service().url, forgedRequestBody(forged)));
      const cached = await good();
      await Promise.any(flood.map(async (response) => expect((await response).status).toBe(503)));
      verification.release();
      const answers = await Promise.all(flood);
      expect(cached.status).toBe(200);
      const refused = answers.filter(({ status }) => status === 503);
      expect(answers.filter(({ status }) => status === 401).length + refused.length).toBe(FLOOD);
      for (const response of refused) {
        expect(response.text).toBe('{"error":"temporarily_unavailable"}');
        expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        expect(logLineOf(service(), response)).toMatchObject({ reason: 'slots_exhausted' });
      }
      expect((await withAssertion(sign())).status).toBe(200);
      expect(await bound('auth_assertion_verifications_unanswered')).toBe(0);
      expect(await bound('auth_assertion_verifications_unanswered_max')).toBe(LIMITS.unanswered);
      expect(await bound('auth_assertion_verifications_overflow_max')).toBe(LIMITS.unanswered);
      expect(await bound('auth_assertion_verification_shares_max')).toBe(20_000);
    },
  );
});

describe('the order of checks', () => {
  const KNOWN = 'known-client';
  const UNKNOWN = 'other-client';

  let database: TestDatabase;
  let proxy: RecordingProxy;
  let service: ServiceUnderTest;

  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateDatabase(database.url);
    proxy = await RecordingProxy.to(database.url);
    service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        CLIENTS_FILE: '',
        DATABASE_URL: proxy.through(database.url),
        ...PATIENT,
        CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
      },
      files: { 'issuers.json': JSON.stringify([{ issuer: PLATFORM, jwks: { keys: [PLATFORM_KEY.jwk()] } }]) },
    });
    const keys = [KEY.jwk];
    await clientsTable(database).add({ ...REGISTERED_CLIENT, clientId: KNOWN, details: { jwks: { keys } } });
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await proxy[Symbol.asyncDispose]();
    await database.drop();
  });

  /**
   * The parameters of statements about a client. Checks of health, counts and cleaning have none, and run at times of
   * their own.
   */
  function lookUpsSince(before: number): readonly string[] {
    return proxy.parameters.slice(before).filter((text) => text.includes('-client'));
  }

  /** Status, headers and body, without what is of one request alone. */
  async function ask(form: FormFields) {
    const { status, headers, text, json } = await requestToken(service.url, form);
    const { date: _date, 'x-request-id': _id, ...others } = headers;
    return { status, headers: others, text, json };
  }

  describe('an assertion that is refused for what it shows itself', () => {
    it('would get a token without its mistake, after look-ups', async () => {
      const before = proxy.parameters.length;
      expect((await ask(assertionForm('client', KNOWN, {}))).status).toBe(200);
      expect(lookUpsSince(before)).not.toEqual([]);
    });

    it.each(ASSERTION_MISTAKES)(
      '%s by a %s: %s gets one response for a known and an unknown client, without a statement',
      async (reason, signer, _what, changes) => {
        const before = proxy.parameters.length;
        const [known, unknown] = [
          await ask(assertionForm(signer, KNOWN, changes)),
          await ask(assertionForm(signer, UNKNOWN, changes)),
        ];
        expect({ ...known, json: undefined }).toEqual({ ...unknown, json: undefined });
        expectRefusedAssertion(known, reason);
        expect(lookUpsSince(before)).toEqual([]);
        expect(service.logLines().slice(-2)).toEqual([
          expect.objectContaining({ reason }),
          expect.objectContaining({ reason }),
        ]);
      },
    );

    it('names a fix for each reason of this kind', () => {
      const reasons = new Set(ASSERTION_MISTAKES.map(([reason]) => reason));
      expect([...reasons].toSorted()).toEqual(Object.keys(OPENLY_REFUSED).toSorted());
    });
  });
});
