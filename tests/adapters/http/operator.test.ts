import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chart } from '../../../adapters/http/status-page/chart.ts';
import { html, timeOf, withCode } from '../../../adapters/http/status-page/html.ts';
import { MINUTES_MAX, MinuteHistory } from '../../../adapters/http/status-page/minute-history.ts';
import {
  CLIENTS_MAX,
  RECORDS_OF_A_REASON,
  RefusalRecords,
} from '../../../adapters/http/status-page/refusal-records.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { RequestLine } from '../../../application/ports/telemetry.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freePort } from '../../support/free-port.ts';
import { getAccessToken, send, sendRaw } from '../../support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { asOperator, startServiceForOperator } from '../../support/status.ts';

describe('operator access', () => {
  const TOKEN = 'an-operator-token-of-32-chars+/==';
  const CHALLENGES = 'Basic realm="management", charset="UTF-8", Bearer realm="management"';

  const basic = (password: string, user = 'anyone') => ({
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  });
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

  describe('the operator', () => {
    let service: ServiceUnderTest;
    let managementPort: number;
    let url: string;
    beforeAll(async () => {
      managementPort = await freePort();
      url = `http://127.0.0.1:${managementPort}`;
      service = await startServiceUnderTest({
        environment: { MANAGEMENT_PORT: String(managementPort), MANAGEMENT_TOKEN: TOKEN },
      });
    });
    afterAll(async () => service.stop());

    const get = (headers: Readonly<Record<string, string | string[]>>, path = '/status') =>
      send(url, path, { headers });

    it.each([
      ['as a bearer token', bearer(TOKEN)],
      ['as the password of any user', basic(TOKEN)],
      ['as the password of no user', basic(TOKEN, '')],
      ['with a scheme in other letters', { Authorization: `bEARER ${TOKEN}` }],
    ])('gets the status with the token %s', async (_how, headers) => {
      const response = await get(headers);
      expect(response.status).toBe(200);
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.headers['x-content-type-options']).toBe('nosniff');
    });

    it.each([
      ['no token', {}],
      ['a wrong token', bearer('an-operator-token-of-32-chars+/=-')],
      ['a longer token', bearer(`${TOKEN}=`)],
      ['the begin of the token', bearer(TOKEN.slice(0, -1))],
      ['a wrong password', basic('wrong')],
      ['the token as the user', basic('', TOKEN)],
      ['a password without a colon', { Authorization: `Basic ${Buffer.from('wrong').toString('base64')}` }],
      ['the token in an unknown scheme', { Authorization: `Digest ${TOKEN}` }],
    ])('is asked for the token: %s', async (_what, headers) => {
      const response = await get(headers);
      expect(response.status).toBe(401);
      expect(response.json()).toEqual({ error: 'unauthorized' });
      expect(response.headers['www-authenticate']).toBe(CHALLENGES);
    });

    it('learns that a path does not exist, and is asked for the token before', async () => {
      for (const path of ['/stat', '/status/', '/metric']) {
        const found = await get(basic(TOKEN), path);
        expect([found.status, found.json()]).toEqual([404, { error: 'not_found' }]);
        const asked = await get({}, path);
        expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, CHALLENGES]);
      }
    });

    it('is led from / to the page, once the token is there', async () => {
      const found = await get(basic(TOKEN), '/');
      expect([found.status, found.headers.location]).toEqual([302, '/status']);
      expect((await get(basic(TOKEN), found.headers.location)).status).toBe(200);
      const asked = await get({}, '/');
      expect([asked.status, asked.headers['www-authenticate']]).toEqual([401, CHALLENGES]);
    });

    it('gets two challenges in two header lines', async () => {
      const response = await sendRaw(
        managementPort,
        'GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      );
      expect(response.match(/^WWW-Authenticate: .*$/gm)).toHaveLength(2);
    });

    it('is no client: an access token opens nothing here, and the operator token nothing on the public port', async () => {
      const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
      expect((await get(bearer(token))).status).toBe(401);
      expect((await send(service.url, '/v1/locations/NYC_USA', { headers: bearer(TOKEN) })).status).toBe(401);
      expect((await send(service.url, '/status', { headers: bearer(TOKEN) })).status).toBe(401);
    });

    it('sends one header only', async () => {
      const response = await get({ Authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] });
      expect(response.status).toBe(400);
    });

    it('may read and change nothing', async () => {
      const response = await send(url, '/status', { method: 'POST', headers: bearer(TOKEN) });
      expect(response.status).toBe(405);
      expect(response.headers['allow']).toBe('GET, HEAD');
    });

    it('leaves health and metrics open', async () => {
      for (const path of ['/livez', '/readyz', '/metrics']) expect((await send(url, path)).status).toBe(200);
    });

    it('gets the description of the public port, which needs the token', async () => {
      const response = await get(bearer(TOKEN), '/openapi.json');
      expect(response.json()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), servers: [{ url: ISSUER }] });
      expect((await get({}, '/openapi.json')).status).toBe(401);
    });

    it('has a token that is in no log', () => {
      expect(service.logText()).not.toContain('an-operator-token');
    });
  });

  describe('without MANAGEMENT_TOKEN', () => {
    it('the status does not exist, and nothing is kept for it', async () => {
      const port = await freePort();
      const environment = { MANAGEMENT_PORT: String(port) };
      await using service = await startServiceUnderTest({ environment });
      await send(service.url, '/nowhere');
      for (const path of ['/status', '/status?request=1']) {
        const response = await send(`http://127.0.0.1:${port}`, path);
        expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      }
      const { text } = await send(`http://127.0.0.1:${port}`, '/metrics');
      expect(text).not.toMatch(/auth_refusal_records|auth_status_minutes/);
    });
  });
});

