import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { VERIFICATION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import type { AuditEvent, AuditLog } from '../../../application/ports/audit-log.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { PARTS } from '../../../config/container.ts';
import { heldSlot } from '../../contracts/verification-slots.ts';
import { openRawExchange, type RawExchange, readResponses } from '../../hostile/raw-exchange.ts';
import { atOnce } from '../../support/at-once.ts';
import { type FormFields, getAccessToken, type HttpResponse, requestToken, send, sendRaw } from '../../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER, PLAIN_CLIENT } from '../../support/running-service.ts';
import { secretsOnly } from '../../support/secrets-only.ts';
import { until } from '../../support/until.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

describe('token endpoint', () => {
  const BCRYPT_SALT_AND_HASH = GOOD_CLIENT.client_secret.slice('$2b$04$'.length);
  const GOOD = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  describe('POST /oauth2/token: valid client_id and client_secret', () => {
    const service = serviceForSuite();

    it('returns a Bearer token, its type and its lifetime, and nothing else', async () => {
      const response = await requestToken(service().url, GOOD);
      expect(response.status).toBe(200);
      expect(response.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
      expectResponseHeaders(response);
    });

    it('issues a token with the header and the claims of the specification, and no other', async () => {
      const before = Math.floor(Date.now() / 1000);
      const token = String((await requestToken(service().url, GOOD)).json()['access_token']);
      const after = Math.floor(Date.now() / 1000);
      const claims = decodeJwt(token);
      expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', kid: expect.stringMatching(UUID) });
      expect(claims).toEqual({
        iss: ISSUER,
        sub: 'good-client',
        aud: 'good-client',
        iat: expect.any(Number),
        nbf: claims.iat,
        exp: (claims.iat ?? 0) + 300,
        jti: expect.stringMatching(UUID),
      });
      expect(claims.iat).toBeGreaterThanOrEqual(before);
      expect(claims.iat).toBeLessThanOrEqual(after);
    });

    it('issues a new token with a new jti for every request', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => requestToken(service().url, GOOD)));
      const ids = answers.map((response) => decodeJwt(String(response.json()['access_token'])).jti);
      expect(new Set(ids).size).toBe(10);
    });

    it('accepts a {noop} secret in the in-memory variant', async () => {
      const form = { ...GOOD, client_id: 'plain-client', client_secret: 'plain-secret' };
      expect((await requestToken(service().url, form)).status).toBe(200);
    });

    it('writes one log line with the client, the token id and the request id', async () => {
      const response = await requestToken(service().url, GOOD);
      expect(logLineOf(service(), response)).toMatchObject({
        level: 'info',
        method: 'POST',
        route: '/oauth2/token',
        status: 200,
        client_id: 'good-client',
        token_id: decodeJwt(String(response.json()['access_token'])).jti,
      });
    });

    it.each([
      ['scope=read', 'read'],
      ['scope=write+read', 'write read'],
      ['scope=read%20write', 'read write'],
      ['scope=read+read', 'read'],
    ])('returns the granted scope if the client requested one: %s', async (parameter, granted) => {
      const response = await requestToken(service().url, `${new URLSearchParams(GOOD)}&${parameter}`);
      expect(response.json()['scope']).toBe(granted);
    });

    it.each([
      'application/x-www-form-urlencoded',
      'application/x-www-form-urlencoded;charset=UTF-8',
      'application/x-www-form-urlencoded; charset="utf-8"',
      'Application/X-WWW-Form-Urlencoded ; Charset=utf-8',
      'application/x-www-form-urlencoded; version=1',
      'application/x-www-form-urlencoded; charset-x=1',
      'application/x-www-form-urlencoded; charset=utf8',
      'application/x-www-form-urlencoded; charset="UTF8"',
      'application/x-www-form-urlencoded; charset=US-ASCII',
      'application/x-www-form-urlencoded; charset=ISO-8859-1',
      'application/x-www-form-urlencoded; charset="iso-8859-1"',
    ])('reads a body of type %s', async (type) => {
      expect((await requestToken(service().url, GOOD, { 'content-type': type })).status).toBe(200);
    });

    it('takes no other header field for one that it reads, such as one of the same length', async () => {
      const others = { 'x-same-length': 'Basic x', 'x-as-long-as-it-': 'gzip', 'x-length--12': 'text/plain' };
      expect((await requestToken(service().url, GOOD, others)).status).toBe(200);
    });
  });

  describe('POST /oauth2/token: token settings', () => {
    const service = serviceForSuite({
      environment: { TOKEN_ISSUER: 'urn:example:issuer', TOKEN_LIFETIME_SECONDS: '600', TOKEN_SCOPE_CLAIM: 'true' },
    });

    it('replaces the issuer, makes exp and expires_in follow the lifetime, and adds the scopes as an array', async () => {
      const response = await requestToken(service().url, GOOD);
      const claims = decodeJwt(String(response.json()['access_token']));
      expect(claims.iss).toBe('urn:example:issuer');
      expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
      expect(response.json()['expires_in']).toBe(600);
      expect(claims['scope']).toEqual(['read', 'write']);
    });

    it('names only the granted scopes in the claim', async () => {
      const response = await requestToken(service().url, { ...GOOD, scope: 'write' });
      expect(decodeJwt(String(response.json()['access_token']))['scope']).toEqual(['write']);
    });
  });

  describe('POST /oauth2/token: the cases of invalid_client look the same', () => {
    const service = serviceForSuite({
      clients: [GOOD_CLIENT, PLAIN_CLIENT],
      // These values are not allowed in a clients file, but a table can contain them.
      wrapClients: (clients) => {
        if (!(clients instanceof InMemoryClientRepository)) throw new Error('not the in-memory variant');
        const unusable: [string, string][] = [
          ['locked', `!$2b$04$${BCRYPT_SALT_AND_HASH}`],
          ['cost-31', `$2b$31$${BCRYPT_SALT_AND_HASH}`],
          ['plain-text', GOOD_SECRET],
        ];
        for (const [clientId, clientSecret] of unusable) {
          clients.add({ clientId, clientSecret, clientName: clientId, scope: 'read' });
        }
        clients.add({ clientId: 'no-scope', clientSecret: GOOD_CLIENT.client_secret, clientName: 'x', scope: '' });
        return clients;
      },
    });

    const cases: [string, Record<string, string>, string][] = [
      ['unknown client_id', { client_id: 'nobody' }, 'client_unknown'],
      ['wrong secret', { client_secret: 'wrong-secret' }, 'secret_wrong'],
      ['the stored encoding as the secret', { client_secret: GOOD_CLIENT.client_secret }, 'secret_wrong'],
      ['wrong secret of a {noop} client', { client_id: 'plain-client', client_secret: 'wrong-secret' }, 'secret_wrong'],
      ['secret of 73 bytes', { client_secret: 'a'.repeat(73) }, 'presented_secret_unusable'],
      ['right secret and NUL', { client_secret: `${GOOD_SECRET}\0` }, 'presented_secret_unusable'],
      ['stored secret that is locked', { client_id: 'locked' }, 'stored_secret_unusable'],
      ['stored cost 31', { client_id: 'cost-31' }, 'stored_secret_unusable'],
      ['stored secret that is not encoded', { client_id: 'plain-text' }, 'stored_secret_unusable'],
      ['registration that breaks an invariant', { client_id: 'no-scope' }, 'registration_broken'],
    ];

    it.each(cases)('refuses %s and writes the reason to the log only', async (_name, differences, reason) => {
      const response = await requestToken(service().url, { ...GOOD, ...differences });
      expect(response.status).toBe(401);
      expect(response.text).toBe('{"error":"invalid_client"}');
      expect(response.headers['www-authenticate']).toBeUndefined();
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject({
        level: 'info',
        status: 401,
        error: 'invalid_client',
        reason,
      });
    });

    it('sends the same header fields in the same order with the same values, except the request id and the date', async () => {
      const answers = await Promise.all(
        cases.map(([, differences]) => requestToken(service().url, { ...GOOD, ...differences })),
      );
      const shapes = answers.map(({ status, headers, text }) =>
        JSON.stringify([status, { ...headers, date: '', 'x-request-id': '' }, text]),
      );
      expect(new Set(shapes).size).toBe(1);
    });

    it('never logs the id of an unknown client, since it may be a secret', async () => {
      const response = await requestToken(service().url, { ...GOOD, client_id: 'swapped-secret' });
      expect(logLineOf(service(), response)).not.toHaveProperty('client_id');
    });

    it('checks the secret before it reveals anything about scopes', async () => {
      const response = await requestToken(service().url, { ...GOOD, client_secret: 'wrong-secret', scope: 'admin' });
      expect(response.text).toBe('{"error":"invalid_client"}');
    });
  });

  describe('POST /oauth2/token: refusals that cost nothing', () => {
    const lookedUp: string[] = [];
    const service = serviceForSuite({
      clients: [GOOD_CLIENT, { ...PLAIN_CLIENT, client_id: 'utf-8-client', client_secret: '{noop}gehéim-secret😀' }],
      wrapClients: (clients) =>
        secretsOnly({
          findByClientId: (clientId) => {
            lookedUp.push(clientId);
            return clients.findByClientId(clientId);
          },
          findSecret: (clientId) => {
            lookedUp.push(clientId);
            return clients.findSecret(clientId);
          },
        }),
    });

    type Request = readonly [body: string | Buffer | FormFields, headers?: Record<string, string | string[]>];
    const without = (...names: string[]) =>
      Object.fromEntries(Object.entries(GOOD).filter(([name]) => !names.includes(name)));
    const text = String(new URLSearchParams(GOOD));
    const METHOD_UNSUPPORTED = {
      error: 'invalid_client',
      error_description:
        'send client_id and client_secret in the body, without an Authorization header, or have the operator add client_secret_basic to CLIENT_AUTHENTICATION_METHODS',
    };
    const basic = `Basic ${Buffer.from(`good-client:${GOOD_SECRET}`).toString('base64')}`;
    const coded = (coding: string): Request => [text, { 'content-encoding': coding }];
    const authorized = (authorization: string | string[]): Request => [text, { authorization }];
    /** By status, error and reason: one of each, and what pages cite. tests/hostile has the others. */
    const refusals: Readonly<Record<string, Readonly<Record<string, Request>>>> = {
      '401 invalid_client credentials_missing': {
        'client_secret absent': [without('client_secret')],
        'client_secret empty': [{ ...GOOD, client_secret: '' }],
      },
      '400 invalid_request grant_type_missing': {
        'grant_type absent': [without('grant_type')],
      },
      '400 unsupported_grant_type grant_type_unsupported': {
        'grant_type password': [{ ...GOOD, grant_type: 'password' }],
      },
      '400 invalid_request parameter_repeated': {
        'client_id twice, once percent-encoded': [`${text}&client%5fid=x`],
        'an unknown parameter twice': [`${text}&x=1&x=1`],
      },
      '400 invalid_request client_id_malformed': {
        'client_id of 256 characters': [{ ...GOOD, client_id: 'a'.repeat(256) }],
      },
      '400 invalid_request form_ends_with_line_break': {
        'a line break at its end': [`${text}\n`],
        'a line break of another system': [`${text}\r\n`],
      },
      '400 invalid_request content_type_unsupported': {
        'a JSON body': [JSON.stringify(GOOD), { 'content-type': 'application/json' }],
        'charset US-ASCII with a byte beyond ASCII in a resource': [
          Buffer.from(`${text}&resource=https://é.example`),
          { 'content-type': 'application/x-www-form-urlencoded; charset=us-ascii' },
        ],
      },
      '400 invalid_request form_encoding_malformed': {
        'percent-encoded bytes that are not UTF-8': [`${text}&x=%ff`],
      },
      '400 invalid_request parameters_too_many': {
        '51 parameters': [[text, ...Array.from({ length: 48 }, (_, i) => `p${i}=1`)].join('&')],
      },
      '415 invalid_request content_encoding_unsupported': {
        'Content-Encoding gzip': coded('gzip'),
      },
      '413 invalid_request content_too_large': {
        'a body of 16 KiB and a byte': ['x'.repeat(16 * 1024 + 1)],
      },
      '400 invalid_request authorization_beside_body': {
        'Basic beside body credentials': authorized(basic),
      },
      '400 invalid_request authorization_repeated': {
        'two Authorization headers': authorized([basic, basic]),
      },
      '400 invalid_request authorization_malformed': {
        'an Authorization header without a scheme': authorized('(x)'),
      },
      '400 invalid_scope scope_malformed': {
        'a scope with a quotation mark': [{ ...GOOD, scope: 'a"b' }],
      },
    };
    const rows = Object.entries(refusals).flatMap(([refusal, requests]) => {
      const [status, error, reason] = refusal.split(' ');
      return Object.entries(requests).map(([name, [body, headers]]) => {
        return [name, { status: Number(status), error, reason }, body, headers] as const;
      });
    });

    it.each(rows)('refuses %s', async (_name, refusal, body, headers = {}) => {
      lookedUp.length = 0;
      const response = await requestToken(service().url, body, headers);
      expect(response.status).toBe(refusal.status);
      expect(response.json()['error']).toBe(refusal.error);
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject(refusal);
      expect(lookedUp).toEqual([]);
    });

    it('describes the error in fixed words, without any part of the request', async () => {
      const response = await requestToken(service().url, { ...GOOD, grant_type: '<script>my-secret</script>' });
      expect(response.json()).toEqual({
        error: 'unsupported_grant_type',
        error_description: 'grant_type must be client_credentials',
      });
    });

    it.each(['Basic', 'bearer', 'DPoP'])(
      'refuses an Authorization header of scheme %s with a challenge in that scheme',
      async (scheme) => {
        const headers = { authorization: `${scheme} Zm9vOmJhcg==` };
        const response = await requestToken(service().url, { grant_type: 'client_credentials' }, headers);
        expect(response.status).toBe(401);
        expect(response.json()).toEqual(METHOD_UNSUPPORTED);
        expect(response.headers['www-authenticate']).toBe(`${scheme} realm="token endpoint"`);
      },
    );

    it.each([
      ['without a grant_type', 'x=1'],
      ['with a client_id, which is no credential', 'grant_type=client_credentials&client_id=good-client'],
      ['without a body', ''],
    ])('refuses an Authorization header without credentials in the body, with a challenge: %s', async (_name, body) => {
      const response = await send(service().url, '/oauth2/token', {
        method: 'POST',
        headers: { authorization: basic, ...(body !== '' && { 'content-type': 'application/x-www-form-urlencoded' }) },
        body,
      });
      expect(response.status).toBe(401);
      expect(response.json()).toEqual(METHOD_UNSUPPORTED);
      expect(response.headers['www-authenticate']).toBe('Basic realm="token endpoint"');
    });

    it.each([
      'client_id=good-client',
      'client_secret=good-secret',
      'grant_type=client_credentials',
      'client%5Fsecret=',
      'a=b&client_id',
    ])('refuses %s in the query string', async (query) => {
      const response = await send(service().url, `/oauth2/token?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: text,
      });
      expect(response.status).toBe(400);
      expect(response.json()['error']).toBe('invalid_request');
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'credentials_in_query' });
    });

    it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
      'refuses %s with Allow: POST',
      async (method) => {
        const response = await send(service().url, '/oauth2/token', { method });
        expect(response.status).toBe(405);
        expect(response.headers['allow']).toBe('POST');
        if (method !== 'HEAD') expect(response.json()['error']).toBe('invalid_request');
        expectResponseHeaders(response);
      },
    );

    it.each([
      ['percent-encoded', encodeURIComponent('gehéim-secret😀')],
      ['as it is', 'gehéim-secret😀'],
    ])('reads UTF-8 beyond ASCII %s', async (_name, secret) => {
      const form = `grant_type=client_credentials&client_id=utf-8-client&client_secret=${secret}`;
      expect((await requestToken(service().url, form)).status).toBe(200);
    });

    it.each([
      ['read catalog', "the client is not registered for the scope 'catalog'; scopes are separated by single spaces"],
      ['read,write', "the client is not registered for the scope 'read,write'; scopes are separated by single spaces"],
      ['x'.repeat(5_000), `the client is not registered for the scope '${'x'.repeat(300)}...'; scopes are .*`],
      [`a-${GOOD_SECRET}`, "the client is not registered for the scope '\\?'; scopes are .*"],
      [`eyJhbGciOiJSUzI1NiJ9.e30.AA`, "the client is not registered for the scope '\\?'; scopes are .*"],
      ['read a"\\é\n</x>', "scope must be scope tokens with single spaces between: 'a\\?\\?\\?\\?</x>' is none"],
      ['read  write', "scope must be scope tokens with single spaces between: 'read  write' is none"],
    ])(
      'names the first scope that was asked for and is not granted, bounded and printable: %s',
      async (scope, text) => {
        const response = await requestToken(service().url, { ...GOOD, scope });
        expect(response.json()['error_description']).toMatch(new RegExp(`^${text}$`));
      },
    );

    it('shows no part of a secret that has spaces and was sent as the scope too', async () => {
      const secret = 'my p"ss phrase';
      const response = await requestToken(service().url, { ...GOOD, client_secret: secret, scope: secret });
      expect(response.json()['error_description']).toContain("'?' is none");
    });

    it('refuses a scope that the client is not registered for, once the secret is verified', async () => {
      const response = await requestToken(service().url, { ...GOOD, scope: 'read admin' });
      expect(response.status).toBe(400);
      expect(response.json()['error']).toBe('invalid_scope');
      expect(logLineOf(service(), response)).toMatchObject({
        reason: 'scope_not_registered',
        client_id: 'good-client',
      });
    });
  });

  const NO_CAPACITY = {
    ...VERIFICATION_QUEUE_LIMITS,
    fifoRounds: 2 ** 4,
    unanswered: 2,
    waitMs: 100,
  };

  describe('POST /oauth2/token: no capacity', () => {
    const queue = new VerificationQueue(NO_CAPACITY);
    const service = serviceForSuite({
      override: (container) => container.registerInstance(PARTS.verificationQueue, queue),
    });

    it('answers 503 with a Retry-After that spreads the next requests if it cannot verify secrets, and continues to serve a client whose secret is verified', async () => {
      expect((await requestToken(service().url, GOOD)).status).toBe(200);
      const held = await heldSlot(queue);
      const flood = Array.from({ length: 20 }, (_, guess) =>
        requestToken(service().url, { ...GOOD, client_id: 'nobody', client_secret: `guess-${guess}` }),
      );
      expect((await requestToken(service().url, GOOD)).status).toBe(200);
      const answers = await Promise.all(flood);
      held.release();
      for (const response of answers) {
        expect([response.status, response.text]).toEqual([503, '{"error":"temporarily_unavailable"}']);
        expect(response.headers['retry-after']).toMatch(/^([1-9]|10)$/);
        const line = logLineOf(service(), response);
        expect(line).toMatchObject({ reason: 'slots_exhausted' });
        expect(line).not.toHaveProperty('client_id');
      }
      expect(new Set(answers.map(({ headers }) => headers['retry-after'])).size).toBeGreaterThan(1);
    });

    it('names the client in the log line, if it is registered', async () => {
      const held = await heldSlot(queue);
      const response = await requestToken(service().url, { ...GOOD, client_secret: 'a guess' });
      held.release();
      expect(response.status).toBe(503);
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'slots_exhausted', client_id: GOOD.client_id });
    });
  });

  describe('POST /oauth2/token: overload', () => {
    const held = Promise.withResolvers<void>();
    const SLOW = { ...GOOD, client_id: 'slow' };
    const service = serviceForSuite({
      clients: [GOOD_CLIENT, { ...GOOD_CLIENT, client_id: SLOW.client_id }],
      override: (container) =>
        container.registerInstance(
          PARTS.loadLimit,
          new LoadLimit({ inFlight: 2, inFlightWhenLate: 1, lateMs: 200 }, { delayMs: 0 }),
        ),
      wrapClients: (clients) =>
        secretsOnly({
          async findByClientId(clientId) {
            if (clientId === SLOW.client_id) await held.promise;
            return clients.findByClientId(clientId);
          },
          findSecret: (clientId) => clients.findSecret(clientId),
        }),
    });

    it('answers 503 with Retry-After at once while the limit of requests in progress is reached, and serves the next when one has finished', async () => {
      const slow = [1, 2].map(() => requestToken(service().url, SLOW));
      let response = await requestToken(service().url, GOOD);
      while (response.status === 200) response = await requestToken(service().url, GOOD);
      expect(response.status).toBe(503);
      expect(response.text).toBe('{"error":"temporarily_unavailable"}');
      expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject({ level: 'error', reason: 'overloaded' });
      held.resolve();
      await Promise.all(slow);
      expect((await requestToken(service().url, GOOD)).status).toBe(200);
    });

    it('does not count a request whose body has not arrived', async () => {
      const head = [
        'POST /oauth2/token HTTP/1.1',
        'Host: a',
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: 9',
        'Expect: 100-continue',
      ];
      const slow = Array.from({ length: 5 }, () => connect(service().port, '127.0.0.1'));
      for (const socket of slow) {
        socket.write(`${head.join('\r\n')}\r\n\r\n`);
        // The service has admitted this request and waits for its body.
        expect(String(await once(socket, 'data'))).toContain('100 Continue');
      }
      expect((await requestToken(service().url, GOOD)).status).toBe(200);
      for (const socket of slow) socket.destroy();
    });
  });

  describe('POST /oauth2/token: overload by bodies that arrive at the same time', () => {
    const LIMITS = { inFlight: 20, inFlightWhenLate: 5, lateMs: 200 };
    /** Read once for each admission. */
    const eventLoop = {
      lateMs: 0,
      reads: 0,
      get delayMs() {
        this.reads += 1;
        return this.lateMs;
      },
    };
    const load = new LoadLimit(LIMITS, eventLoop);
    /** While this is set, look-ups wait for it. */
    let held: PromiseWithResolvers<void> | undefined;
    const inProgress: number[] = [];
    const service = serviceForSuite({
      override: (container) => container.registerInstance(PARTS.loadLimit, load),
      wrapClients: (clients) =>
        secretsOnly({
          async findByClientId(clientId) {
            inProgress.push(load.inFlight);
            await held?.promise;
            return clients.findByClientId(clientId);
          },
          findSecret: (clientId) => clients.findSecret(clientId),
        }),
    });
    const form = new URLSearchParams(GOOD).toString();
    const head = (more = '') =>
      `POST /oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n${more}\r\n`;

    // A client whose secret is cached does not wait for a verification.
    beforeAll(async () => {
      expect((await requestToken(service().url, GOOD)).status).toBe(200);
    });
    const exchanges: RawExchange[] = [];
    afterEach(async () => {
      eventLoop.lateMs = 0;
      held?.resolve();
      held = undefined;
      for (const exchange of exchanges.splice(0)) exchange.reset();
      await until(() => load.inFlight === 0, 'no request is in progress');
    });

    /** A request that the service has admitted, and whose body it waits for. */
    async function sendHead(): Promise<RawExchange> {
      const exchange = openRawExchange(service().port);
      exchanges.push(exchange);
      exchange.write(head('Expect: 100-continue\r\n'));
      await until(() => exchange.received().includes('100 Continue'), 'the service asks for the body');
      return exchange;
    }

    it.each([
      ['the limit', 0, LIMITS.inFlight],
      ['the lower limit while the event loop is late', LIMITS.lateMs, LIMITS.inFlightWhenLate],
    ])('answers as many as %s, and 503 to the others, as if they had just arrived', async (_, lateMs, limit) => {
      const gate = Promise.withResolvers<void>();
      held = gate;
      inProgress.length = 0;
      for (let number = 0; number < 3 * LIMITS.inFlight; number += 1) {
        const exchange = await sendHead();
        exchange.write(form.slice(0, -1));
      }
      expect(load.inFlight).toBe(0);

      eventLoop.lateMs = lateMs;
      for (const exchange of exchanges) exchange.write(form.slice(-1));
      const answers = () => exchanges.flatMap((exchange) => readResponses(exchange.received()));
      await until(() => inProgress.length + answers().length === exchanges.length, 'each is in progress or refused');
      expect(load.inFlight).toBe(limit);
      expect(Math.max(...inProgress)).toBe(limit);
      expect(answers()).toHaveLength(exchanges.length - limit);
      for (const response of answers()) {
        expect(response).toMatchObject({ status: 503, body: '{"error":"temporarily_unavailable"}' });
        expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
        expect(response.headers.get('connection')).toBe('keep-alive');
        const logged = { headers: Object.fromEntries(response.headers) };
        expect(logLineOf(service(), logged)).toMatchObject({ level: 'error', reason: 'overloaded' });
      }

      const refused = exchanges.find((exchange) => readResponses(exchange.received()).length > 0);
      gate.resolve();
      await until(() => answers().length === exchanges.length, 'those in progress are answered');
      expect(answers().filter(({ status }) => status === 200)).toHaveLength(limit);
      // The connection of a refused request takes the next one.
      refused?.write(`${head()}${form}`);
      await until(
        () => readResponses(refused?.received() ?? '').at(-1)?.status === 200,
        'the next request gets a token',
      );
    });

    it('admits a request once if its body came with its header fields, and again if its body came later', async () => {
      const before = eventLoop.reads;
      expect((await sendRaw(service().port, `${head('Connection: close\r\n')}${form}`)).slice(0, 12)).toBe(
        'HTTP/1.1 200',
      );
      expect(eventLoop.reads - before).toBe(1);

      const exchange = await sendHead();
      exchange.write(form);
      await until(() => readResponses(exchange.received())[0]?.status === 200, 'the token arrives');
      expect(eventLoop.reads - before).toBe(3);
    });

    it('counts no request whose client disconnects before its body has arrived', async () => {
      const exchange = await sendHead();
      exchange.reset();
      const disconnected = () =>
        service()
          .logLines()
          .some(({ reason }) => reason === 'client_disconnected');
      await until(disconnected, 'its end is logged');
      expect(load.inFlight).toBe(0);
    });
  });

  describe('POST /oauth2/token: too many failures', () => {
    const service = serviceForSuite({
      environment: { CLIENT_FAILURES_PER_MINUTE: '3' },
      clients: [GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'seen-client' }, { ...GOOD_CLIENT, client_id: 'new-client' }],
    });

    const GUESSED = [GOOD.client_id, 'nobody'];
    const guesses = new Map<string, readonly HttpResponse[]>();
    beforeAll(async () => {
      const guess = async (client_id: string) => {
        const answers: HttpResponse[] = [];
        for (let time = 0; time < 4; time += 1) {
          answers.push(await requestToken(service().url, { ...GOOD, client_id, client_secret: 'wrong-secret' }));
        }
        guesses.set(client_id, answers);
      };
      await Promise.all(GUESSED.map(guess));
    });

    it.each(GUESSED)('answers 429 with Retry-After to the next attempt of %s', (client_id) => {
      const [response, ...before] = (guesses.get(client_id) ?? []).toReversed();
      if (response === undefined) throw new Error('no response');
      const refused = '{"error":"invalid_client"}';
      expect(before.map(({ text }) => text)).toEqual([refused, refused, refused]);
      expect(response.status).toBe(429);
      expect(response.json()['error']).toBe('slow_down');
      expect(response.headers['retry-after']).toBe('1');
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'attempts_exhausted' });
    });

    it.each(['cached', 'not cached'])('issues a token for the right secret within 5 s after them, %s', async (kind) => {
      const client = { ...GOOD, client_id: `${kind === 'cached' ? 'seen' : 'new'}-client` };
      if (kind === 'cached') expect((await requestToken(service().url, client)).status).toBe(200);
      for (let time = 0; time < 4; time += 1) {
        await requestToken(service().url, { ...client, client_secret: 'wrong-secret' });
      }
      const begin = performance.now();
      let response = await requestToken(service().url, client);
      while (response.status !== 200 && performance.now() < begin + 5_000) {
        await delay(Number(response.headers['retry-after']) * 1_000);
        response = await requestToken(service().url, client);
      }
      expect(response.status).toBe(200);
    });
  });

  describe('POST /oauth2/token: faults', () => {
    let fault: unknown;
    const service = serviceForSuite({
      override: (container) =>
        container.registerInstance(
          PARTS.clientRepository,
          secretsOnly({
            findByClientId: () => Promise.reject(fault),
            findSecret: () => Promise.reject(fault),
          }),
        ),
    });

    it('answers 503 with Retry-After if storage is unavailable, never invalid_client', async () => {
      fault = new DependencyUnavailable('client repository', new Error('connection refused'));
      const response = await requestToken(service().url, GOOD);
      expect(response.status).toBe(503);
      expect(response.text).toBe('{"error":"temporarily_unavailable"}');
      expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject({
        level: 'error',
        reason: 'dependency_unavailable',
        fault: { message: 'client repository unavailable', cause: { message: 'connection refused' } },
      });
    });

    it('answers 500 after an unforeseen error, with the details only in the log', async () => {
      fault = new TypeError('the detail');
      const response = await requestToken(service().url, GOOD);
      expect(response.status).toBe(500);
      expect(response.text).toBe('{"error":"server_error"}');
      expectResponseHeaders(response);
      expect(logLineOf(service(), response)).toMatchObject({
        level: 'error',
        reason: 'unforeseen',
        fault: { name: 'TypeError', message: 'the detail' },
      });
    });
  });

  function expectResponseHeaders({ headers }: HttpResponse): void {
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['pragma']).toBe('no-cache');
    expect(headers['x-request-id']).toMatch(UUID);
  }
});

describe('client secret basic', () => {
  const GRANT = { grant_type: 'client_credentials' };

  /** Ids and secrets whose characters have a meaning in base64, in forms or in `id:secret`. */
  const ODD = [
    ['a colon in both', 'cli:ent', 'odd-secret:with:colons'],
    ['percent signs', '100%', 'odd-secret-%41%zz'],
    ['plus signs and spaces', 'a+b c', ' odd-secret + '],
    ['characters beyond ASCII', 'clïent-日本', 'odd-secret-ñ-€-🔑'],
    ['an ampersand and an equals sign', 'a&b=c', 'odd-secret&client_id=x'],
  ] as const;

  const formEncoded = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  const basic = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;
  const credentials = (id: string, secret: string) => basic(`${formEncoded(id)}:${formEncoded(secret)}`);

  function post(url: string, authorization: string, form: FormFields = GRANT): Promise<HttpResponse> {
    return requestToken(url, form, { authorization });
  }

  describe('client_secret_basic', () => {
    const clients: Record<string, unknown>[] = [GOOD_CLIENT];
    beforeAll(async () => {
      for (const [, client_id, secret] of ODD) {
        clients.push({ ...GOOD_CLIENT, client_id, client_secret: await bcryptEncoder(atOnce)(secret, 4) });
      }
    });
    const service = serviceForSuite({
      clients,
      environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,client_secret_basic', PUBLIC_METADATA: 'true' },
    });

    it('authenticates a client by its id and secret in the header', async () => {
      const response = await post(service().url, credentials('good-client', GOOD_SECRET));
      expect(response.status).toBe(200);
      expect(response.json()).toMatchObject({ token_type: 'Bearer' });
    });

    it('leaves client_secret_post as it is', async () => {
      const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET };
      expect((await requestToken(service().url, form)).status).toBe(200);
    });

    it('is in the metadata', async () => {
      const metadata = (await send(service().url, '/.well-known/oauth-authorization-server')).json();
      expect(metadata['token_endpoint_auth_methods_supported']).toEqual(['client_secret_post', 'client_secret_basic']);
      expect(metadata).not.toHaveProperty('token_endpoint_auth_signing_alg_values_supported');
    });

    it.each(ODD)('decodes %s, after splitting at the first colon', async (_case, id, secret) => {
      expect((await post(service().url, credentials(id, secret))).status).toBe(200);
      expect((await post(service().url, credentials(id, `${secret}x`))).status).toBe(401);
    });

    it.each(['basic', 'BASIC', 'bAsIc'])('accepts the scheme as %s', async (scheme) => {
      const header = credentials('good-client', GOOD_SECRET).replace('Basic', scheme);
      expect((await post(service().url, header)).status).toBe(200);
    });

    it('accepts the same client_id in the body, and base64 without padding', async () => {
      const header = credentials('good-client', GOOD_SECRET);
      expect((await post(service().url, header, { ...GRANT, client_id: 'good-client' })).status).toBe(200);
      expect((await post(service().url, header.replace(/=+$/, ''))).status).toBe(200);
    });

    it.each([
      ['a wrong secret', credentials('good-client', 'bad-secret'), 'secret_wrong'],
      ['an unknown client', credentials('nobody', 'bad-secret'), 'client_unknown'],
      ['no secret', basic('good-client:'), 'credentials_missing'],
      ['no id', basic(':bad-secret'), 'credentials_missing'],
    ])('refuses %s as invalid_client, with a challenge and without a description', async (_case, header, reason) => {
      const response = await post(service().url, header);
      expect(response.status).toBe(401);
      expect(response.json()).toEqual({ error: 'invalid_client' });
      expect(response.headers['www-authenticate']).toBe('Basic realm="token endpoint"');
      expect(logLineOf(service(), response)).toMatchObject({ reason });
    });

    it.each([
      ['nothing', GRANT],
      ['a client id alone', { ...GRANT, client_id: 'good-client' }],
    ])('asks for credentials with a challenge if there are none: %s', async (_case, form) => {
      const response = await requestToken(service().url, form);
      expect([response.status, response.json()['error']]).toEqual([401, 'invalid_client']);
      expect(response.headers['www-authenticate']).toBe('Basic realm="token endpoint"');
    });

    it('refuses a wrong secret in the body without a challenge, as ever', async () => {
      const response = await requestToken(service().url, {
        ...GRANT,
        client_id: 'good-client',
        client_secret: 'bad-secret',
      });
      expect(response.status).toBe(401);
      expect(response.headers).not.toHaveProperty('www-authenticate');
    });

    const header = credentials('good-client', GOOD_SECRET);
    it.each([
      ['no base64', 'Basic good-client:bad-secret', GRANT, 'basic_credentials_malformed'],
      ['base64 that is cut', 'Basic Z29vZ', GRANT, 'basic_credentials_malformed'],
      ['a control character in the id', credentials('a\u0007b', 'bad-secret'), GRANT, 'client_id_malformed'],
      ['another client_id in the body', header, { ...GRANT, client_id: 'other' }, 'client_id_contradictory'],
      ['a secret in the body too', header, { ...GRANT, client_secret: GOOD_SECRET }, 'credentials_repeated'],
      ['an assertion too', header, { ...GRANT, client_assertion: 'x' }, 'credentials_repeated'],
      ['no grant_type', header, {}, 'grant_type_missing'],
    ])('refuses %s as invalid_request', async (_case, authorization, form, reason) => {
      const response = await post(service().url, authorization, form);
      expect(response.status).toBe(400);
      expect(response.json()).toEqual({ error: 'invalid_request', error_description: expect.any(String) });
      expect(logLineOf(service(), response)).toMatchObject({ reason });
    });

    it('refuses other schemes as before', async () => {
      const response = await post(service().url, 'Bearer Zm9vOmJhcg==');
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer realm="token endpoint"');
    });
  });

  describe('client_secret_basic as the only method', () => {
    const service = serviceForSuite({ environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_basic' } });

    it('authenticates in the header, and refuses a secret in the body with a hint, whatever the secret is', async () => {
      expect((await post(service().url, credentials('good-client', GOOD_SECRET))).status).toBe(200);
      for (const client_secret of [GOOD_SECRET, 'bad-secret']) {
        const response = await requestToken(service().url, { ...GRANT, client_id: 'good-client', client_secret });
        expect(response.status).toBe(401);
        expect(response.json()).toEqual({
          error: 'invalid_client',
          error_description: expect.stringContaining('than client_secret_basic, unless'),
        });
      }
    });
  });

  describe('assertions', () => {
    const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

    describe('by default', () => {
      const service = serviceForSuite();

      it('are unknown parameters, which are ignored', async () => {
        const assertion = { client_assertion: 'x', client_assertion_type: TYPE };
        const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET, ...assertion };
        expect((await requestToken(service().url, form)).status).toBe(200);
        const alone = await requestToken(service().url, { ...GRANT, ...assertion });
        const error_description =
          'this server accepts no other client authentication than client_secret_post, unless its operator adds it to CLIENT_AUTHENTICATION_METHODS';
        expect([alone.status, alone.json()]).toEqual([401, { error: 'invalid_client', error_description }]);
        expect(logLineOf(service(), alone)).toMatchObject({ reason: 'method_unsupported' });
      });
    });

    describe('with a method for assertions', () => {
      const service = serviceForSuite({
        environment: { CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt' },
      });
      const malformed = { client_assertion: 'x', client_assertion_type: TYPE };

      it.each([
        ['a malformed one', malformed, 401, 'assertion_malformed'],
        [
          'one of an unknown type',
          { ...malformed, client_assertion_type: `${TYPE}2` },
          401,
          'assertion_type_unsupported',
        ],
        ['one without its type', { client_assertion: 'x' }, 400, 'assertion_incomplete'],
        ['a type without an assertion', { client_assertion_type: TYPE }, 400, 'assertion_incomplete'],
        ['one beside a secret', { ...malformed, client_secret: 'bad-secret' }, 400, 'credentials_repeated'],
      ])('are refused: %s', async (_case, form, status, reason) => {
        const response = await requestToken(service().url, { ...GRANT, ...form } as FormFields);
        expect(response.status).toBe(status);
        expect(logLineOf(service(), response)).toMatchObject({ reason });
        const error_description = expect.stringMatching(
          /^(client_assertion_type must be|the assertion is malformed:) /,
        );
        if (status === 401) expect(response.json()).toEqual({ error: 'invalid_client', error_description });
      });

      it.each([
        ['an assertion', malformed, 'credentials_repeated'],
        ['a part of one', { client_assertion: 'x' }, 'credentials_repeated'],
        ['a secret', { client_id: 'good-client', client_secret: GOOD_SECRET }, 'authorization_beside_body'],
      ])('a header of a scheme that is off is refused beside %s in the body', async (_case, form, reason) => {
        for (const authorization of [credentials('good-client', GOOD_SECRET), 'Bearer x']) {
          const response = await post(service().url, authorization, { ...GRANT, ...form } as FormFields);
          expect([response.status, response.json()['error']]).toEqual([400, 'invalid_request']);
          expect(logLineOf(service(), response)).toMatchObject({ reason });
        }
      });

      it('are refused in the query string', async () => {
        const response = await send(service().url, '/oauth2/token?client_assertion=x', { method: 'POST' });
        expect([response.status, response.json()['error']]).toEqual([400, 'invalid_request']);
      });
    });

    describe('as the only method', () => {
      const service = serviceForSuite({ environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt' } });

      it('a header beside a secret in the body is refused, without the advice to use the body', async () => {
        const form = { ...GRANT, client_id: 'good-client', client_secret: GOOD_SECRET };
        const response = await post(service().url, 'Bearer x', form);
        expect(response.status).toBe(400);
        expect(response.json()).toEqual({
          error: 'invalid_request',
          error_description: 'authenticate in one way only',
        });
      });
    });
  });
});

describe('the log of token requests', () => {
  const SECRET = 'sent-in-the-wrong-place-secret';
  const GOOD = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

  // When the suite has ended, serviceForSuite searches the log for secrets and tokens. Each case puts them in an
  // unexpected place.
  describe('secrets and tokens appear in no log and no response, wherever they are sent', () => {
    const service = serviceForSuite();

    it.each([
      ['the path', { path: `/${SECRET}` }],
      ['the path of a route', { path: `/v1/locations/${SECRET}` }],
      ['the query string', { path: `/oauth2/token?client_secret=${SECRET}` }],
      ['the query string of another path', { path: `/v1/locations/NYC_USA?access_token=${SECRET}` }],
      ['client_id', { form: { ...GOOD, client_id: SECRET } }],
      ['the name of a parameter', { form: { ...GOOD, [SECRET]: '1' } }],
      ['grant_type', { form: { ...GOOD, grant_type: SECRET } }],
      ['scope', { form: { ...GOOD, client_secret: SECRET, scope: SECRET } }],
      ['a malformed scope', { form: { ...GOOD, client_secret: SECRET, scope: `"${SECRET}` } }],
      ['a malformed resource', { form: { ...GOOD, client_secret: SECRET, resource: `"${SECRET}` } }],
      ['the Content-Type', { headers: { 'content-type': SECRET } }],
      ['the Content-Encoding', { headers: { 'content-encoding': SECRET } }],
      ['the Authorization scheme', { headers: { authorization: SECRET } }],
      ['Authorization', { headers: { authorization: `Basic ${SECRET}` } }],
      ['a cookie', { headers: { cookie: SECRET } }],
      ['the request id', { headers: { 'x-request-id': SECRET } }],
      ['the User-Agent', { headers: { 'user-agent': SECRET } }],
      ['X-Forwarded-For', { headers: { 'x-forwarded-for': SECRET } }],
    ])(
      '%s',
      async (_name, {
        path,
        form,
        headers,
      }: { path?: string; form?: Record<string, string>; headers?: Record<string, string> }) => {
        const response =
          path === undefined
            ? await requestToken(service().url, form ?? { ...GOOD, client_secret: 'wrong-secret' }, headers)
            : await send(service().url, path, { method: 'POST' });
        expect(response.text).not.toContain(SECRET);
        expect(response.headers['x-request-id']).not.toBe(SECRET);
        logLineOf(service(), response);
      },
    );

    it('a method', async () => {
      expect(await sendRaw(service().port, `${SECRET} / HTTP/1.1\r\nHost: x\r\n\r\n`)).not.toContain(SECRET);
    });

    it('a token, as the path and after Bearer', async () => {
      const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
      await send(service().url, `/${token}`);
      await send(service().url, '/', { headers: { authorization: `Bearer ${token}` } });
      await send(service().url, '/', { headers: { authorization: `Bearer ${token}x` } });
    });
  });

  describe('a fault that has the secret in its fields', () => {
    const service = serviceForSuite({
      override: (container) => {
        const find = () =>
          Promise.reject(Object.assign(new Error('query failed'), { parameters: [SECRET], query: SECRET }));
        container.registerInstance(PARTS.clientRepository, secretsOnly({ findByClientId: find, findSecret: find }));
      },
    });

    it('is logged without them', async () => {
      const response = await requestToken(service().url, GOOD);
      expect(logLineOf(service(), response)).toMatchObject({ fault: { message: 'query failed' } });
    });
  });
});

