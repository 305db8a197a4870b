import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type IssuerKeySetEvent,
  IssuerKeySets,
  type IssuerKeySetsOptions,
} from '../../../adapters/http-client/federated-jwt/issuer-key-sets.ts';
import { readIssuersFile } from '../../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { IssuerKeySet } from '../../../application/ports/issuer-keys.ts';
import { CertificateAuthority } from '../../support/certificates.ts';
import { KeySetServer, keySetResponse } from '../../support/key-set-server.ts';
import { until } from '../../support/until.ts';
import { WorkloadKey } from '../../support/workload-issuer.ts';

describe('key sets of issuers', () => {
  const OLD = new WorkloadKey('old').jwk();
  const NEW = new WorkloadKey('new').jwk();
  const ISSUER = 'https://issuer.test';

  describe('key sets of trusted issuers', () => {
    let events: IssuerKeySetEvent[] = [];
    let latest: IssuerKeySets | undefined;
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
      events = [];
      latest = undefined;
    });
    const closing: (() => Promise<unknown>)[] = [];
    let started = Promise.resolve();

    async function serve(...keys: readonly unknown[]): Promise<KeySetServer> {
      const server = await KeySetServer.start(keySetResponse({ keys }));
      closing.push(() => server[Symbol.asyncDispose]());
      return server;
    }

    function start(uri: string, options: Partial<IssuerKeySetsOptions> = {}): IssuerKeySets {
      const source = { issuer: ISSUER, algorithms: ['RS256'] as const, preset: 'none' as const, source: { uri } };
      const sets = new IssuerKeySets([source], {
        timeoutMs: 5_000,
        refreshMs: 20,
        staleMs: 60_000,
        log: (event) => events.push(event),
        ...options,
      });
      latest = sets;
      closing.unshift(() => sets.close());
      started = sets.start();
      return sets;
    }

    /** The key set of the issuer now; undefined without one. */
    function keySet(): IssuerKeySet | undefined {
      try {
        return latest?.keysOf(ISSUER);
      } catch (fault) {
        expect(fault).toBeInstanceOf(DependencyUnavailable);
        return undefined;
      }
    }

    const kids = () => keySet()?.keys.map(({ kid }) => kid);

    test('are fetched at startup, and again in the background', async () => {
      const server = await serve(OLD);
      const sets = start(server.url);
      await until(() => kids() !== undefined, 'the set is fetched');
      expect(kids()).toEqual(['old']);
      server.answer = keySetResponse({ keys: [OLD, NEW] });
      await until(() => kids()?.length === 2, 'the new key is found');
      expect(sets.counts()).toEqual({ current: 1, stale: 0, absent: 0 });
      expect(events).toEqual([{ event: 'key_set_available', issuer: ISSUER, keys: 1 }]);
    });

    test('are there when the start is over, or the attempt to fetch them has failed', async () => {
      const server = await serve(OLD);
      start(server.url);
      await started;
      expect(kids()).toEqual(['old']);
      start('http://127.0.0.1:1/nothing-listens-here');
      await started;
      expect(events.at(-1)).toMatchObject({ event: 'key_set_unavailable' });
    });

    test('stay in use while the issuer is down, and are marked', async () => {
      const server = await serve(OLD);
      const sets = start(server.url);
      await until(() => kids() !== undefined, 'the set is fetched');
      await server.leave();
      await until(() => keySet()?.current === false, 'the fault is noticed');
      expect(kids()).toEqual(['old']);
      expect(sets.readiness()).toMatchObject({
        ready: true,
        note: { text: `1 not current: that of ${ISSUER} cannot be fetched (ECONNREFUSED)` },
      });
      await server.comeBack();
      await until(() => keySet()?.current === true, 'the set is fetched again');
      expect(events.map(({ event }) => event)).toEqual([
        'key_set_available',
        'key_set_unavailable',
        'key_set_available',
      ]);
    });

    test('of a server whose authority is unknown say how to trust it', async () => {
      using authority = new CertificateAuthority();
      const { certificate, key } = authority.issue('IP:127.0.0.1');
      const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const sets = start(`https://127.0.0.1:${port}/keys`);
      await started;
      server.close();
      const fix =
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE: give its certificate authority to the service as NODE_EXTRA_CA_CERTS';
      expect(sets.readiness()).toMatchObject({
        note: { text: `1 missing: that of ${ISSUER} cannot be fetched (${fix})` },
      });
      expect(events).toMatchObject([{ event: 'key_set_unavailable', fault: { message: fix } }]);
    });

    test('are used for as long as the limit says after the last success, and not a moment longer', async () => {
      const time = { ms: 1_000_000 };
      const server = await serve(OLD);
      const sets = start(server.url, { staleMs: 1_000, now: () => time.ms });
      await until(() => kids() !== undefined, 'the set is fetched');
      server.answer = { kind: 'text', text: '', status: 500 };
      await until(() => keySet()?.current === false, 'the fault is noticed');
      const twoAttempts = async () => {
        const before = server.questions;
        await until(() => server.questions >= before + 2, 'one attempt has failed at this time');
      };
      time.ms += 1_000;
      await twoAttempts();
      expect(kids()).toEqual(['old']);
      expect(sets.counts()).toEqual({ current: 0, stale: 1, absent: 0 });
      time.ms += 1;
      await twoAttempts();
      expect(kids()).toBeUndefined();
      expect(sets.counts()).toEqual({ current: 0, stale: 0, absent: 1 });
      expect(events.map(({ event }) => event)).toEqual(['key_set_available', 'key_set_unavailable', 'key_set_expired']);
    });

    test('that were dropped are used again after the next success, and its time counts from then', async () => {
      const time = { ms: 1_000_000 };
      const server = await serve(OLD);
      start(server.url, { staleMs: 1_000, now: () => time.ms });
      await until(() => kids() !== undefined, 'the set is fetched');
      server.answer = { kind: 'text', text: '', status: 500 };
      await until(() => keySet()?.current === false, 'the fault is noticed');
      time.ms += 1_001;
      await until(() => kids() === undefined, 'the set is dropped');
      server.answer = keySetResponse({ keys: [OLD] });
      await until(() => keySet()?.current === true, 'the set is fetched again');
      time.ms += 1_000;
      server.answer = { kind: 'text', text: '', status: 500 };
      await until(() => keySet()?.current === false, 'the fault is noticed');
      expect(kids()).toEqual(['old']);
    });

    test('of several issuers are counted by what they are, in the note of the readiness too', async () => {
      const good = await serve(OLD);
      const broken = await serve(OLD);
      const none = await serve();
      none.answer = { kind: 'text', text: '', status: 404 };
      const source = (issuer: string, uri: string) =>
        ({ issuer, algorithms: ['RS256'], preset: 'none', source: { uri } }) as const;
      const sets = new IssuerKeySets(
        [source('good', good.url), source('broken', broken.url), source('none', none.url)],
        {
          timeoutMs: 5_000,
          refreshMs: 20,
          staleMs: 60_000,
          log: (event) => events.push(event),
        },
      );
      closing.unshift(() => sets.close());
      expect(sets.readiness()).toMatchObject({ ready: true, note: { text: '3 missing' } });
      void sets.start();
      await until(() => sets.counts().current === 2 && events.length === 3, 'two sets are fetched, and one cannot be');
      broken.answer = { kind: 'text', text: '', status: 500 };
      await until(() => sets.counts().stale === 1, 'the fault of one is noticed');
      expect(sets.counts()).toEqual({ current: 1, stale: 1, absent: 1 });
      const text =
        '1 missing, 1 not current: that of none cannot be fetched (the key set was answered with status 404)';
      expect(sets.readiness()).toMatchObject({ ready: true, note: { text } });
      expect(['good', 'broken'].map((issuer) => sets.keysOf(issuer).current)).toEqual([true, false]);
      expect(() => sets.keysOf('none')).toThrow(DependencyUnavailable);
      none.answer = keySetResponse({ keys: [NEW] });
      broken.answer = keySetResponse({ keys: [OLD] });
      await until(() => sets.counts().current === 3, 'all are fetched');
      expect(sets.readiness()).toEqual({ ready: true });
    });

    test('report a fault once, and that the issuer is back', async () => {
      const server = await serve(OLD);
      start(server.url);
      await until(() => kids() !== undefined, 'the set is fetched');
      server.answer = { kind: 'text', text: '', status: 500 };
      const failed = server.questions;
      await until(() => server.questions > failed + 3, 'several attempts have failed');
      server.answer = keySetResponse({ keys: [OLD] });
      await until(() => keySet()?.current === true, 'the set is fetched again');
      expect(events.map(({ event }) => event)).toEqual([
        'key_set_available',
        'key_set_unavailable',
        'key_set_available',
      ]);
    });

    test('are dropped when they are stale', async () => {
      const server = await serve(OLD);
      const sets = start(server.url, { staleMs: 0 });
      await until(() => kids() !== undefined, 'the set is fetched');
      server.answer = { kind: 'text', text: '', status: 500 };
      await until(() => kids() === undefined, 'the set is dropped');
      expect(sets.readiness()).toMatchObject({
        ready: true,
        note: { text: expect.stringMatching(/^1 missing: that of .*status 500\)$/) },
      });
      expect(events.at(-1)).toEqual({ event: 'key_set_expired', issuer: ISSUER });
    });

    test.each([
      ['does not answer', { kind: 'silent' }],
      ['sends half a set', { kind: 'half', text: '{"keys":[' }],
      ['answers with an error', { kind: 'text', text: '{}', status: 500 }],
      ['answers with HTML', { kind: 'text', text: '<html>secret</html>' }],
      ['answers with an empty set', keySetResponse({ keys: [] })],
      ['answers with keys for other algorithms', keySetResponse({ keys: [new WorkloadKey('x', 'ES256').jwk()] })],
      ['answers with private keys', keySetResponse({ keys: [{ ...OLD, d: 'AAAA' }] })],
      [
        'answers with more than 256 KiB',
        { kind: 'text', text: JSON.stringify({ keys: [OLD], x: 'x'.repeat(300_000) }) },
      ],
      ['redirects', { kind: 'text', text: '', status: 302, headers: { location: '/other' } }],
      [
        'redirects for ever',
        { kind: 'text', text: JSON.stringify({ keys: [OLD] }), status: 308, headers: { location: '/keys' } },
      ],
    ] as const)('are missing while the issuer %s, and found once it is repaired', async (_what, answer) => {
      const server = await serve();
      server.answer = answer;
      const sets = start(server.url, { timeoutMs: 200 });
      await until(() => events.length > 0, 'the fault is logged');
      expect(events).toMatchObject([{ event: 'key_set_unavailable', issuer: ISSUER }]);
      expect(String(events[0] && 'fault' in events[0] && events[0].fault)).not.toContain('secret');
      expect(sets.counts()).toEqual({ current: 0, stale: 0, absent: 1 });
      server.answer = keySetResponse({ keys: [OLD] });
      await until(() => kids() !== undefined, 'the set is fetched');
      expect(events.at(-1)).toEqual({ event: 'key_set_available', issuer: ISSUER, keys: 1 });
    });

    test('are asked for no faster than the interval, also while the issuer is down', async () => {
      const server = await serve();
      server.answer = { kind: 'text', text: '', status: 500 };
      const sets = start(server.url, { refreshMs: 60_000 });
      await until(() => server.questions === 2, 'the second attempt');
      const begin = performance.now();
      await until(() => server.questions === 3, 'the third attempt');
      // The second waits one second, the third two.
      expect(performance.now() - begin).toBeGreaterThan(1_500);
      await sets.close();
    });

    test('of a file are there at once, and never fetched', () => {
      const sets = new IssuerKeySets(
        [
          {
            issuer: ISSUER,
            algorithms: ['RS256'],
            preset: 'none',
            source: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB', kid: 'inline' }] },
          },
        ],
        { timeoutMs: 1, refreshMs: 1, staleMs: 1, log: () => {} },
      );
      latest = sets;
      expect(kids()).toEqual(['inline']);
      expect(sets.counts()).toEqual({ current: 1, stale: 0, absent: 0 });
    });

    test('are asked for as JWK sets', async () => {
      const server = await serve(OLD);
      start(server.url);
      await until(() => kids() !== undefined, 'the set is fetched');
      expect(server.accept).toBe('application/jwk-set+json, application/json');
    });

    test('are not fetched any more after the end', async () => {
      const server = await serve();
      server.answer = { kind: 'silent' };
      const sets = start(server.url);
      await until(() => server.questions === 1, 'the first attempt');
      await sets.close();
      await started;
      expect({ events, questions: server.questions }).toEqual({ events: [], questions: 1 });
    });
  });
});

