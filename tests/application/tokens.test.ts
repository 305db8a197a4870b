import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import { AuthorizeRequest, type ExpectedToken, OWN_CLIENT } from '../../application/authorize-request.ts';
import { Batches } from '../../application/batches.ts';
import { IssueToken, type TokenRequest } from '../../application/issue-token.ts';
import type { KeyRing } from '../../application/keys/key-ring.ts';
import type { SecretCredentials } from '../../application/ports/client-credentials.ts';
import type { ClientRepository } from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import { costsIn, followCosts } from '../../application/storage-figures.ts';
import { TokenSigner } from '../../application/token-signer.ts';
import { type AccessTokenClaims, scopesOf, TOKEN_LENGTH_MAX } from '../../domain/access-token-claims.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../domain/client-registration.ts';
import { type Refusal, refused } from '../../domain/refusal.ts';
import { type Result, success } from '../../domain/result.ts';
import { Scope } from '../../domain/scope.ts';
import { TokenPolicy, type TokenPolicyOptions } from '../../domain/token-policy.ts';
import { A_CALLER } from '../support/a-caller.ts';
import { authenticateBySecretWith, watchedBcrypt } from '../support/authentication.ts';
import { CLAIMS } from '../support/claims.ts';
import { pickDecoy } from '../support/decoys.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { InMemoryAuditLog } from '../support/in-memory-audit-log.ts';
import { REGISTERED_CLIENT as CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { tokenVerifier } from '../support/token-verifier.ts';
import { until } from '../support/until.ts';

describe('tokens that are issued', () => {
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
    return {
      grant: 'client_credentials',
      credentials: { ...CREDENTIALS, ...credentials },
      resources,
      caller: A_CALLER,
      scope,
    };
  }

  const CLAIM_NAMES = ['aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'sub'];

  let keys: KeyProvider;

  beforeAll(async () => {
    keys = await freshKeyRing();
  });

  interface WorldOptions {
    readonly policy?: Partial<TokenPolicyOptions>;
    readonly client?: Partial<Omit<ClientRegistrationFields, 'id'>>;
    readonly clients?: Pick<ClientRepository, 'findByClientId' | 'findSecret'>;
    readonly resources?: readonly string[];
    readonly signer?: Pick<TokenSigner, 'sign'>;
    readonly auditNeed?: 'required';
    readonly isRevocable?: boolean;
    /** Called while the registration is looked up. */
    readonly onLookUp?: (clock: FixedClock) => void;
  }

  /** The use case with the service's own in-memory adapters, and a count of the expensive steps. */
  function world(options: WorldOptions = {}) {
    const { policy, client, clients, resources = RESOURCES, signer, auditNeed, isRevocable, onLookUp } = options;
    const count = { lookUps: 0, verifications: 0 };
    const ids = new RandomIdGenerator();
    const clock = new FixedClock(NOW);
    const auditLog = new InMemoryAuditLog(auditNeed);
    const repository = new InMemoryClientRepository({ ids, clock, pickDecoy });
    repository.add({ ...CLIENT, ...client, details: { resources } });
    const counted: Pick<ClientRepository, 'findByClientId' | 'findSecret'> = {
      findByClientId(clientId) {
        count.lookUps += 1;
        onLookUp?.(clock);
        return (clients ?? repository).findByClientId(clientId);
      },
      findSecret(clientId) {
        count.lookUps += 1;
        onLookUp?.(clock);
        return (clients ?? repository).findSecret(clientId);
      },
    };
    const secrets = watchedBcrypt(() => {
      count.verifications += 1;
    });
    const issueToken = new IssueToken({
      authenticateClient: authenticateBySecretWith({ clients: counted, secrets }),
      policy: new TokenPolicy({ ...POLICY, ...policy }),
      signer: signer ?? new TokenSigner(keys),
      clock,
      ...(isRevocable && { isRevocable }),
      ids,
      auditLog,
    });
    return { issueToken, auditLog, clock, count };
  }

  async function issued({ issueToken }: ReturnType<typeof world>, scope?: string) {
    const outcome = await issueToken.execute(requestOf({ scope }));
    if (!outcome.ok) throw new Error(outcome.problem.reason);
    return outcome.value;
  }

  const scopeToken = fc.string({ unit: fc.constantFrom(...'abcXYZ019!#:./[]~-_'), minLength: 1, maxLength: 8 });
  const scopeTokens = fc.uniqueArray(scopeToken, { minLength: 1, maxLength: 6 });

  describe('IssueToken with an assertion as the grant', () => {
    const compact = (claims: object) =>
      ['{"alg":"ES256"}', JSON.stringify(claims), 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.');
    const OWN = { iss: CLIENT.clientId, sub: CLIENT.clientId, aud: 'a', exp: NOW + 60 };
    const registrationOf = (more: object = {}) => {
      const registration = ClientRegistration.of({ ...CLIENT, id: '1', scope: 'read write', ...more });
      if (!registration.ok) throw new Error('no registration');
      return registration.value;
    };

    /** A use case that accepts each assertion, or refuses it. */
    function issueBy(
      outcome: Result<ClientRegistration, Refusal> | undefined,
      beside?: Result<ClientRegistration, Refusal>,
      auditLog = new InMemoryAuditLog(),
    ) {
      const issueToken = new IssueToken({
        authenticateClient: { execute: async () => beside ?? refused('secret_wrong') },
        authenticateGrant: outcome && { execute: async () => outcome },
        policy: new TokenPolicy(POLICY),
        signer: new TokenSigner(keys),
        clock: new FixedClock(NOW),
        ids: new RandomIdGenerator(),
        auditLog,
      });
      return (claims: object = OWN, more: Partial<TokenRequest> = {}) =>
        issueToken.execute({
          grant: 'jwt-bearer',
          credentials: { type: 'jwt-bearer', assertion: compact(claims) },
          resources: [],
          caller: A_CALLER,
          ...more,
        });
    }
    const granted = async (outcome: ReturnType<ReturnType<typeof issueBy>>) => {
      const { ok, ...rest } = await outcome;
      const { scope, isScopeRequested } = Object('value' in rest && rest.value);
      return [ok, scope, isScopeRequested];
    };

    it.each<readonly [string, object, Partial<TokenRequest>, string, boolean]>([
      ['none', OWN, {}, 'read write', false],
      ['the parameter', OWN, { scope: 'read' }, 'read', true],
      ['its own claim', { ...OWN, scope: 'write' }, {}, 'write', true],
      ['the parameter rather than the claim', { ...OWN, scope: 'write' }, { scope: 'read' }, 'read', true],
      ['none by an empty claim', { ...OWN, scope: '' }, {}, 'read write', false],
      [
        'none by the claim of a platform',
        { ...OWN, iss: 'https://issuer.example', scope: 'write' },
        {},
        'read write',
        false,
      ],
    ])('requests scopes by %s', async (_what, claims, more, scope, isScopeRequested) => {
      const issue = issueBy(success(registrationOf()));
      expect(await granted(issue(claims, more))).toEqual([true, scope, isScopeRequested]);
    });

    it('requests none by the claim of an assertion that only authenticates the client', async () => {
      const issue = issueBy(undefined, success(registrationOf()));
      const outcome = issue({ ...OWN, scope: 'write' }, { grant: 'client_credentials' });
      expect(await granted(outcome)).toEqual([true, 'read write', false]);
    });

    it('is named in the audit log', async () => {
      const auditLog = new InMemoryAuditLog();
      await issueBy(success(registrationOf()), undefined, auditLog)();
      expect(auditLog.events()).toMatchObject([{ event: 'token_issued', grant: 'jwt-bearer' }]);
    });

    it('is for a client that may use the grant, and says no more than of a wrong assertion', async () => {
      const refusal = { ok: false, problem: { code: 'invalid_grant', clientId: CLIENT.clientId } };
      const details = { grant_types: ['client_credentials'] };
      expect(await issueBy(success(registrationOf(details)))()).toMatchObject(refusal);
      expect(await issueBy(refused('assertion_signature_wrong', CLIENT.clientId))()).toMatchObject(refusal);
      expect(await issueBy(success(registrationOf({ grant_types: ['jwt-bearer'] })))()).toMatchObject({ ok: true });
    });

    it('is for the client that authenticates beside it, and for no other one', async () => {
      const beside = { clientId: 'a', clientSecret: 'b' };
      const [own, other] = [success(registrationOf()), success(registrationOf({ clientId: 'another' }))];
      expect(await issueBy(own, own)(OWN, { beside })).toMatchObject({ ok: true });
      expect(await issueBy(own, other)(OWN, { beside })).toMatchObject({
        ok: false,
        problem: { code: 'invalid_grant' },
      });
      expect(await issueBy(own)(OWN, { beside })).toMatchObject({ ok: false, problem: { code: 'invalid_client' } });
    });

    it('is an error of the program where it is switched off, or is no assertion', async () => {
      await expect(issueBy(undefined)()).rejects.toThrow('the grant is switched off');
      const credentials = { clientId: 'a', clientSecret: 'b' };
      await expect(issueBy(success(registrationOf()))(OWN, { credentials })).rejects.toThrow(
        'the grant is switched off',
      );
    });
  });

  describe('IssueToken', () => {
    it('issues a token that the verifier accepts, with the claims that it returns', async () => {
      const { accessToken, claims } = await issued(world());
      expect(await tokenVerifier(keys).verify(accessToken)).toEqual({ ok: true, value: claims });
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

    it('dates a token that can be revoked before the look-up, which may not see a revocation that comes meanwhile', async () => {
      const onLookUp = (clock: FixedClock) => clock.advance(NOW + 3 - clock.now());
      const plain = await issued(world({ onLookUp }));
      expect([plain.claims.iat, plain.expiresInSeconds]).toEqual([NOW + 3, 300]);
      const revocable = await issued(world({ onLookUp, isRevocable: true }));
      expect([revocable.claims.iat, revocable.expiresInSeconds]).toEqual([NOW, 297]);
    });

    it('issues, for every lifetime, a token that is valid for that long from now, with only the configured claims', async () => {
      const policies = fc.record({
        lifetimeSeconds: fc.integer({ min: 1, max: 86_400 }),
        scopeClaim: fc.constantFrom('absent' as const, 'array' as const),
        issuer: fc.webAuthority().map((host) => `https://${host}`),
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
        const shown = scope.replace('read ', '');
        expect(await issueToken.execute(requestOf({ scope }))).toEqual({
          ok: false,
          problem: { code: 'invalid_scope', reason: 'scope_not_registered', clientId: CLIENT.clientId, shown },
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
          problem: { code: 'invalid_scope', reason: 'scope_malformed', shown: expect.any(String) },
        });
      }
      expect(count).toEqual({ lookUps: 0, verifications: 0 });
    });
  });

  it('shows the first token of a scope that is none, or all of it if each of them is one', async () => {
    const shownOf = async (scope: string) => {
      const outcome = await world().issueToken.execute(requestOf({ scope }));
      return outcome.ok ? undefined : outcome.problem.shown;
    };
    expect(await Promise.all(['read w"rite r\\ead', 'read  write'].map(shownOf))).toEqual(['w"rite', 'read  write']);
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
      [
        'an unusable secret',
        { clientSecret: '\0' },
        { reason: 'presented_secret_unusable', client_id: CLIENT.clientId },
      ],
      ['an unregistered scope', { scope: 'admin' }, { reason: 'scope_not_registered', client_id: CLIENT.clientId }],
      ['a malformed scope', { scope: ' ' }, { reason: 'scope_malformed' }],
      ['an unknown client, without its id', { clientId: 'nobody' }, { reason: 'client_unknown' }],
    ])('records the refusal of %s', async (_case, request, event) => {
      const { issueToken, auditLog, clock } = world();
      clock.advance(5);
      await issueToken.execute(requestOf({ ...request }));
      expect(auditLog.events()).toStrictEqual([{ event: 'token_refused', at: NOW + 5, ...event, ...ORIGIN }]);
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
      expect(await audienceOf('https://files.example.com/v1', 'https://api.example.com')).toEqual(
        RESOURCES.toReversed(),
      );
    });

    it('issues a token with several audiences that the verifier accepts', async () => {
      const outcome = await world().issueToken.execute(requestOf({ resources: RESOURCES }));
      if (!outcome.ok) throw new Error(outcome.problem.reason);
      const { accessToken, claims } = outcome.value;
      expect(await tokenVerifier(keys).verify(accessToken)).toEqual({ ok: true, value: claims });
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

    it('refuses a malformed resource before the secret is verified', async () => {
      const { issueToken, count } = world();
      const outcome = await issueToken.execute(requestOf({ resources: ['https://api.example.com', 'api'] }));
      expect(outcome).toMatchObject({ ok: false, problem: { code: 'invalid_target', reason: 'resource_malformed' } });
      expect(count).toEqual({ lookUps: 0, verifications: 0 });
    });

    it('checks secret and scope before it reveals anything about resources', async () => {
      const { issueToken } = world();
      const resources = ['https://unknown.example.com'];
      const wrong = await issueToken.execute(requestOf({ resources, clientSecret: 'bad-secret' }));
      expect(wrong).toMatchObject({ problem: { code: 'invalid_client' } });
      expect(await issueToken.execute(requestOf({ resources, scope: 'admin' }))).toMatchObject({
        problem: { code: 'invalid_scope' },
      });
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
      const { issueToken } = world({ resources: long });
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
});

describe('AuthorizeRequest', () => {
  const { iss: ISSUER, iat: NOW } = CLAIMS;
  const CALLER = { ok: true, value: { clientId: CLAIMS.sub, tokenId: CLAIMS.jti } };

  let signer: TokenSigner;
  let keys: KeyRing;

  beforeAll(async () => {
    keys = await freshKeyRing();
    signer = new TokenSigner(keys);
  });

  interface Case extends Omit<ExpectedToken, 'issuer'> {
    readonly claims?: Partial<AccessTokenClaims>;
    /** The time of the request, in seconds since the epoch. */
    readonly at?: number;
    readonly required?: string;
  }

  async function ask({ claims = {}, at = NOW, required, ...expected }: Case = {}) {
    const authorizeRequest = new AuthorizeRequest(keys, new FixedClock(at), { issuer: ISSUER, ...expected });
    const token = await signer.sign({ ...CLAIMS, ...claims });
    return authorizeRequest.execute({ token, requiredScope: required === undefined ? undefined : scope(required) });
  }

  function scope(text: string): Scope {
    const parsed = Scope.parse(text);
    if (!parsed.ok) throw new Error(`no scope: ${text}`);
    return parsed.value;
  }

  function refused(code: string, reason: string, clientId?: string) {
    return { ok: false, problem: { code, reason, ...(clientId !== undefined && { clientId }) } };
  }

  it('returns the client and the id of a valid token', async () => {
    expect(await ask()).toMatchObject(CALLER);
  });

  describe('at different times', () => {
    it('accepts a token in its first and its last second', async () => {
      expect(await ask({ at: CLAIMS.nbf })).toMatchObject(CALLER);
      expect(await ask({ at: CLAIMS.exp - 1 })).toMatchObject(CALLER);
    });

    it('refuses a token from its exp on', async () => {
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.exp })).toEqual(expired);
      expect(await ask({ at: CLAIMS.exp + 1 })).toEqual(expired);
      expect(await ask({ at: Number.MAX_SAFE_INTEGER })).toEqual(expired);
    });

    it('refuses a token before its nbf', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      expect(await ask({ at: CLAIMS.nbf - 1 })).toEqual(early);
      expect(await ask({ at: 0 })).toEqual(early);
    });

    it('uses nbf if it differs from iat', async () => {
      const claims = { nbf: NOW + 60 };
      expect(await ask({ claims, at: NOW + 59 })).toEqual(refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub));
      expect(await ask({ claims, at: NOW + 60 })).toMatchObject(CALLER);
    });

    it('accepts a token with a lifetime of one second only in that second', async () => {
      const claims = { exp: NOW + 1 };
      const statuses = await Promise.all([NOW - 1, NOW, NOW + 1].map((at) => ask({ claims, at })));
      expect(statuses.map(({ ok }) => ok)).toEqual([false, true, false]);
    });
  });

  describe('with a leeway', () => {
    const leewaySeconds = 5;

    it('accepts a token that many seconds before its nbf and after its last second', async () => {
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 5 })).toMatchObject(CALLER);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 4 })).toMatchObject(CALLER);
    });

    it('refuses a token one second outside the leeway', async () => {
      const early = refused('invalid_token', 'token_not_yet_valid', CLAIMS.sub);
      const expired = refused('invalid_token', 'token_expired', CLAIMS.sub);
      expect(await ask({ leewaySeconds, at: CLAIMS.nbf - 6 })).toEqual(early);
      expect(await ask({ leewaySeconds, at: CLAIMS.exp + 5 })).toEqual(expired);
    });
  });

  describe('with an expected audience', () => {
    const audience = 'https://api.test';

    it('accepts a token for that audience, for every client', async () => {
      expect(await ask({ claims: { aud: audience }, audience })).toMatchObject(CALLER);
    });

    it.each(['a-client', `${audience}/`, 'HTTPS://API.TEST', 'https://api.test https://other.test', 'x'])(
      'refuses a token for %j, which is not exactly that audience',
      async (aud) => {
        const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
        expect(await ask({ claims: { aud }, audience })).toEqual(foreign);
      },
    );

    it('does not name the client of another issuer', async () => {
      const response = await ask({ claims: { iss: 'x', aud: 'x' }, audience });
      expect(response).toEqual(refused('invalid_token', 'token_issuer_foreign'));
    });
  });

  it('accepts a token for several audiences if one of them is expected', async () => {
    const claims = { aud: ['https://api.test', 'https://other.test'] };
    expect(await ask({ claims, audience: 'https://other.test' })).toMatchObject(CALLER);
    const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
    for (const audience of ['https://third.test', 'https://api.test/', 'https://api.test,https://other.test']) {
      expect(await ask({ claims, audience })).toEqual(foreign);
    }
  });

  it('accepts a token for its own client, and refuses one that is restricted to a resource', async () => {
    expect(await ask({ audience: OWN_CLIENT })).toMatchObject(CALLER);
    const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
    for (const aud of ['https://api.test', 'another-client', ['https://api.test', 'https://other.test']]) {
      expect(await ask({ claims: { aud }, audience: OWN_CLIENT })).toEqual(foreign);
    }
  });

  it('accepts a token for nobody else beside, where its audience has to be the only one', async () => {
    const expected = { audience: 'https://api.test', isOnlyAudience: true };
    const foreign = refused('invalid_token', 'token_audience_foreign', CLAIMS.sub);
    expect(await ask({ claims: { aud: 'https://api.test' }, ...expected })).toMatchObject(CALLER);
    for (const aud of [['https://api.test', 'https://other.test'], 'https://other.test'])
      expect(await ask({ claims: { aud }, ...expected })).toEqual(foreign);
    const several = { claims: { aud: ['https://api.test', 'https://other.test'] }, audience: 'https://api.test' };
    expect(await ask(several)).toMatchObject(CALLER);
  });

  it('accepts a token for any audience if none is expected', async () => {
    expect(await ask({ claims: { aud: 'https://other.test' } })).toMatchObject(CALLER);
  });

  it.each([
    `${ISSUER}/`,
    'HTTP://issuer.test',
    'https://issuer.test',
    'http://issuer.test:80',
    ' http://issuer.test',
    'x',
  ])('refuses a token of the issuer %j, which is not exactly ours', async (iss) => {
    expect(await ask({ claims: { iss } })).toEqual(refused('invalid_token', 'token_issuer_foreign'));
  });

  it('does not name the client of another issuer, even if something else is wrong too', async () => {
    expect(await ask({ claims: { iss: 'x' }, at: CLAIMS.exp })).toEqual(
      refused('invalid_token', 'token_issuer_foreign'),
    );
  });

  describe('with required scopes', () => {
    const held = { scope: ['read', 'write'] };
    const insufficient = refused('insufficient_scope', 'scope_insufficient', CLAIMS.sub);

    it.each(['read', 'write', 'read write', 'write read', 'read read'])(
      'accepts a token that has the scopes %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toMatchObject(CALLER);
      },
    );

    it.each(['admin', 'read admin', 'READ', 'rea', 'reads', 'read:all'])(
      'refuses a token that does not have all of the scopes %j',
      async (required) => {
        expect(await ask({ claims: held, required })).toEqual(insufficient);
      },
    );

    it('refuses a token whose scope claim is absent or empty', async () => {
      expect(await ask({ required: 'read' })).toEqual(insufficient);
      expect(await ask({ claims: { scope: [] }, required: 'read' })).toEqual(insufficient);
    });

    it('does not split a string in the array of the scope claim', async () => {
      expect(await ask({ claims: { scope: ['read write'] }, required: 'read' })).toEqual(insufficient);
    });

    it('reads a scope claim that is one string, as in RFC 9068', async () => {
      const claims = { scope: 'read write' };
      for (const required of ['read', 'write', 'write read'])
        expect(await ask({ claims, required })).toMatchObject(CALLER);
      for (const required of ['admin', 'rea', 'read admin'])
        expect(await ask({ claims, required })).toEqual(insufficient);
    });

    it('reports an expired token as expired, even if it also lacks a scope', async () => {
      const response = await ask({ required: 'admin', at: CLAIMS.exp });
      expect(response).toEqual(refused('invalid_token', 'token_expired', CLAIMS.sub));
    });
  });

  it('accepts a token with any scope if none is required', async () => {
    expect(await ask({ claims: { scope: ['read'] } })).toMatchObject(CALLER);
  });

  it('refuses an invalid token with the reason of the verifier, and does not name a client', async () => {
    const authorizeRequest = new AuthorizeRequest(keys, new FixedClock(NOW), { issuer: ISSUER });
    const [head, payload] = (await signer.sign(CLAIMS)).split('.');
    const answers = [
      await authorizeRequest.execute({ token: 'no token' }),
      await authorizeRequest.execute({ token: `${head}.${payload}.AAAA` }),
    ];
    expect(answers).toEqual([
      refused('invalid_token', 'token_malformed'),
      refused('invalid_token', 'token_signature_wrong'),
    ]);
  });

  it.each([
    ['it was revoked alone', { isRevoked: true, issuedUntil: undefined }, 'token_revoked'],
    ['all until its second were', { isRevoked: false, issuedUntil: NOW }, 'token_revoked'],
    ['neither is true', { isRevoked: false, issuedUntil: NOW - 1 }, undefined],
  ])('knows whether a token is revoked, where that is possible: %s', async (_what, state, reason) => {
    const asked: unknown[] = [];
    const revocations = {
      async find(token: object) {
        asked.push(token);
        return state;
      },
    };
    const authorizeRequest = new AuthorizeRequest(keys, new FixedClock(NOW), { issuer: ISSUER }, revocations);
    expect(await authorizeRequest.execute({ token: await signer.sign(CLAIMS) })).toMatchObject(
      reason === undefined ? CALLER : refused('invalid_token', reason, CLAIMS.sub),
    );
    expect(asked).toEqual([{ clientId: CLAIMS.sub, tokenId: CLAIMS.jti }]);
  });

  it('passes on an outage of the keys unchanged', async () => {
    const outage = new DependencyUnavailable('key directory', new Error('connection refused'));
    const unreachable = { verificationKey: () => Promise.reject(outage) };
    const authorizeRequest = new AuthorizeRequest(unreachable, new FixedClock(NOW), { issuer: ISSUER });
    await expect(authorizeRequest.execute({ token: await signer.sign(CLAIMS) })).rejects.toBe(outage);
  });
});

