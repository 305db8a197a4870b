import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type IssuerKeySetEvent,
  IssuerKeySets,
  type IssuerKeySetsOptions,
} from '../../../../adapters/http-client/federated-jwt/issuer-key-sets.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import type { IssuerKeySet } from '../../../../application/ports/issuer-keys.ts';
import { KeySetServer, keySetAnswer } from '../../../support/key-set-server.ts';
import { until } from '../../../support/until.ts';
import { WorkloadKey } from '../../../support/workload-issuer.ts';

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
    const server = await KeySetServer.start(keySetAnswer({ keys }));
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

  test('are fetched at the start, and again in the background', async () => {
    const server = await serve(OLD);
    const sets = start(server.url);
    await until(() => kids() !== undefined, 'the set is fetched');
    expect(kids()).toEqual(['old']);
    server.answer = keySetAnswer({ keys: [OLD, NEW] });
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
    expect(sets.readiness()).toEqual({ ready: true, note: '1 not current' });
    await server.comeBack();
    await until(() => keySet()?.current === true, 'the set is fetched again');
    expect(events.map(({ event }) => event)).toEqual(['key_set_available', 'key_set_unavailable', 'key_set_available']);
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
    server.answer = keySetAnswer({ keys: [OLD] });
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
    const sets = new IssuerKeySets([source('good', good.url), source('broken', broken.url), source('none', none.url)], {
      timeoutMs: 5_000,
      refreshMs: 20,
      staleMs: 60_000,
      log: (event) => events.push(event),
    });
    closing.unshift(() => sets.close());
    expect(sets.readiness()).toEqual({ ready: true, note: '3 missing' });
    void sets.start();
    await until(() => sets.counts().current === 2 && events.length === 3, 'two sets are fetched, and one cannot be');
    broken.answer = { kind: 'text', text: '', status: 500 };
    await until(() => sets.counts().stale === 1, 'the fault of one is noticed');
    expect(sets.counts()).toEqual({ current: 1, stale: 1, absent: 1 });
    expect(sets.readiness()).toEqual({ ready: true, note: '1 missing, 1 not current' });
    expect(['good', 'broken'].map((issuer) => sets.keysOf(issuer).current)).toEqual([true, false]);
    expect(() => sets.keysOf('none')).toThrow(DependencyUnavailable);
    none.answer = keySetAnswer({ keys: [NEW] });
    broken.answer = keySetAnswer({ keys: [OLD] });
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
    server.answer = keySetAnswer({ keys: [OLD] });
    await until(() => keySet()?.current === true, 'the set is fetched again');
    expect(events.map(({ event }) => event)).toEqual(['key_set_available', 'key_set_unavailable', 'key_set_available']);
  });

  test('are dropped when they are stale', async () => {
    const server = await serve(OLD);
    const sets = start(server.url, { staleMs: 0 });
    await until(() => kids() !== undefined, 'the set is fetched');
    server.answer = { kind: 'text', text: '', status: 500 };
    await until(() => kids() === undefined, 'the set is dropped');
    expect(sets.readiness()).toEqual({ ready: true, note: '1 missing' });
    expect(events.at(-1)).toEqual({ event: 'key_set_expired', issuer: ISSUER });
  });

  test.each([
    ['does not answer', { kind: 'silent' }],
    ['sends half a set', { kind: 'half', text: '{"keys":[' }],
    ['answers with an error', { kind: 'text', text: '{}', status: 500 }],
    ['answers with HTML', { kind: 'text', text: '<html>secret</html>' }],
    ['answers with an empty set', keySetAnswer({ keys: [] })],
    ['answers with keys for other algorithms', keySetAnswer({ keys: [new WorkloadKey('x', 'ES256').jwk()] })],
    ['answers with private keys', keySetAnswer({ keys: [{ ...OLD, d: 'AAAA' }] })],
    ['answers with more than 256 KiB', { kind: 'text', text: JSON.stringify({ keys: [OLD], x: 'x'.repeat(300_000) }) }],
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
    server.answer = keySetAnswer({ keys: [OLD] });
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
