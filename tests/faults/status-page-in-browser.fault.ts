import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { MEANINGS } from '../../application/refusal-meanings.ts';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpResponse, requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN, readStatus } from '../support/status.ts';
import { until } from '../support/until.ts';

const WRONG_SECRET = 'a-secret-that-nobody-may-see';

/** The numbers of a reason: in the last minute, and since startup. */
const countsOf = async (page: Page, reason: string) => {
  const row = page
    .locator('section[aria-labelledby="reasons"] tr')
    .filter({ has: page.getByText(reason, { exact: true }) });
  return (await row.locator('td').allTextContents()).map(Number);
};

describe('the status page', () => {
  let browser: Browser;
  let service: ServiceUnderTest;
  let managementUrl: string;
  let page: Page;
  const refused: HttpResponse[] = [];

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
    const response = await page.goto(`${managementUrl}/status`).catch(() => undefined);
    expect(response?.status() ?? 401).toBe(401);
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
    await page.locator('#now', { hasText: 'Ready' }).waitFor();
    expect(urls.filter((url) => !url.startsWith(`${managementUrl}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(urls).toContain(`${managementUrl}/status/charts.js`);
    expect(problems).toEqual([]);
  });

  it('shows the refusals of /metrics, by reason', async () => {
    await open();
    const samples = readSamples((await send(managementUrl, '/metrics')).text);
    const reasons = new Set(samples.flatMap(({ labels }) => labels['reason'] ?? []));
    reasons.delete('none');
    for (const reason of reasons) {
      const sinceStartup = total(samples, 'auth_requests_total', { reason });
      expect((await countsOf(page, reason)).at(-1)).toBe(sinceStartup);
    }
    expect(reasons).toContain('secret_wrong');
  });

  it('says why a request was refused', async () => {
    await open();
    await page.getByLabel('Request id').fill(` ${requestIdOf(0).toUpperCase()} `);
    await page.getByRole('button', { name: 'Look up' }).click();
    const response = page.locator('#answer article');
    await response.waitFor();
    const text = await response.innerText();
    expect(text).toContain('secret_wrong');
    expect(text).toContain(MEANINGS.secret_wrong.replaceAll('`', ''));
    // Nobody can rotate a secret of a file.
    expect(text).toContain('registrations are in CLIENTS_FILE');
    for (const fact of [GOOD_CLIENT.client_id, '127.0.0.1', 'POST /oauth2/token', '401 invalid_client']) {
      expect(text).toContain(fact);
    }
  });

  it('shows no client id that is not registered', async () => {
    await open({}, `#request-${requestIdOf(1)}`);
    const response = page.locator('#answer article');
    await response.waitFor();
    expect(await response.innerText()).toMatch(/client_unknown[\s\S]*Client\s+–/);
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
    expect(await page.locator('#whose').textContent()).toBe(`Of ${GOOD_CLIENT.client_id}`);
    expect(await table.locator('tbody tr').count()).toBe(2);
    await table.getByRole('link', { name: 'scope_not_registered' }).click();
    await page.locator('#answer', { hasText: 'scope_not_registered' }).waitFor();

    await page.getByLabel('Client id').fill(WRONG_SECRET);
    await page.keyboard.press('Enter');
    await page.getByText('No such refusal is kept.').waitFor();
  });

  it('says at once what happens now, without having been open before, and which replica this is', async () => {
    await open();
    expect(await page.locator('#now').textContent()).toMatch(
      /^Ready\. \d+ of \d+ requests were refused in the last minute/,
    );
    expect((await countsOf(page, 'secret_wrong'))[0]).toBeGreaterThan(0);
    const { replica } = (await readStatus(managementUrl)).service;
    expect(await page.locator('header').innerText()).toContain(`replica ${replica}`);
  });

  it('opens the refusals of one reason, of callers that are not registered too', async () => {
    await open();
    const row = page.locator('section[aria-labelledby="reasons"] tr', { hasText: 'client_unknown' });
    await row.getByRole('link').last().click();
    const table = page.locator('section[aria-labelledby="clients"] table');
    expect(await table.getByRole('link', { name: 'client_unknown' }).getAttribute('href')).toBe(
      `#request-${requestIdOf(1)}`,
    );
    expect(await page.locator('#whose').textContent()).toContain('client_unknown, of callers that are not registered');
    await page.getByLabel('Client id').fill('');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.locator('#whose', { hasText: 'Each registered client' }).waitFor();
  });

  it('compares the kid of a token with its keys, and sends nothing of the token', async () => {
    const form = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
    const token = String((await requestToken(service.url, form)).json()['access_token']);
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    await open();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url() + (request.postData() ?? '')));
    const compare = async (text: string) => {
      await page.getByLabel(/or the token itself/).fill(text);
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

  it('draws no line across a gap, shades an outage, and has no empty chart', async () => {
    await open();
    const at = Math.floor(Date.now() / 1_000);
    const sample = (seconds: number, more = {}) => {
      return { at: at - seconds, ready: true, tokens: 10, refusals: 0, p50: 0.001, p99: 0.002, ...more };
    };
    const outage = { ready: false, tokens: 0, p50: null, p99: null };
    const history = [sample(300), sample(285), sample(120), sample(105), sample(90, outage), sample(75), sample(60)];
    const data = await readStatus(managementUrl);
    let shown = history;
    await page.route('**/status/data*', (route) => route.fulfill({ json: { ...data, at, history: shown } }));
    const figure = page.locator('figure', { hasText: 'Latency of tokens' });
    const path = async (name: string) => figure.locator(`[data-path="${name}"]`).getAttribute('d');
    await page.clock.runFor(5_000);
    await until(async () => (await path('p50')) !== null, 'the chart is drawn');
    // It begins three times, and is joined to the sample before three times.
    expect((await path('p50'))?.replaceAll(/[^ML]/g, '')).toBe('MLMLML');
    expect((await path('out'))?.replaceAll(/[^MHV]/g, '')).toBe('MVHV');
    expect(await figure.getByText('No token was measured').isVisible()).toBe(false);
    shown = history.map(({ at: time }) => ({ ...sample(0, outage), at: time }));
    await page.clock.runFor(5_000);
    await figure.getByText('No token was measured').waitFor();
    expect(await figure.locator('svg, summary').filter({ visible: true }).count()).toBe(0);
  });

  it('leads from a reason to its meaning', async () => {
    await open();
    const meaning = page.locator('#reason-secret_wrong + dd');
    expect(await meaning.isVisible()).toBe(false);
    await page.locator('section[aria-labelledby="reasons"]').getByRole('link', { name: 'secret_wrong' }).click();
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

  it('says when the service does not respond, since when, and recovers', async () => {
    await open();
    await page.route('**/status/data*', (route) => route.abort());
    await page.clock.runFor(5_000);
    await page.locator('#now', { hasText: 'No response' }).waitFor();
    expect(await page.locator('#state').textContent()).toMatch(
      /^No response since \d\d:\d\d:\d\d, and all figures are from then: the service cannot be reached/,
    );
    expect(await violationsOn(page)).toEqual([]);
    await page.unroute('**/status/data*');
    await page.clock.runFor(5_000);
    await page.locator('#now', { hasText: 'Ready' }).waitFor();
    expect(await page.locator('#state').textContent()).toBe('Ready');
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
    const response = await requestToken(broken.url, form);
    const hash = `#request-${response.headers['x-request-id']}`;
    page = await openStatusPage(browser, `http://127.0.0.1:${managementPort}/status${hash}`, OPERATOR_TOKEN);
    const sentence =
      /^Not ready\. client repository: database unavailable.* Fix: (start PostgreSQL|npm run doctor|correct host)/;
    for (const place of ['#now', '#state']) expect(await page.locator(place).textContent()).toMatch(sentence);
    const row = page.locator('section[aria-labelledby="checks"] tr', { hasText: 'client repository' });
    expect(await row.textContent()).toMatch(/not ready.*Fix: /);
    await page.locator('#answer', { hasText: 'dependency_unavailable' }).waitFor();
    expect(await page.content()).not.toContain('its-password');
    expect(await violationsOn(page)).toEqual([]);
  });
});