describe('the status page', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator());
  });
  afterAll(async () => service.stop());

  it('carries a strict policy and its type, is not stored, and loads nothing', async () => {
    const { headers, text } = await asOperator(url, '/status');
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers).toMatchObject({
      'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`,
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(text).not.toMatch(/<script|<link|<img|\ssrc=|\sstyle=|\son[a-z]+=|javascript:/i);
  });

  it('reloads itself, but not while it shows a look-up', async () => {
    expect((await asOperator(url, '/status')).headers['refresh']).toBe('30');
    expect((await asOperator(url, '/status?request=&client=')).headers['refresh']).toBe('30');
    for (const query of ['?request=1', '?client=a']) {
      expect((await asOperator(url, `/status${query}`)).headers['refresh']).toBeUndefined();
    }
  });

  it('shows what was entered as text', async () => {
    for (const query of ['?client=', '?request=']) {
      const text = (await asOperator(url, `/status${query}${encodeURIComponent(`"><script>alert('&')</script>`)}`))
        .text;
      expect(text).toContain('value="&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"');
      expect(text).not.toContain('<script');
    }
  });

  it('is not on the public port, and does not exist without MANAGEMENT_TOKEN', async () => {
    const port = await freePort();
    await using without = await startServiceUnderTest({ environment: { MANAGEMENT_PORT: String(port) } });
    for (const elsewhere of [service.url, without.url, `http://127.0.0.1:${port}`]) {
      expect((await asOperator(elsewhere, '/status')).status).toBe(401);
    }
  });
});

describe('a page', () => {
  it('has every value as text, but for parts that are HTML', () => {
    expect(html`<p title="${'"'}">${'<&>'}${7}${undefined}${[html`<b>${"'"}</b>`, html``]}</p>`.text).toBe(
      '<p title="&quot;">&lt;&amp;&gt;7<b>&#39;</b></p>',
    );
    expect(withCode('run `a <b>` & more').text).toBe('run <code>a &lt;b&gt;</code> &amp; more');
    expect([timeOf(1_795_223_405).text, timeOf(null).text]).toEqual([
      '<time datetime="2026-11-21T01:10:05.000Z">2026-11-21 01:10:05</time>',
      '–',
    ]);
  });

  it('has a chart with its figures in words and as a table, and no line across a gap', () => {
    const minute = (index: number, p50: number | null) => ({
      at: index * 60,
      tokens: 1,
      refusals: index,
      p50,
      p99: null,
    });
    const minutes = [minute(1, 2), minute(2, 4), minute(3, null), minute(4, 1)];
    const { text } = chart(
      'Times',
      ' ms',
      [
        { name: 'Half', of: ({ p50 }) => p50 },
        { name: 'Most', of: ({ p99 }) => p99 },
      ],
      minutes,
    );
    expect(text).toContain(
      '<li>Half: <b>1 ms</b>, at most 4 ms in a minute</li><li>Most: <b>–</b>, at most – in a minute</li>',
    );
    expect([...text.matchAll(/<path d="([^"]*)"/g)].map(([, path]) => path)).toEqual([
      'M0.0 60.0h0L200.0 0.0M600.0 90.0h0',
      '',
    ]);
    expect([...text.matchAll(/<tr>/g)]).toHaveLength(5);
    expect(
      chart(
        'Times',
        '',
        [
          { name: 'a', of: () => 0 },
          { name: 'b', of: () => 0 },
        ],
        [],
      ).text,
    ).toContain('Nothing was counted');
    expect(
      chart(
        'Zero',
        '',
        [
          { name: 'a', of: () => 0 },
          { name: 'b', of: () => 0 },
        ],
        [minute(1, 1)],
      ).text,
    ).toContain('d="M0.0 120.0h0"');
  });
});

