import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { REASONS } from '../../domain/refusal.ts';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpAnswer, requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN, readStatus } from '../support/status.ts';
import { until } from '../support/until.ts';

const WRONG_SECRET = 'a-secret-that-nobody-may-see';

/** What the tests use of an element in the page. */
interface Box {
  getBoundingClientRect(): {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
}

/** The figure of a term in a list of definitions, or of a row of a table. */
const figureOf = (page: Page, section: string, name: string) =>
  page
    .locator(`section[aria-labelledby="${section}"]`)
    .locator(`dt:text-is("${name}") + dd, tr:has(:text-is("${name}")) td:last-child`)
    .textContent();

const asText = (value: number) => new Intl.NumberFormat('en').format(value);

describe('the status page', () => {
  let browser: Browser;
  let service: ServiceUnderTest;
  let managementUrl: string;
  let page: Page;
  const refused: HttpAnswer[] = [];

  const open = async (options: BrowserContextOptions = {}, hash = '') => {
    page = await openStatusPage(browser, `${managementUrl}/status${hash}`, OPERATOR_TOKEN, options);
    return page;
  };
  const requestIdOf = (index: number) => String(refused[index]?.headers['x-request-id']);

  beforeAll(async () => {
    const managementPort = await freePort();
    managementUrl = `http://127.0.0.1:${managementPort}`;
    service = await startServiceUnderTest({
      environment: { MANAGEMENT_PORT: String(managementPort), MANAGEMENT_TOKEN: OPERATOR_TOKEN },
    });
    browser = await startChromium();
    const form = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    for (const scope of ['read', 'write', 'read write']) await requestToken(service.url, { ...form, scope });
    refused.push(await requestToken(service.url, { ...form, client_secret: WRONG_SECRET }));
    refused.push(await requestToken(service.url, { ...form, client_id: WRONG_SECRET }));
    refused.push(await requestToken(service.url, { ...form, scope: 'admin' }));
  });
  afterEach(async () => page?.context().close());
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  it('is not shown without the token', async () => {
    const context = await browser.newContext();
    page = await context.newPage();
    const answer = await page.goto(`${managementUrl}/status`).catch(() => undefined);
    expect(answer?.status() ?? 401).toBe(401);
    expect(await page.locator('main').count()).toBe(0);
  });

  it('loads everything from its own port, and breaks no rule of its policy', async () => {
    const context = await browser.newContext({ httpCredentials: { username: 'operator', password: OPERATOR_TOKEN } });
    page = await context.newPage();
    const urls: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    page.on('console', (message) => problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(`${managementUrl}/status`);
    await page.locator('#state', { hasText: 'Ready' }).waitFor();
    await page.locator('.plot canvas').last().waitFor();
    expect(urls.filter((url) => !url.startsWith(`${managementUrl}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(urls).toContain(`${managementUrl}/status/uplot.js`);
    expect(problems).toEqual([]);
  });

  it('shows the figures of /metrics', async () => {
    await open();
    const samples = readSamples((await send(managementUrl, '/metrics')).text);
    const requests = (labels: Readonly<Record<string, string>> = {}) => total(samples, 'auth_requests_total', labels);
    const tokens = requests({ route: '/oauth2/token', status: '200' });
    expect(tokens).toBe(3);
    expect(await figureOf(page, 'since-start', 'Tokens')).toBe(asText(tokens));
    expect(await figureOf(page, 'since-start', 'Requests')).toBe(asText(requests()));
    expect(await figureOf(page, 'since-start', 'Log lines lost')).toBe(
      asText(total(samples, 'auth_log_lines_lost_total')),
    );
    const reasons = new Set(
      samples.filter(({ name }) => name === 'auth_requests_total').map(({ labels }) => labels['reason'] ?? ''),
    );
    for (const reason of reasons) {
      if (reason !== 'none') expect(await figureOf(page, 'refusals', reason)).toBe(asText(requests({ reason })));
    }
    expect(reasons).toContain('secret_wrong');
  });

  it('says why a request was refused', async () => {
    await open();
    await page.getByLabel('Request id').fill(` ${requestIdOf(0).toUpperCase()} `);
    await page.getByRole('button', { name: 'Look up' }).click();
    const answer = page.locator('#answer article');
    await answer.waitFor();
    const text = await answer.innerText();
    expect(text).toContain('secret_wrong');
    expect(text).toContain(REASONS.secret_wrong.meaning.replaceAll('`', ''));
    for (const fact of [GOOD_CLIENT.client_id, '127.0.0.1', 'POST /oauth2/token', '401 invalid_client']) {
      expect(text).toContain(fact);
    }
  });

  it('shows no client id that is not registered', async () => {
    await open({}, `#request-${requestIdOf(1)}`);
    const answer = page.locator('#answer article');
    await answer.waitFor();
    expect(await answer.innerText()).toMatch(/client_unknown[\s\S]*Client\s+–/);
    expect(await page.content()).not.toContain(WRONG_SECRET);
  });

  it('says that a request was not refused, or that its refusal is no longer kept', async () => {
    await open({}, '#request-5f0c8e1e-3b1c-4a53-9a4e-0c2f6d1b7a90');
    await page.getByText('No refusal with this id is kept.').waitFor();
    expect(await page.locator('#answer article').isVisible()).toBe(false);
  });

  it('does not send what is no request id, since it may be a secret', async () => {
    await open();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('Request id').fill(WRONG_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('This is not a request id.').waitFor();
    expect(urls.filter((url) => url.includes(WRONG_SECRET))).toEqual([]);
  });

  it('shows the last refusals of one client, and leads from there to each request', async () => {
    await open();
    const table = page.locator('section[aria-labelledby="clients"] table');
    expect(await table.locator('tbody tr').count()).toBe(1);
    await page.getByLabel('Client id').fill(GOOD_CLIENT.client_id);
    await page.getByRole('button', { name: 'Show' }).click();
    await table.getByText('secret_wrong').waitFor();
    expect(await table.locator('tbody tr').count()).toBe(2);
    await table.getByRole('link', { name: requestIdOf(2) }).click();
    await page.locator('#answer', { hasText: 'scope_not_registered' }).waitFor();

    await page.getByLabel('Client id').fill(WRONG_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('No such refusal is kept.').waitFor();
  });

  it('says at once what happens now, without having been open before, and which replica this is', async () => {
    await open();
    expect(await page.locator('#summary').textContent()).toMatch(/^Ready\. \d+ % of the requests are refused, mostly /);
    const row = page.locator('section[aria-labelledby="refusals"] tr', { hasText: 'secret_wrong' });
    expect(Number(await row.locator('td').first().textContent())).toBeGreaterThan(0);
    const { replica } = (await readStatus(managementUrl)).service;
    expect(await page.locator('#identity').innerText()).toContain(`replica ${replica}`);
    expect(await page.locator('section[aria-labelledby="process"] dd').nth(1).textContent()).toMatch(/%$/);
  });

  it('opens the refusals of one reason, of callers that are not registered too', async () => {
    await open();
    const total = page
      .locator('section[aria-labelledby="refusals"] tr', { hasText: 'client_unknown' })
      .locator('a')
      .last();
    await total.click();
    const table = page.locator('section[aria-labelledby="clients"] table');
    await table.getByText('client_unknown').first().waitFor();
    await table.getByRole('link', { name: requestIdOf(1) }).waitFor();
    expect(await page.locator('#client-id-hint').textContent()).toContain('refused last for client_unknown');
    await page.getByLabel('Client id').fill('');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.locator('#client-id-hint', { hasText: 'each registered client' }).waitFor();
  });

  it('compares the kid of a token with its keys, and sends nothing of the token', async () => {
    const form = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    const token = String((await requestToken(service.url, form)).json()['access_token']);
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    await open();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')));
    const compare = async (text: string) => {
      await page.getByLabel(/A resource server refuses a token/).fill(text);
      await page.getByRole('button', { name: 'Compare' }).click();
      return page.locator('#key-answer > :visible').innerText();
    };
    for (const text of [kid, token]) expect(await compare(text)).toContain(`the key ${kid} is trusted (signing)`);
    expect(await compare('of-another-service')).toContain('does not trust the key of-another-service');
    const forged = `${Buffer.from('{"alg":"RS256","kid":"other"}').toString('base64url')}.e30.AA`;
    expect(await compare(forged)).toContain('does not trust the key other');
    for (const text of ['not.a.token', `${Buffer.from('{}').toString('base64url')}.e30.`]) {
      expect(await compare(text)).toContain('without a kid, or no token');
    }
    await page.clock.runFor(5_000);
    await until(() => sent.length > 0, 'the page reads');
    expect(sent.filter((text) => text.includes(token.slice(0, 40)) || text.includes('another-service'))).toEqual([]);
    expect(await violationsOn(page)).toEqual([]);
  });

  it('draws no line across a gap, and shades an outage', async () => {
    await open();
    const at = Math.floor(Date.now() / 1_000);
    const sample = (seconds: number, more = {}) => {
      const rest = { ready: true, tokens: 1_000 - seconds, refusals: 0, p50: 0.001, p99: 0.002, waiting: 0 };
      return { at: at - seconds, ...rest, cache_hits: 0, cache_misses: 0, ...more };
    };
    const seconds = Array.from({ length: 60 }, (_, index) => 300 - index * 5);
    const history = seconds
      .filter((ago) => ago < 150 || ago > 200)
      .map((ago) => sample(ago, ago < 60 && ago > 30 ? { ready: false, p50: null, p99: null } : {}));
    const data = await readStatus(managementUrl);
    await page.route('**/status/data*', (route) => {
      return route.fulfill({ json: { ...data, at, service: { ...data.service, started_at: 1 }, history } });
    });
    await page.clock.runFor(5_000);
    await page.getByText('Latency of tokens as a table').click();
    const canvas = page.locator('.plot canvas').nth(1);
    /** The colors in a column of pixels of the chart of latencies, at so many seconds before the end. */
    const colorsAt = async (ago: number) =>
      canvas.evaluate(
        (element, share) => {
          const drawn = element as unknown as {
            width: number;
            height: number;
            getContext(kind: string): { getImageData(...box: number[]): { data: number[] } };
          };
          const plot = (
            globalThis as unknown as { document: { querySelectorAll(selector: string): Box[] } }
          ).document.querySelectorAll('.u-over')[1];
          const over = plot?.getBoundingClientRect();
          const box = (element as unknown as Box).getBoundingClientRect();
          if (over === undefined) return [];
          const ratio = drawn.width / box.width;
          const x = Math.round((over.left - box.left + over.width * share) * ratio);
          const { data: pixels } = drawn
            .getContext('2d')
            .getImageData(x, Math.round((over.top - box.top) * ratio), 1, Math.round(over.height * ratio));
          const colors = new Set<string>();
          for (let index = 0; index < pixels.length; index += 4)
            if (pixels[index + 3] === 255) colors.add(pixels.slice(index, index + 3).join());
          return [...colors];
        },
        1 - ago / 300,
      );
    const LINE = '29,95,196';
    const SHADE = '253,234,232';
    await until(async () => (await colorsAt(100)).length > 0, 'the chart is drawn');
    expect(await colorsAt(100)).not.toContain(SHADE);
    for (const ago of [175, 45]) {
      // A line of the grid may lie over one of these columns, and mixes its color with the shade.
      const colors = [...(await colorsAt(ago)), ...(await colorsAt(ago + 2))];
      expect({ ago, colors }).toEqual({ ago, colors: expect.arrayContaining([SHADE]) });
      expect(await colorsAt(ago)).not.toContain(LINE);
    }
    expect(await colorsAt(100)).toContain(LINE);
  });

  it('leads from a reason to its meaning', async () => {
    await open();
    const meaning = page.locator('#reason-secret_wrong + dd');
    expect(await meaning.isVisible()).toBe(false);
    await page.locator('section[aria-labelledby="refusals"]').getByRole('link', { name: 'secret_wrong' }).click();
    await meaning.waitFor();
  });

  it('does not read while it is hidden, and reads at once when it is seen again', async () => {
    await open();
    const reads: string[] = [];
    page.on('request', (request) => reads.push(request.url()));
    const setHidden = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await setHidden(true);
    await page.clock.runFor(20_000);
    expect(reads).toEqual([]);
    await setHidden(false);
    await until(() => reads.length > 0, 'the page reads again');
  });

  it('says when the service does not answer, since when, and recovers', async () => {
    await open();
    await page.route('**/status/data*', (route) => route.abort());
    await page.clock.runFor(5_000);
    await page.locator('#state', { hasText: 'No answer' }).waitFor();
    expect(await page.getByRole('alert').textContent()).toMatch(
      /^No answer since \d\d:\d\d:\d\d, and all figures are from then: the service cannot be reached/,
    );
    expect(await violationsOn(page)).toEqual([]);
    await page.unroute('**/status/data*');
    await page.clock.runFor(5_000);
    await page.locator('#state', { hasText: 'Ready' }).waitFor();
    expect(await page.locator('#notice').textContent()).toBe('');
  });

  it('says which check is not ready, and why', async () => {
    const managementPort = await freePort();
    const database = `postgresql://service:its-password@127.0.0.1:${await freePort()}/auth`;
    await using broken = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        DATABASE_URL: database,
        MANAGEMENT_PORT: String(managementPort),
        MANAGEMENT_TOKEN: OPERATOR_TOKEN,
      },
    });
    const form = { grant_type: 'client_credentials', client_id: 'a-client', client_secret: 'a-secret' };
    const answer = await requestToken(broken.url, form);
    const hash = `#request-${answer.headers['x-request-id']}`;
    page = await openStatusPage(browser, `http://127.0.0.1:${managementPort}/status${hash}`, OPERATOR_TOKEN);
    expect(await page.locator('#state').textContent()).toBe('Not ready');
    expect(await page.getByRole('alert').textContent()).toMatch(
      /^Not ready\. client repository: database unavailable.* \((start PostgreSQL|npm run doctor|correct host)/,
    );
    expect(await figureOf(page, 'database', 'State')).toBe('unavailable');
    await page.locator('#answer', { hasText: 'dependency_unavailable' }).waitFor();
    expect(await page.content()).not.toContain('its-password');
    expect(await violationsOn(page)).toEqual([]);
  });
});