describe('the file of issuers', () => {
  const URI = 'https://issuer.example/keys';
  const RSA = new WorkloadKey('rsa').jwk();
  const CURVE = new WorkloadKey('curve', 'ES384').jwk();

  const read = (...entries: readonly unknown[]) => readIssuersFile(JSON.stringify(entries));

  function only(...entries: readonly unknown[]) {
    const file = read(...entries);
    if (!file.ok) throw new Error(file.problem.join('\n'));
    return file.value[0];
  }

  describe('a file of trusted issuers', () => {
    test('names issuers and trust domains with their keys, and has defaults for the rest', () => {
      const file = read(
        { issuer: 'https://token.actions.githubusercontent.com', jwks_uri: URI },
        {
          issuer: 'https://cluster.example',
          jwks: { keys: [RSA] },
          audience: 'auth',
          algorithms: ['RS256'],
          preset: 'kubernetes',
        },
        { spiffe_trust_domain: 'example.org', jwks_uri: 'http://127.0.0.1:8080/bundle' },
      );
      expect(file).toMatchObject({
        ok: true,
        value: [
          {
            issuer: 'https://token.actions.githubusercontent.com',
            audience: undefined,
            algorithms: ['RS256', 'ES256', 'ES384'],
            preset: 'github-actions',
            source: { uri: URI },
          },
          {
            issuer: 'https://cluster.example',
            audience: 'auth',
            preset: 'kubernetes',
            source: { keys: [{ kid: 'rsa' }] },
          },
          { issuer: 'spiffe://example.org', preset: 'spiffe' },
        ],
      });
    });

    test('keeps only keys that can have signed an assertion', () => {
      const keys = [
        RSA,
        CURVE,
        { ...RSA, kid: 'encryption', use: 'enc' },
        { ...RSA, kid: 'twice' },
        { ...new WorkloadKey('twice').jwk() },
        new WorkloadKey('ed', 'EdDSA').jwk(),
        { kty: 'oct', k: 'AAAA', kid: 'secret' },
        null,
      ];
      const { source } = only({ issuer: 'a', jwks: { keys } }) ?? {};
      expect(source).toMatchObject({ keys: [{ kid: 'rsa' }, { kid: 'curve' }] });
      expect(source).toHaveProperty('keys.length', 2);
    });

    test('keeps different keys without an id', () => {
      const keys = [RSA, CURVE].map(({ kid, ...jwk }) => jwk);
      expect(only({ issuer: 'a', jwks: { keys } })?.source).toHaveProperty('keys.length', 2);
    });

    test.each(['http://localhost:8080/keys', 'http://[::1]/keys', 'http://127.1.2.3/keys', 'https://10.0.0.1/keys'])(
      'may name keys at %s',
      (uri) => {
        expect(only({ issuer: 'a', jwks_uri: uri })?.source).toEqual({ uri });
      },
    );

    test('may have 100 issuers', () => {
      expect(read(...Array.from({ length: 100 }, (_, n) => ({ issuer: `i${n}`, jwks_uri: URI }))).ok).toBe(true);
    });

    test('takes the keys for JWT-SVIDs from a bundle, and no others', () => {
      const keys = [
        RSA,
        { ...CURVE, kid: 'svid', use: 'jwt-svid' },
        { ...CURVE, kid: 'none', use: undefined },
        { ...CURVE, kid: 'x509', use: 'x509-svid' },
      ];
      const { source } = only({ spiffe_trust_domain: 'example.org', jwks: { keys, spiffe_sequence: 1 } }) ?? {};
      expect(source).toMatchObject({ keys: [{ kid: 'svid' }] });
      expect(source).toHaveProperty('keys.length', 1);
    });

    test.each([
      ['no array', {}, 'must be a JSON array that is not empty'],
      ['an empty array', [], 'must be a JSON array that is not empty'],
      [
        '101 issuers',
        Array.from({ length: 101 }, (_, n) => ({ issuer: `i${n}`, jwks_uri: URI })),
        'must have at most 100 issuers',
      ],
      ['a text', ['x'], 'entry 0: it must be an object'],
      ['nothing in place of an issuer', [null], 'entry 0: it must be an object'],
      ['an array in place of an issuer', [[]], 'entry 0: it must be an object'],
      ['an unknown field', [{ issuer: 'a', jwks_uri: URI, jwk_uri: URI }], /fields other than/],
      ['no issuer', [{ jwks_uri: URI }], /either issuer or spiffe_trust_domain/],
      ['two kinds of issuer', [{ issuer: 'a', spiffe_trust_domain: 'b', jwks_uri: URI }], /either issuer/],
      [
        'a trust domain as an issuer',
        [{ issuer: 'spiffe://example.org', jwks_uri: URI }],
        /named by spiffe_trust_domain/,
      ],
      [
        'a trust domain with its scheme',
        [{ spiffe_trust_domain: 'spiffe://example.org', jwks_uri: URI }],
        /such as example\.org/,
      ],
      ['an empty issuer', [{ issuer: '', jwks_uri: URI }], /issuer must be/],
      [
        'an issuer twice',
        [
          { issuer: 'a', jwks_uri: URI },
          { issuer: 'a', jwks_uri: URI },
        ],
        'entry 1: issuer is that of entry 0',
      ],
      ['no keys', [{ issuer: 'a' }], /either jwks_uri or jwks/],
      ['two sources of keys', [{ issuer: 'a', jwks_uri: URI, jwks: { keys: [RSA] } }], /either jwks_uri or jwks/],
      ['http beyond loopback', [{ issuer: 'a', jwks_uri: 'http://issuer.example/keys' }], /https/],
      [
        'http to a name that looks like loopback',
        [{ issuer: 'a', jwks_uri: 'http://127.0.0.1.evil.example/' }],
        /https/,
      ],
      ['a user in the URL', [{ issuer: 'a', jwks_uri: 'https://user:secret@issuer.example/keys' }], /without user/],
      ['only a user in the URL', [{ issuer: 'a', jwks_uri: 'https://user@issuer.example/keys' }], /without user/],
      [
        'only a password in the URL',
        [{ issuer: 'a', jwks_uri: 'https://:secret@issuer.example/keys' }],
        /without user/,
      ],
      ['a fragment in the URL', [{ issuer: 'a', jwks_uri: `${URI}#secret` }], /and fragment/],
      ['white space in the URL', [{ issuer: 'a', jwks_uri: `${URI} ` }], /https/],
      ['a URL that is no text', [{ issuer: 'a', jwks_uri: 7 }], /https/],
      ['http to an address beyond loopback', [{ issuer: 'a', jwks_uri: 'http://10.0.0.1/keys' }], /https/],
      ['a file', [{ issuer: 'a', jwks_uri: 'file:///etc/passwd' }], /https/],
      [
        'an algorithm with a shared secret',
        [{ issuer: 'a', jwks_uri: URI, algorithms: ['HS256'] }],
        /algorithms must be/,
      ],
      ['no algorithm', [{ issuer: 'a', jwks_uri: URI, algorithms: [] }], /algorithms must be/],
      ['the algorithm none', [{ issuer: 'a', jwks_uri: URI, algorithms: ['none'] }], /algorithms must be/],
      ['an unknown preset', [{ issuer: 'a', jwks_uri: URI, preset: 'github' }], /preset must be/],
      [
        'another preset for a trust domain',
        [{ spiffe_trust_domain: 'a', jwks_uri: URI, preset: 'none' }],
        /must be spiffe/,
      ],
      ['several audiences', [{ issuer: 'a', jwks_uri: URI, audience: ['a'] }], /audience must be/],
      ['no key set', [{ issuer: 'a', jwks: [RSA] }], 'entry 0: jwks must be a JWK set'],
      ['an empty key set', [{ issuer: 'a', jwks: { keys: [] } }], /must have a key for RS256 or ES256/],
      ['a key set of private keys', [{ issuer: 'a', jwks: { keys: [{ ...RSA, d: 'AAAA' }] } }], /must have a key/],
      [
        'keys for another algorithm',
        [{ issuer: 'a', jwks: { keys: [CURVE] }, algorithms: ['RS256'] }],
        /must have a key for RS256/,
      ],
      ['a bundle without keys for JWT-SVIDs', [{ spiffe_trust_domain: 'a', jwks: { keys: [RSA] } }], /use jwt-svid/],
      ['101 keys', [{ issuer: 'a', jwks: { keys: Array.from({ length: 101 }, () => RSA) } }], /at most 100 keys/],
    ])('is refused with %s', (_what, file, problem) => {
      const { ok, problem: problems } = readIssuersFile(JSON.stringify(file)) as {
        ok: boolean;
        problem: readonly string[];
      };
      expect(ok).toBe(false);
      expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
      expect(problems.join()).not.toMatch(/evil|secret|passwd|issuer\.example/);
    });

    test('that is no JSON is refused without quoting it', () => {
      expect(readIssuersFile('[{"issuer": secret}]')).toEqual({
        ok: false,
        problem: ['must be a JSON array that is not empty'],
      });
    });

    test('is refused with every problem of every entry', () => {
      const file = read({ issuer: '', jwks_uri: 'x', preset: 'x' }, { issuer: 'a' });
      expect(file.ok ? [] : file.problem).toHaveLength(4);
    });

    test('is not said to repeat an issuer that it does not name', () => {
      for (const entry of [{ jwks_uri: URI }, { issuer: 7, jwks_uri: URI }]) {
        const file = read(entry, entry);
        expect(file.ok ? [] : file.problem.join()).not.toContain('issuer is that of entry');
      }
    });
  });
});
