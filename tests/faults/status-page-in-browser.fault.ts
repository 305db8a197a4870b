import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { REASONS } from '../../domain/refusal.ts';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpAnswer, requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN } from '../support/status.ts';
import { until } from '../support/until.ts';

const WRONG_SECRET = 'a-secret-that-nobody-may-see';

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
    await page.getByText('No refusal of a registered client is kept.').waitFor();
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
    expect(await page.getByRole('alert').textContent()).toMatch(/client repository: database unavailable/);
    expect(await figureOf(page, 'database', 'State')).toBe('unavailable');
    await page.locator('#answer', { hasText: 'dependency_unavailable' }).waitFor();
    expect(await page.content()).not.toContain('its-password');
    expect(await violationsOn(page)).toEqual([]);
  });
});