describe('the history of the status page', () => {
  const LINE: RequestLine = {
    ...{ request_id: 'id', method: 'POST', route: '/oauth2/token', status: 200 },
    ...{ duration_ms: 1, remote_address: '192.0.2.7' },
  };
  const REFUSED = { ...LINE, status: 401, reason: 'secret_wrong' };

  it('has tokens, refusals and times by minute, from the first one on, with nothing in a minute without a request', () => {
    const clock = new FixedClock(1_800_000_000);
    const history = new MinuteHistory(clock);
    expect(history.minutes()).toEqual([]);
    for (const duration_ms of [1, 1, 1, 50]) history.count({ ...LINE, duration_ms });
    clock.advance(120);
    for (const line of [REFUSED, { ...REFUSED, route: 'none', status: 503 }, { ...LINE, status: 302 }])
      history.count(line);
    // Strangers, and the paths of resource servers.
    for (const line of [
      { ...REFUSED, route: 'none' },
      { ...LINE, route: '/oauth2/jwks' },
    ])
      history.count(line);
    const near = (value: number) => expect.closeTo(value, value < 2 ? 0.5 : -1.5);
    expect(history.minutes()).toEqual([
      { at: 1_800_000_000, tokens: 4, refusals: 0, p50: near(1), p99: near(50) },
      { at: 1_800_000_060, tokens: 0, refusals: 0, p50: null, p99: null },
      { at: 1_800_000_120, tokens: 0, refusals: 2, p50: null, p99: null },
    ]);
  });

  it('gives a time that at most a fifth is too long, within its bounds', () => {
    for (const duration_ms of [0.1, 0.7, 3, 99, 1_234, 9_999]) {
      const history = new MinuteHistory(new FixedClock());
      history.count({ ...LINE, duration_ms });
      const p99 = history.minutes()[0]?.p99 ?? 0;
      expect(p99 / duration_ms).toBeGreaterThanOrEqual(0.999);
      expect(p99 / duration_ms).toBeLessThanOrEqual(1.2);
    }
    const history = new MinuteHistory(new FixedClock());
    for (const duration_ms of [0, 1e9]) history.count({ ...LINE, duration_ms });
    expect(history.minutes()).toMatchObject([{ tokens: 2, p50: expect.closeTo(0.1), p99: expect.any(Number) }]);
  });

  it('covers an hour, and nothing that is later than now because a clock was set back', () => {
    const clock = new FixedClock(1_800_000_000);
    const history = new MinuteHistory(clock);
    for (let minute = 0; minute < 2 * MINUTES_MAX; minute += 1) {
      history.count(LINE);
      clock.advance(60);
    }
    expect(history.size).toBe(MINUTES_MAX);
    expect(history.minutes()).toHaveLength(MINUTES_MAX);
    clock.advance(-30 * 60);
    history.count(REFUSED);
    expect(history.minutes().at(-1)).toMatchObject({ refusals: 1 });
    expect(history.size).toBeLessThanOrEqual(MINUTES_MAX / 2 + 1);
    clock.advance(10 * 3_600);
    expect(history.minutes()).toEqual([]);
  });
});

