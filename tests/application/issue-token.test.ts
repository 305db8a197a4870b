import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { joseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../adapters/jwt/node-crypto-token-signer.ts';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import { IssueToken, type TokenRequest } from '../../application/issue-token.ts';
import type { SecretCredentials } from '../../application/ports/client-credentials.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import type { ClientResources } from '../../application/ports/client-resources.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/ports/token-signer.ts';
import { scopesOf, TOKEN_LENGTH_MAX } from '../../domain/access-token-claims.ts';
import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import { TokenPolicy, type TokenPolicyOptions } from '../../domain/token-policy.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { authenticateBySecretWith, watchedBcrypt } from '../support/authentication.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../support/in-memory-audit-log.ts';
import { REGISTERED_CLIENT as CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';

const NOW = 1_800_000_000;

/** Each run of a property verifies a secret and signs a token. */
const RUNS = { numRuns: 25 };
const POLICY: TokenPolicyOptions = { issuer: 'http://issuer.test', lifetimeSeconds: 300, scopeClaim: 'absent' };
const CREDENTIALS = { clientId: CLIENT.clientId, clientSecret: REGISTERED_SECRET };

/** The resources of the client. */
const RESOURCES = ['https://api.example.com', 'https://files.example.com/v1'];

function requestOf({
  scope,
  resources = [],
  ...credentials
}: Partial<SecretCredentials & Pick<TokenRequest, 'scope' | 'resources'>> = {}): TokenRequest {
  return { credentials: { ...CREDENTIALS, ...credentials }, resources, caller: A_CALLER, scope };
}

const CLAIM_NAMES = ['aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'sub'];

let keys: KeyProvider;

beforeAll(async () => {
  keys = await freshKeyRing();
});

interface WorldOptions {
  readonly policy?: Partial<TokenPolicyOptions>;
  readonly client?: Partial<Omit<ClientRegistrationFields, 'id'>>;
  readonly clients?: ClientRepository;
  readonly clientResources?: ClientResources;
  readonly signer?: TokenSigner;
  readonly auditNeed?: 'required';
}

/** The use case with the service's own in-memory adapters, and a count of the expensive steps. */
function world({ policy, client, clients, clientResources, signer, auditNeed }: WorldOptions = {}) {
  const count = { lookUps: 0, verifications: 0 };
  const resourceCount = { lookUps: 0 };
  const ids = new RandomIdGenerator();
  const clock = new FixedClock(NOW);
  const auditLog = new InMemoryAuditLog(auditNeed);
  const repository = new InMemoryClientRepository(ids, clock);
  repository.add({ ...CLIENT, ...client });
  const counted: ClientRepository = {
    findByClientId(clientId) {
      count.lookUps += 1;
      return (clients ?? repository).findByClientId(clientId);
    },
    findSecret(clientId) {
      count.lookUps += 1;
      return (clients ?? repository).findSecret(clientId);
    },
  };
  const secrets = watchedBcrypt(() => {
    count.verifications += 1;
  });
  const issueToken = new IssueToken({
    authenticateClient: authenticateBySecretWith({ clients: counted, secrets }),
    clientResources: clientResources ?? {
      async findResources() {
        resourceCount.lookUps += 1;
        return RESOURCES;
      },
    },
    policy: new TokenPolicy({ ...POLICY, ...policy }),
    signer: signer ?? new NodeCryptoTokenSigner(keys),
    clock,
    ids,
    auditLog,
  });
  return { issueToken, auditLog, clock, count, resourceCount };
}

async function issued({ issueToken }: ReturnType<typeof world>, scope?: string) {
  const outcome = await issueToken.execute(requestOf({ scope }));
  if (!outcome.ok) throw new Error(outcome.problem.reason);
  return outcome.value;
}

const scopeToken = fc.string({ unit: fc.constantFrom(...'abcXYZ019!#:./[]~-_'), minLength: 1, maxLength: 8 });
const scopeTokens = fc.uniqueArray(scopeToken, { minLength: 1, maxLength: 6 });

describe('IssueToken', () => {
  it('issues a token that the verifier accepts, with the claims that it returns', async () => {
    const { accessToken, claims } = await issued(world());
    expect(await joseTokenVerifier(keys).verify(accessToken)).toEqual({ ok: true, value: claims });
  });

  it('names the client as subject and audience, and the deployment as issuer', async () => {
    const { claims } = await issued(world());
    expect(claims).toMatchObject({ iss: POLICY.issuer, sub: CLIENT.clientId, aud: CLIENT.clientId });
  });

  it('gives every token a new id, even within one second', async () => {
    const here = world();
    const ids = new Set<string>();
    const tokens = new Set<string>();
    for (let count = 0; count < 50; count += 1) {
      const { claims, accessToken } = await issued(here);
      expect(claims.jti).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
      ids.add(claims.jti);
      tokens.add(accessToken);
    }
    expect([ids.size, tokens.size]).toEqual([50, 50]);
  });

  it('takes the time of each token from the clock', async () => {
    const here = world();
    const first = await issued(here);
    here.clock.advance(7);
    const second = await issued(here);
    expect([first.claims.iat, second.claims.iat]).toEqual([NOW, NOW + 7]);
  });

  it('issues, for every lifetime, a token that is valid for that long from now, with only the configured claims', async () => {
    const policies = fc.record({
      lifetimeSeconds: fc.integer({ min: 1, max: 86_400 }),
      scopeClaim: fc.constantFrom('absent' as const, 'array' as const),
      issuer: fc.webUrl(),
    });
    await fc.assert(
      fc.asyncProperty(policies, scopeTokens, async (policy, registered) => {
        const { accessToken, claims, expiresInSeconds } = await issued(
          world({ policy, client: { scope: registered.join(' ') } }),
        );
        expect(claims.exp - claims.iat).toBe(policy.lifetimeSeconds);
        expect(expiresInSeconds).toBe(policy.lifetimeSeconds);
        expect(claims.nbf).toBe(claims.iat);
        expect(claims.iss).toBe(policy.issuer);
        const payload = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
        const names = policy.scopeClaim === 'array' ? [...CLAIM_NAMES, 'scope'].sort() : CLAIM_NAMES;
        expect(Object.keys(payload).sort()).toEqual(names);
        if (policy.scopeClaim === 'array') expect(payload.scope).toEqual(registered);
      }),
      RUNS,
    );
  });
});

describe('IssueToken, for a requested scope', () => {
  it('grants all registered scopes if none is requested', async () => {
    const { scope, claims } = await issued(world({ policy: { scopeClaim: 'array' } }));
    expect(scope).toBe('read write');
    expect(claims.scope).toEqual(['read', 'write']);
  });

  it('grants the requested scopes and no others', async () => {
    const { scope, claims } = await issued(world({ policy: { scopeClaim: 'array' } }), 'write');
    expect(scope).toBe('write');
    expect(claims.scope).toEqual(['write']);
  });

  it('names each granted scope once', async () => {
    expect((await issued(world(), 'write read write')).scope).toBe('write read');
  });

  it('grants any of the registered scopes, in any order', async () => {
    const asked = scopeTokens.chain((registered) =>
      fc.tuple(fc.constant(registered), fc.shuffledSubarray(registered, { minLength: 1 })),
    );
    await fc.assert(
      fc.asyncProperty(asked, async ([registered, requested]) => {
        const here = world({ client: { scope: registered.join(' ') }, policy: { scopeClaim: 'array' } });
        const { scope, claims } = await issued(here, requested.join(' '));
        expect(scope.split(' ')).toEqual(requested);
        expect(claims.scope).toEqual(requested);
      }),
      RUNS,
    );
  });

  it('never grants an unregistered scope, for any registration and any request', async () => {
    await fc.assert(
      fc.asyncProperty(scopeTokens, fc.option(scopeTokens, { nil: undefined }), async (registered, requested) => {
        const { issueToken } = world({ client: { scope: registered.join(' ') }, policy: { scopeClaim: 'array' } });
        const outcome = await issueToken.execute(requestOf({ scope: requested?.join(' ') }));
        const isCovered = (requested ?? []).every((token) => registered.includes(token));
        expect(outcome.ok).toBe(isCovered);
        if (!outcome.ok) return expect(outcome.problem.reason).toBe('scope_not_registered');
        const granted = scopesOf(outcome.value.claims);
        expect(granted.filter((token) => !registered.includes(token))).toEqual([]);
        expect(outcome.value.scope).toBe(granted.join(' '));
      }),
      RUNS,
    );
  });

  it.each(['admin', 'read admin', 'READ', 'rea', 'reads', 'read:write'])(
    'refuses %j, which the client is not registered for, only after its secret is verified',
    async (scope) => {
      const { issueToken, count } = world();
      expect(await issueToken.execute(requestOf({ scope }))).toEqual({
        ok: false,
        problem: { code: 'invalid_scope', reason: 'scope_not_registered', clientId: CLIENT.clientId },
      });
      expect(count).toEqual({ lookUps: 2, verifications: 1 });
      expect(await issueToken.execute(requestOf({ clientSecret: 'bad-secret', scope }))).toMatchObject({
        problem: { code: 'invalid_client' },
      });
    },
  );

  it.each([
    '',
    ' ',
    ' read',
    'read ',
    'read  write',
    'read\twrite',
    'read\n',
    'r"ead',
    'r\\ead',
    'réad',
    'read\0',
    'read,\u00a0',
  ])('refuses %j, which is not a scope, without a look-up and without a verification', async (scope) => {
    const { issueToken, count } = world();
    for (const clientSecret of [REGISTERED_SECRET, 'bad-secret']) {
      expect(await issueToken.execute(requestOf({ clientSecret, scope }))).toEqual({
        ok: false,
        problem: { code: 'invalid_scope', reason: 'scope_malformed' },
      });
    }
    expect(count).toEqual({ lookUps: 0, verifications: 0 });
  });
});

/** How A_CALLER appears in the audit log. */
const ORIGIN = { request_id: A_CALLER.requestId, remote_address: A_CALLER.remoteAddress };

describe('IssueToken, in the audit log', () => {
  it('records each token with its client, id, scopes and times', async () => {
    const here = world();
    const { claims } = await issued(here, 'read');
    expect(here.auditLog.events()).toEqual([
      {
        event: 'token_issued',
        at: NOW,
        client_id: CLIENT.clientId,
        token_id: claims.jti,
        scope: 'read',
        expires_at: NOW + 300,
        ...ORIGIN,
      },
    ]);
  });

  it.each([
    ['a wrong secret', { clientSecret: 'bad-secret' }, { reason: 'secret_wrong', client_id: CLIENT.clientId }],
    ['an unusable secret', { clientSecret: '\0' }, { reason: 'presented_secret_unusable', client_id: CLIENT.clientId }],
    ['an unregistered scope', { scope: 'admin' }, { reason: 'scope_not_registered', client_id: CLIENT.clientId }],
    ['a malformed scope', { scope: ' ' }, { reason: 'scope_malformed' }],
    ['an unknown client, without its id', { clientId: 'nobody' }, { reason: 'client_unknown' }],
  ])('records the refusal of %s', async (_case, request, event) => {
    const { issueToken, auditLog, clock } = world();
    clock.advance(5);
    await issueToken.execute(requestOf({ ...request }));
    expect(auditLog.events()).toEqual([{ event: 'token_refused', at: NOW + 5, ...event, ...ORIGIN }]);
  });

  it('records the refusal of a client that is locked, and of one whose registration is broken', async () => {
    for (const [client, reason] of [
      [{ clientSecret: '!' }, 'stored_secret_unusable'],
      [{ scope: '' }, 'registration_broken'],
    ] as const) {
      const { issueToken, auditLog } = world({ client });
      await issueToken.execute(requestOf());
      const event = { event: 'token_refused', at: NOW, reason, client_id: CLIENT.clientId, ...ORIGIN };
      expect(auditLog.events()).toEqual([event]);
    }
  });

  it.each([
    ['no token', true, {}],
    ['no refusal', false, { clientSecret: 'bad-secret' }],
  ])('answers %s that it could not record', async (_case, ok, request) => {
    const { issueToken, auditLog } = world({ auditNeed: 'required' });
    auditLog.full = true;
    await expect(issueToken.execute(requestOf(request))).rejects.toBeInstanceOf(DependencyUnavailable);
    auditLog.full = false;
    expect((await issueToken.execute(requestOf(request))).ok).toBe(ok);
    expect(auditLog.events()).toHaveLength(1);
  });

  it('records no secret and no token', async () => {
    const here = world();
    const { accessToken } = await issued(here);
    await here.issueToken.execute(requestOf({ clientSecret: 'bad-secret' }));
    await here.issueToken.execute(requestOf({ clientId: 'secret-in-the-wrong-field', clientSecret: 'bad-secret' }));
    const recorded = JSON.stringify(here.auditLog.events());
    const secrets = [REGISTERED_SECRET, 'bad-secret', 'secret-in-the-wrong-field', CLIENT.clientSecret];
    for (const secret of [...secrets, ...accessToken.split('.')]) expect(recorded).not.toContain(secret);
  });
});

describe('IssueToken, for the resources of the request', () => {
  const audienceOf = async (...resources: readonly string[]) => {
    const outcome = await world().issueToken.execute(requestOf({ resources }));
    return outcome.ok ? outcome.value.claims.aud : outcome.problem.reason;
  };

  it('names one resource as the audience, and several as an array, each once and in its registered spelling', async () => {
    expect(await audienceOf('https://api.example.com/')).toBe('https://api.example.com');
    expect(await audienceOf('https://api.example.com', 'https://api.example.com/')).toBe('https://api.example.com');
    expect(await audienceOf('https://files.example.com/v1', 'https://api.example.com')).toEqual(RESOURCES.toReversed());
  });

  it('issues a token with several audiences that the verifier accepts', async () => {
    const outcome = await world().issueToken.execute(requestOf({ resources: RESOURCES }));
    if (!outcome.ok) throw new Error(outcome.problem.reason);
    const { accessToken, claims } = outcome.value;
    expect(await joseTokenVerifier(keys).verify(accessToken)).toEqual({ ok: true, value: claims });
  });

  it.each([
    ['https://files.example.com/v1/'],
    ['https://files.example.com'],
    ['https://API.example.com'],
    ['https://api.example.com:443'],
    ['https://api.example.com/?'],
    ['http://api.example.com'],
  ])('refuses %s, which the client is not registered for', async (resource) => {
    expect(await audienceOf(resource)).toBe('resource_not_registered');
    expect(await audienceOf('https://api.example.com', resource)).toBe('resource_not_registered');
  });

  it('looks the resources up once, and only if the request names one', async () => {
    const { issueToken, resourceCount } = world();
    await issueToken.execute(requestOf());
    expect(resourceCount.lookUps).toBe(0);
    await issueToken.execute(requestOf({ resources: RESOURCES }));
    expect(resourceCount.lookUps).toBe(1);
  });

  it('refuses a malformed resource before the secret is verified', async () => {
    const { issueToken, count } = world();
    const outcome = await issueToken.execute(requestOf({ resources: ['https://api.example.com', 'api'] }));
    expect(outcome).toMatchObject({ ok: false, problem: { code: 'invalid_target', reason: 'resource_malformed' } });
    expect(count).toEqual({ lookUps: 0, verifications: 0 });
  });

  it('checks secret and scope before it reveals anything about resources', async () => {
    const { issueToken, resourceCount } = world();
    const resources = ['https://unknown.example.com'];
    const wrong = await issueToken.execute(requestOf({ resources, clientSecret: 'bad-secret' }));
    expect(wrong).toMatchObject({ problem: { code: 'invalid_client' } });
    expect(await issueToken.execute(requestOf({ resources, scope: 'admin' }))).toMatchObject({
      problem: { code: 'invalid_scope' },
    });
    expect(resourceCount.lookUps).toBe(0);
  });

  it('passes on a fault of their storage unchanged, and records no refusal', async () => {
    const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
    const { issueToken, auditLog } = world({ clientResources: { findResources: () => Promise.reject(outage) } });
    await expect(issueToken.execute(requestOf({ resources: RESOURCES }))).rejects.toBe(outage);
    expect(auditLog.events()).toEqual([]);
  });

  it.each([
    ['issues a token of 7 KiB', 0, { ok: true }],
    ['refuses scopes that make it longer', 1, { problem: { code: 'invalid_scope', reason: 'scope_too_long' } }],
  ])('%s', async (_what, more, expected) => {
    const { issueToken } = world({ signer: { sign: async () => 'x'.repeat(TOKEN_LENGTH_MAX + more) } });
    expect(await issueToken.execute(requestOf())).toMatchObject(expected);
  });

  it('refuses resources that make the token longer than 7 KiB', async () => {
    const long = Array.from({ length: 8 }, (_, number) => `https://${number}.example.com/${'x'.repeat(1_900)}`);
    const { issueToken } = world({ clientResources: { findResources: async () => long } });
    const outcome = await issueToken.execute(requestOf({ resources: long }));
    expect(outcome).toMatchObject({ problem: { code: 'invalid_target', reason: 'resources_too_long' } });
  });
});

describe('IssueToken, when a dependency is unavailable', () => {
  const outage = new DependencyUnavailable('client repository', new Error('connection refused'));

  it('passes on a fault of the repository unchanged, and records no refusal', async () => {
    const clients = { findByClientId: () => Promise.reject(outage), findSecret: () => Promise.reject(outage) };
    const { issueToken, auditLog } = world({ clients });
    await expect(issueToken.execute(requestOf())).rejects.toBe(outage);
    expect(auditLog.events()).toEqual([]);
  });

  it('passes on a fault of the signer unchanged, and records no token', async () => {
    const { issueToken, auditLog } = world({ signer: { sign: () => Promise.reject(outage) } });
    await expect(issueToken.execute(requestOf())).rejects.toBe(outage);
    expect(auditLog.events()).toEqual([]);
  });
});