describe('Batches', () => {
  const pass = () => new Promise((resolve) => setImmediate(resolve));

  /** Batches that end when the test says so. */
  function world(options: { readonly max: number; readonly isSerial?: boolean }) {
    const begun: { readonly items: readonly number[]; end(): void; fail(): void }[] = [];
    const batches = new Batches((items: readonly number[]) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
      begun.push({
        items,
        end: () => resolve(items.map((item) => item * 10)),
        fail: () => reject(new Error('refused')),
      });
      return promise;
    }, options);
    return { begun, batches };
  }

  it('takes what one pass of the event loop brings together, and nothing joins a batch that has begun', async () => {
    const { begun, batches } = world({ max: 10 });
    const first = [batches.add(1), Promise.resolve().then(() => batches.add(2))];
    await pass();
    const later = [batches.add(3)];
    await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
    begun[1]?.end();
    expect(await Promise.all(later)).toEqual([30]);
    begun[0]?.end();
    expect(await Promise.all(first)).toEqual([10, 20]);
  });

  it('begins one of the greatest size in each pass, the oldest first', async () => {
    const { begun, batches } = world({ max: 2 });
    for (const item of [1, 2, 3, 4, 5]) void batches.add(item);
    for (const count of [1, 2, 3, 3]) {
      await pass();
      expect(begun).toHaveLength(count);
    }
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('begins the next only when the last has ended, if they are serial, however that ended', async () => {
    const { begun, batches } = world({ max: 2, isSerial: true });
    const outcomes = [1, 2, 3].map((item) => batches.add(item));
    for (let turn = 0; turn < 5; turn += 1) await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2]]);
    begun[0]?.fail();
    expect(await Promise.allSettled(outcomes.slice(0, 2))).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
    await pass();
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
    begun[1]?.end();
    expect(await outcomes[2]).toBe(30);
  });

  it('fails only the items of a batch that fails, throws or has another number of outcomes', async () => {
    const batches = new Batches(
      (items: readonly string[]) => {
        if (items.includes('throw')) throw new Error('thrown');
        return items.includes('lose') ? [] : items;
      },
      { max: 1 },
    );
    const outcomes = await Promise.allSettled(['throw', 'a', 'lose', 'b'].map((item) => batches.add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('lets an outcome be its own promise, which fails alone', async () => {
    const batches = new Batches(
      (items: readonly number[]) =>
        items.map((item) => (item === 2 ? Promise.reject(new Error('alone')) : Promise.resolve(item))),
      { max: 10 },
    );
    const outcomes = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('the costs of stored secrets', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  const closed: string[] = [];
  const storage = {
    name: 'client repository',
    readiness: () => ({ ready: true }) as const,
    close: async () => void closed.push('closed'),
  };

  /** Costs that nobody can read, in so many milliseconds, and the seconds at which somebody has tried to. */
  function unreadable(takesMs = 0) {
    jest.useFakeTimers();
    const begin = performance.now();
    const triedAt: number[] = [];
    const find = async () => {
      triedAt.push((performance.now() - begin) / 1_000);
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
      return undefined;
    };
    return { triedAt, ...followCosts(storage, find) };
  }

  it('are tried to be read every second, until the storage is closed', async () => {
    const { triedAt, readCosts, dependency } = unreadable();
    await readCosts(() => {});
    await jest.advanceTimersByTimeAsync(4_500);
    expect(triedAt).toEqual([0, 1, 2, 3, 4]);
    await dependency.close();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(triedAt).toHaveLength(5);
  });

  it('are not tried to be read before thirty times as long as the last attempt took', async () => {
    const { triedAt, readCosts } = unreadable(2_000);
    void readCosts(() => {});
    await jest.advanceTimersByTimeAsync(125_000);
    expect(triedAt).toEqual([0, 62, 124]);
  });

  it('hold up a start for half a second at most', async () => {
    const { triedAt, readCosts, dependency } = unreadable(2_000);
    let goesOn = false;
    const started = readCosts(() => {}).then(() => {
      goesOn = true;
    });
    await jest.advanceTimersByTimeAsync(499);
    expect(goesOn).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await started;
    await dependency.close();
    await jest.advanceTimersByTimeAsync(500_000);
    expect(triedAt).toEqual([0]);
  });

  it('are read before a start goes on, and not again', async () => {
    const found: (readonly number[])[] = [];
    let asked = 0;
    const find = async () => {
      asked += 1;
      return [10, 12];
    };
    await followCosts(storage, find).readCosts((costs) => found.push(costs));
    expect({ found, asked }).toEqual({ found: [[10, 12]], asked: 1 });
  });

  it('are read as soon as that is possible', async () => {
    const answers = [undefined, undefined, [12]];
    const found: (readonly number[])[] = [];
    await followCosts(storage, async () => answers.shift(), 1).readCosts((costs) => found.push(costs));
    expect(found).toEqual([]);
    await until(() => found.length > 0, 'the costs are found');
    expect({ found, answers }).toEqual({ found: [[12]], answers: [] });
  });

  it('are those that BCrypt can have', () => {
    expect(costsIn(['00', '03', '04', '10', '14', '15', '99'].map((cost) => ({ cost })))).toEqual([4, 10, 14]);
  });

  it('leave the storage as it is for everybody else', async () => {
    const { dependency } = followCosts(storage, async () => []);
    expect([dependency.name, dependency.readiness()]).toEqual(['client repository', { ready: true }]);
    closed.length = 0;
    await dependency.close();
    expect(closed).toEqual(['closed']);
  });
});