describe('the audit log of token requests', () => {
  const GOOD = { grant_type: 'client_credentials', client_id: 'good-client', client_secret: GOOD_SECRET };

  type Service = ReturnType<ReturnType<typeof serviceForSuite>>;

  /** The audit lines with the response's request id, without what differs each time. */
  function auditLinesOf(service: Service, { headers }: { readonly headers: Record<string, unknown> }) {
    return service
      .logLines()
      .filter((line) => line['log'] === 'audit' && line['request_id'] === headers['x-request-id'])
      .map(({ log: _log, level: _level, time: _time, at: _at, request_id: _id, ...rest }) => rest);
  }

  const FROM = { remote_address: '127.0.0.1' };

  describe('each token request is in the audit log exactly once', () => {
    const service = serviceForSuite();

    it('when it gets a token', async () => {
      const response = await requestToken(service().url, { ...GOOD, scope: 'read' });
      expect(response.status).toBe(200);
      expect(auditLinesOf(service(), response)).toEqual([
        {
          event: 'token_issued',
          client_id: 'good-client',
          token_id: expect.any(String),
          scope: 'read',
          expires_at: expect.any(Number),
          ...FROM,
        },
      ]);
    });

    // tests/hostile expects one line with its reason for each refused token request.
    it('when it has no Host', async () => {
      const raw = await sendRaw(service().port, 'POST /oauth2/token HTTP/1.1\r\nContent-Length: 0\r\n\r\n');
      const headers = { 'x-request-id': /X-Request-Id: (\S+)/i.exec(raw)?.[1] };
      expect(auditLinesOf(service(), { headers })).toEqual([
        { event: 'token_refused', reason: 'host_malformed', ...FROM },
      ]);
    });

    it('when its client disconnects before the end of its body', async () => {
      const count = () =>
        service()
          .logText()
          .match(/"event":"token_refused".*"reason":"client_disconnected"/g)?.length ?? 0;
      const socket = connect(service().port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(
        'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\ngrant',
      );
      await until(() => service().built.publicServer.load.connections > 0, 'the connection is open');
      socket.destroy();
      await until(() => count() === 1, 'the request is recorded');
    });

    it('and no other request is', async () => {
      const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
      const answers = [
        await send(service().url, '/oauth2/token'),
        await send(service().url, '/oauth2/token/', { method: 'POST' }),
        await send(service().url, '/v1/locations/NYC_USA'),
        await send(service().url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}x` } }),
        await send(service().url, '/none', { headers: { authorization: `Bearer ${token}` } }),
      ];
      for (const response of answers) expect(auditLinesOf(service(), response)).toEqual([]);
    });
  });

  describe('a token request that the service could not decide', () => {
    const fails = (fault: Error) => ({
      findByClientId: () => Promise.reject(fault),
      findSecret: () => Promise.reject(fault),
    });

    describe('because of a bug', () => {
      const service = serviceForSuite({
        override: (container) =>
          container.registerInstance(PARTS.clientRepository, secretsOnly(fails(new Error('a bug')))),
      });
      it('is recorded once', async () => {
        const response = await requestToken(service().url, GOOD);
        expect(response.status).toBe(500);
        expect(auditLinesOf(service(), response)).toEqual([{ event: 'token_refused', reason: 'unforeseen', ...FROM }]);
      });
    });

    describe('because of too much load', () => {
      const service = serviceForSuite({
        override: (container) =>
          container.registerInstance(
            PARTS.loadLimit,
            new LoadLimit({ inFlight: 0, inFlightWhenLate: 0, lateMs: Number.POSITIVE_INFINITY }),
          ),
      });
      it('is recorded once', async () => {
        const response = await requestToken(service().url, GOOD);
        expect(response.status).toBe(503);
        expect(auditLinesOf(service(), response)).toEqual([{ event: 'token_refused', reason: 'overloaded', ...FROM }]);
      });
    });

    describe('because of too many failed attempts', () => {
      const service = serviceForSuite({ environment: { CLIENT_FAILURES_PER_MINUTE: '1' } });
      it('is recorded once', async () => {
        const attempts = Array.from({ length: 20 }, () =>
          requestToken(service().url, { ...GOOD, client_id: 'nobody', client_secret: 'wrong-secret' }),
        );
        const slow = (await Promise.all(attempts)).filter(({ status }) => status === 429);
        expect(slow.length).toBeGreaterThan(0);
        for (const response of slow) {
          expect(auditLinesOf(service(), response)).toEqual([
            { event: 'token_refused', reason: 'attempts_exhausted', ...FROM },
          ]);
        }
      });
    });

    describe('because its line cannot be written', () => {
      const lost: AuditEvent[] = [];
      const auditLog: AuditLog = {
        async record(event) {
          if (event.event.startsWith('key_')) return;
          lost.push(event);
          throw new DependencyUnavailable('audit log', new Error('no space left'));
        },
      };
      const service = serviceForSuite({
        override: (container) => container.registerInstance(PARTS.auditLog, auditLog),
      });

      it.each([
        ['a token', GOOD, 503],
        ['a wrong secret', { ...GOOD, client_secret: 'wrong-secret' }, 503],
        ['a malformed request', { grant_type: 'password' }, 400],
      ])('is lost once: %s', async (_case, form, status) => {
        lost.length = 0;
        const response = await requestToken(service().url, form);
        expect(response.status).toBe(status);
        expect(lost).toHaveLength(1);
      });
    });
  });
});
