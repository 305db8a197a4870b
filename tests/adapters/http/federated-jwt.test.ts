import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type HttpAnswer, requestToken, send } from '../../support/http.ts';
import { expectRefusedAssertion } from '../../support/openly-refused.ts';
import { ISSUER, type ServiceUnderTest, startServiceUnderTest } from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { PLATFORMS, type Platform, ruleOf, WorkloadIssuer, WorkloadKey } from '../../support/workload-issuer.ts';
import { logLineOf } from './service-for-suite.ts';

const BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const SPIFFE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';
const NAMES = PLATFORMS.map(({ name }) => name);

const now = () => Math.floor(Date.now() / 1000);
const client = (client_id: string, ...federated_subjects: readonly object[]) => {
  return { client_id, client_name: 'A workload', scope: 'read write', federated_subjects };
};

describe('federated_jwt', () => {
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

  const present = (assertion: string, more: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> =>
    requestToken(service.url, {
      grant_type: 'client_credentials',
      client_assertion_type: BEARER,
      client_assertion: assertion,
      ...more,
    });
  const subjectOf = ({ json }: HttpAnswer): unknown => {
    const token = String(json()['access_token']);
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub;
  };

  /** The reason in the log. Of what the assertion does not show itself, only the log has it. */
  async function reasonOf(answer: HttpAnswer): Promise<unknown> {
    const { reason } = logLineOf(service, answer);
    expectRefusedAssertion(answer, String(reason));
    expect(answer.headers).not.toHaveProperty('www-authenticate');
    return reason;
  }

  describe.each(NAMES)('with a token of %s', (name) => {
    const mint: WorkloadIssuer['mint'] = (...args) => issuer(name).mint(...args);

    test('gives the client of its rule a token', async () => {
      const answer = await present(mint(ISSUER), { scope: 'read' });
      expect(answer.json()).toMatchObject({ token_type: 'Bearer', scope: 'read' });
      expect(subjectOf(answer)).toBe(`${name}-client`);
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
      // Algorithms.
      ['no algorithm', 'assertion_algorithm_refused', () => forged({}, { alg: 'none' })],
      ['no algorithm in another case', 'assertion_algorithm_refused', () => forged({}, { alg: 'NONE' })],
      ['a shared secret', 'assertion_algorithm_refused', () => forged({}, { alg: 'HS256' })],
      ['an algorithm that is not listed', 'assertion_algorithm_refused', () => forged({}, { alg: 'PS256' })],
      ['an algorithm in lower case', 'assertion_algorithm_refused', () => forged({}, { alg: 'rs256' })],
      [
        'an algorithm of other keys',
        'assertion_key_unknown',
        () => forged({}, { alg: other.algorithm === 'ES256' ? 'RS256' : 'ES256' }),
      ],
      ['an algorithm that is no text', 'assertion_malformed', () => forged({}, { alg: ['RS256'] })],
      ['without an algorithm', 'assertion_malformed', () => forged({}, { alg: undefined })],
      ['critical extensions', 'assertion_malformed', () => forged({}, { crit: ['exp'] })],
      ['an unencoded payload', 'assertion_malformed', () => forged({}, { b64: false })],
      // Keys.
      ['another key of the same id', 'assertion_signature_wrong', () => other.mint({ claims: claimsOf(mint(ISSUER)) })],
      ['an unknown key id', 'assertion_key_unknown', () => forged({}, { kid: 'unknown' })],
      ['a key id in another case', 'assertion_key_unknown', () => forged({}, { kid: `${name}-1`.toUpperCase() })],
      ['a key id that is a path', 'assertion_key_unknown', () => forged({}, { kid: '../../../dev/null' })],
      ['a key id that is no text', 'assertion_malformed', () => forged({}, { kid: 1 })],
      [
        'another key without an id',
        'assertion_signature_wrong',
        () => other.mint({ claims: claimsOf(mint(ISSUER)), header: { kid: undefined } }),
      ],
      [
        'its own key in the header',
        'assertion_signature_wrong',
        () =>
          other.mint({ claims: claimsOf(mint(ISSUER)), header: { jwk: other.jwk(), jku: 'https://evil.example/' } }),
      ],
      ['a changed signature', 'assertion_signature_wrong', () => changed(mint(ISSUER))],
      ['no signature', 'assertion_malformed', () => mint(ISSUER).replace(/[^.]*$/, '')],
      ['changed claims', 'assertion_signature_wrong', () => withClaims(mint(ISSUER), { jti: 'other' })],
      // Audience.
      ['another audience', 'assertion_audience_wrong', () => mint('https://other.example')],
      ['the token endpoint as audience', 'assertion_audience_wrong', () => mint(`${ISSUER}/oauth2/token`)],
      ['an audience with more at the end', 'assertion_audience_wrong', () => mint(`${ISSUER}.evil.example`)],
      ['an audience in another case', 'assertion_audience_wrong', () => mint(ISSUER.toUpperCase())],
      ['several audiences', 'assertion_audience_wrong', () => forged({ aud: [ISSUER, 'https://other.example'] })],
      ['the audience twice', 'assertion_audience_wrong', () => forged({ aud: [ISSUER, ISSUER] })],
      ['no audience', 'assertion_malformed', () => forged({ aud: undefined })],
      ['an empty list of audiences', 'assertion_malformed', () => forged({ aud: [] })],
      ['an audience that is an object', 'assertion_malformed', () => forged({ aud: { [ISSUER]: true } })],
      // Times.
      ['an end in the past', 'assertion_expired', () => forged({ exp: seconds(-1) })],
      ['an end now', 'assertion_expired', () => forged({ exp: seconds(0) })],
      ['no end', 'assertion_malformed', () => forged({ exp: undefined })],
      ['an end as text', 'assertion_malformed', () => forged({ exp: String(seconds(300)) })],
      ['an end as null', 'assertion_malformed', () => forged({ exp: null })],
      ['a beginning in the future', 'assertion_not_yet_valid', () => forged({ nbf: seconds(120) })],
      [
        'a time of issue in the future',
        'assertion_not_yet_valid',
        () => forged({ iat: seconds(120), exp: seconds(600) }),
      ],
      ['an age of more than an hour', 'assertion_too_old', () => forged({ iat: seconds(-3_602), exp: seconds(600) })],
      [
        'a long life without a time of issue',
        'assertion_lifetime_too_long',
        () => forged({ iat: undefined, exp: seconds(3_660) }),
      ],
      ['a time of issue as text', 'assertion_malformed', () => forged({ iat: '1' })],
      // Type.
      ['the type of an access token', 'assertion_type_refused', () => forged({}, { typ: 'at+jwt' })],
      ['the type of a logout token', 'assertion_type_refused', () => forged({}, { typ: 'logout+jwt' })],
      // Subject.
      ['a longer subject', 'assertion_subject_unknown', () => forged({ sub: `${issuer(name).platform.subject}2` })],
      [
        'a shorter subject',
        'assertion_subject_unknown',
        () => forged({ sub: issuer(name).platform.subject.slice(0, -1) }),
      ],
      [
        'a space after the subject',
        'assertion_subject_unknown',
        () => forged({ sub: `${issuer(name).platform.subject} ` }, {}),
      ],
      ['no subject', 'assertion_malformed', () => forged({ sub: undefined })],
      ['an empty subject', 'assertion_malformed', () => forged({ sub: '' })],
      ['a list of subjects', 'assertion_malformed', () => forged({ sub: [issuer(name).platform.subject] })],
      // Form.
      ['five parts', 'assertion_malformed', () => `${mint(ISSUER)}.x.y`],
      ['padding', 'assertion_malformed', () => mint(ISSUER).replace('.', '=.')],
      ['a line break', 'assertion_malformed', () => `${mint(ISSUER)}\n`],
      ['no JSON', 'assertion_malformed', () => `e30.${Buffer.from('no').toString('base64url')}.AA`],
      ['a list of claims', 'assertion_malformed', () => `${headerOf(mint(ISSUER))}.W10.AA`],
      ['13 KiB', 'assertion_malformed', () => forged({ more: 'x'.repeat(10_000) })],
    ])('refuses %s', async (_what, reason, forge) => {
      const log = await reasonOf(await present(forge()));
      // A trust domain is found by its subject, so a subject that is no workload of it names nobody.
      const isNobody =
        name === 'spiffe' && reason === 'assertion_subject_unknown' && log === 'assertion_issuer_untrusted';
      expect(isNobody ? reason : log).toBe(reason);
    });

    test('refuses a signature with another spelling of its last character', async () => {
      const assertion = mint(ISSUER);
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      const other = alphabet[alphabet.indexOf(assertion.at(-1) ?? '') + 1];
      expect((await present(assertion.slice(0, -1) + other)).status).toBe(401);
    });

    test('refuses a header with a member twice', async () => {
      const header = headerTextOf(mint(ISSUER)).replace('{', '{"alg":"none",');
      const payload = JSON.stringify(claimsOf(mint(ISSUER)));
      expect(await reasonOf(await present(issuer(name).key.mintText(header, payload)))).toBe('assertion_malformed');
    });

    test.each(['sub', 'aud', 'exp', 'repository_id', 'name'])(
      'refuses claims with the member %s twice',
      async (member) => {
        const claims = claimsOf(mint(ISSUER));
        const real = JSON.stringify(claims[member] ?? 'y');
        const payload = JSON.stringify({ ...claims, [member]: 'x' }).replace(/\}$/, `,"${member}":${real}}`);
        const assertion = issuer(name).key.mintText(headerTextOf(mint(ISSUER)), payload);
        expect(await reasonOf(await present(assertion))).toBe('assertion_malformed');
      },
    );

    test('writes nothing of the token into the log', () => {
      for (const part of mint(ISSUER).split('.').slice(2)) expect(service.logText()).not.toContain(part.slice(0, 20));
      expect(service.logText()).not.toMatch(/eyJ[\w-]{20}/);
    });
  });

  describe('conditions', () => {
    const unmatched = (name: Platform['name'], claims: object) => present(issuer(name).mint(ISSUER, { ...claims }));

    test.each<[string, Platform['name'], object]>([
      ['the id of another repository', 'github-actions', { repository_id: '456780' }],
      ['an id as a number', 'github-actions', { repository_id: 456789 }],
      ['an id in a list', 'github-actions', { repository_id: ['456789'] }],
      ['an id with a space', 'github-actions', { repository_id: '456789 ' }],
      ['an id with a zero in front', 'github-actions', { repository_id: '0456789' }],
      ['no id of the owner', 'github-actions', { repository_owner_id: undefined }],
      ['null as the id of the owner', 'github-actions', { repository_owner_id: null }],
      ['the ids of a fork', 'gitlab', { project_id: '21', namespace_id: '73' }],
      ['a branch that is not protected', 'gitlab', { ref_protected: 'false' }],
      ['a boolean', 'gitlab', { ref_protected: true }],
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
      [
        'dots as steps',
        'kubernetes',
        { 'kubernetes.io': undefined, kubernetes: { io: { namespace: 'shop', serviceaccount: { name: 'billing' } } } },
      ],
      ['a text in place of the object', 'kubernetes', { 'kubernetes.io': 'shop' }],
      ['a list in place of the object', 'kubernetes', { 'kubernetes.io': [{ namespace: 'shop' }] }],
      ['the account at the top', 'aws', { 'https://sts.amazonaws.com/': {}, aws_account: '123456789012' }],
      ['another account', 'aws', { 'https://sts.amazonaws.com/': { aws_account: '123456789013' } }],
    ])('are not met by %s', async (_what, name, claims) => {
      const answer = await unmatched(name, claims);
      expect(await reasonOf(answer)).toBe('assertion_claims_unmatched');
      expect(logLineOf(service, answer)).toMatchObject({ client_id: `${name}-client` });
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
        const answer = await present(issuer('spiffe').mint(ISSUER, { iss }), { client_assertion_type: SPIFFE });
        expect(subjectOf(answer)).toBe('spiffe-client');
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
        const answer = await present(issuer('spiffe').mint(ISSUER, { sub }), { client_assertion_type });
        expect(await reasonOf(answer)).toBe('assertion_issuer_untrusted');
      }
    });

    test('is the only platform with its assertion type', async () => {
      for (const name of NAMES.filter((one) => one !== 'spiffe')) {
        const answer = await present(issuer(name).mint(ISSUER), { client_assertion_type: SPIFFE });
        expect(await reasonOf(answer)).toBe('assertion_issuer_untrusted');
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
});

function headerOf(assertion: string): string {
  return assertion.split('.')[0] ?? '';
}

function headerTextOf(assertion: string): string {
  return Buffer.from(headerOf(assertion), 'base64url').toString();
}

function claimsOf(assertion: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
}

/** The same signature over other claims. */
function withClaims(assertion: string, changes: object): string {
  const [header, , signature] = assertion.split('.');
  const payload = Buffer.from(JSON.stringify({ ...claimsOf(assertion), ...changes })).toString('base64url');
  return `${header}.${payload}.${signature}`;
}

/** The same claims with another signature of the same length. */
function changed(assertion: string): string {
  const middle = assertion.lastIndexOf('.') + 20;
  const other = assertion[middle] === 'A' ? 'B' : 'A';
  return assertion.slice(0, middle) + other + assertion.slice(middle + 1);
}