describe('the records of refusals', () => {
  const LINE: RequestLine = {
    request_id: 'id-0',
    method: 'POST',
    route: '/oauth2/token',
    status: 401,
    duration_ms: 12.5,
    remote_address: '192.0.2.7',
    error: 'invalid_client',
    reason: 'secret_wrong',
  };

  it('have what the log line has, and when it was', () => {
    const records = new RefusalRecords(new FixedClock(1_800_000_000));
    records.add({ ...LINE, client_id: 'good-client' });
    expect(records.find({ requestId: 'id-0' })).toEqual([
      {
        request_id: 'id-0',
        at: 1_800_000_000,
        status: 401,
        error: 'invalid_client',
        reason: 'secret_wrong',
        route: '/oauth2/token',
        method: 'POST',
        remote_address: '192.0.2.7',
        client_id: 'good-client',
        duration_seconds: 0.0125,
      },
    ]);
  });

  it('name what was unavailable, and nothing else of a fault', () => {
    const records = new RefusalRecords(new FixedClock());
    const fault = new DependencyUnavailable('client repository', new Error('its cause'));
    records.add({ ...LINE, reason: 'dependency_unavailable', fault });
    const found = records.find({ requestId: 'id-0' });
    expect(found).toMatchObject([{ dependency: 'client repository' }]);
    expect(JSON.stringify(found)).not.toContain('its cause');
  });

  it('are of refused requests only', () => {
    const records = new RefusalRecords(new FixedClock());
    const { reason: _, ...answered } = LINE;
    records.add({ ...answered, status: 200 });
    expect(records.size).toBe(0);
    expect(records.find({ requestId: 'id-0' })).toEqual([]);
  });

  it('are 256 for each reason, so that a flood of one evicts no record of another', () => {
    const records = new RefusalRecords(new FixedClock());
    records.add({ ...LINE, request_id: 'of another reason', reason: 'scope_malformed' });
    for (let number = 0; number < 3 * RECORDS_OF_A_REASON + 7; number += 1) {
      records.add({ ...LINE, request_id: `flood-${number}` });
    }
    expect(records.size).toBe(RECORDS_OF_A_REASON + 1);
    const isKept = (requestId: string) => records.find({ requestId }).length === 1;
    expect(isKept('of another reason')).toBe(true);
    const [oldest, newest] = [2 * RECORDS_OF_A_REASON + 7, 3 * RECORDS_OF_A_REASON + 6];
    expect([oldest - 1, oldest, newest].map((number) => isKept(`flood-${number}`))).toEqual([false, true, true]);
  });

  it('are 5 for each registered client, the latest first, also when a flood has evicted them elsewhere', () => {
    const records = new RefusalRecords(new FixedClock());
    const add = (number: number) => records.add({ ...LINE, request_id: `own-${number}`, client_id: 'good-client' });
    for (let number = 1; number <= 4; number += 1) add(number);
    const own = () => records.find({ clientId: 'good-client' }).map(({ request_id: id }) => id);
    expect(own()).toEqual(['own-4', 'own-3', 'own-2', 'own-1']);
    for (let number = 5; number <= 13; number += 1) add(number);
    for (let number = 0; number < 300; number += 1) records.add({ ...LINE, request_id: `flood-${number}` });
    expect(own()).toEqual(['own-13', 'own-12', 'own-11', 'own-10', 'own-9']);
    expect(records.find({ requestId: 'own-9' })).toHaveLength(1);
    expect(records.find({ requestId: 'own-8' })).toHaveLength(0);
  });

  it('are of 1,000 clients, of which the one that was refused least recently is evicted', () => {
    const records = new RefusalRecords(new FixedClock());
    const refuse = (clientId: string) => records.add({ ...LINE, client_id: clientId });
    refuse('first');
    refuse('second');
    refuse('first');
    for (let number = 3; number <= CLIENTS_MAX; number += 1) refuse(`client-${number}`);
    refuse('one too many');
    expect(records.clients).toBe(CLIENTS_MAX);
    expect(records.find({ clientId: 'second' })).toEqual([]);
    expect(records.find({ clientId: 'first' })).toHaveLength(2);
    const latest = records.find({ latestClients: 2 });
    expect(latest.map(({ client_id: id }) => id)).toEqual(['one too many', `client-${CLIENTS_MAX}`]);
  });
});
