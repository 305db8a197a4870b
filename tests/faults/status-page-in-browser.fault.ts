import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { MEANINGS } from '../../application/refusal-meanings.ts';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpResponse, requestToken } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, type ServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN, startServiceForOperator } from '../support/status.ts';

const WRONG_SECRET = 'a-secret-that-nobody-may-see';
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 760 };
const SMALL_PHONE = { width: 320, height: 640 };

describe('the status page in a browser', () => {
  let browser: Browser;
  let service: ServiceUnderTest;
  let url: string;
  let page: Page;
  const refused: HttpResponse[] = [];

  const open = async (query = '', options: BrowserContextOptions = {}, managementUrl = url) => {
    page = await openStatusPage(browser, `${managementUrl}/status${query}`, OPERATOR_TOKEN, options);
  };
  const requestIdOf = (index: number) => String(refused[index]?.headers['x-request-id']);
  const answer = () => page.locator('#answer').innerText();

  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator());
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
    page = await (await browser.newContext()).newPage();
    const response = await page.goto(`${url}/status`).catch(() => undefined);
    expect(response?.status() ?? 401).toBe(401);
    expect(await page.locator('main').count()).toBe(0);
  });

  it('loads nothing but itself, needs no script, and breaks no rule of its policy', async () => {
    const httpCredentials = { username: 'operator', password: OPERATOR_TOKEN };
    page = await (await browser.newContext({ httpCredentials, javaScriptEnabled: false })).newPage();
    const [urls, problems]: [string[], string[]] = [[], []];
    page.on('request', (request) => urls.push(request.url()));
    page.on('console', (message) => problems.push(message.text()));
    await page.goto(`${url}/status`);
    await page.locator('#now', { hasText: 'Ready' }).waitFor();
    expect(urls.filter((one) => !one.endsWith('/favicon.ico'))).toEqual([`${url}/status`]);
    expect(problems.filter((text) => !text.includes('favicon'))).toEqual([]);
  });

  it('says why a request was refused', async () => {
    await open();
    await page.getByLabel('Request id').fill(` ${requestIdOf(0).toUpperCase()} `);
    await page.getByRole('button', { name: 'Look up' }).click();
    await page.locator('#answer').waitFor();
    for (const text of ['secret_wrong', MEANINGS.secret_wrong.replaceAll('`', ''), GOOD_CLIENT.client_id]) {
      expect(await answer()).toContain(text);
    }
  });

  it('does not send what is no request id, since it may be a secret', async () => {
    await open();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('Request id').fill(WRONG_SECRET);
    await page.keyboard.press('Enter');
    expect(await page.locator('#request-id:invalid').count()).toBe(1);
    expect(urls).toEqual([]);
  });

  it('shows the last refusals of one client, and leads back', async () => {
    await open();
    await page.getByRole('link', { name: GOOD_CLIENT.client_id }).click();
    await page.locator('#answer').waitFor();
    expect(await page.locator('#answer h3').allInnerTexts()).toEqual(['scope_not_registered', 'secret_wrong']);
    await page.getByRole('link', { name: 'Back to the overview' }).click();
    await page.locator('#answer').waitFor({ state: 'detached' });
    await page.getByLabel('Client id').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No such refusal is kept here.').waitFor();
  });

  it.each([
    ['light', DESKTOP],
    ['dark', DESKTOP],
    ['light', PHONE],
    ['dark', PHONE],
    ['light', SMALL_PHONE],
  ] as const)('has no fault that axe finds, and does not scroll sideways: %s, %o', async (colorScheme, viewport) => {
    for (const query of ['', `?request=${requestIdOf(0)}`, '?client=nobody']) {
      await open(query, { colorScheme, viewport });
      for (const summary of await page.locator('summary').all()) await summary.click();
      expect(await violationsOn(page)).toEqual([]);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(overflow)).toBe(0);
      if (query !== '?client=nobody') await page.context().close();
    }
  });

  it('would report a fault that axe finds', async () => {
    await open();
    await page.evaluate('document.querySelector("label[for=client-id]").remove()');
    expect(await violationsOn(page)).toContainEqual(expect.objectContaining({ id: 'label' }));
  });

  it('is used with the keyboard alone, and shows where the focus is', async () => {
    await open();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect([await page.locator(':focus').getAttribute('id'), await page.evaluate(outline)]).toEqual([
      'request-id',
      'solid',
    ]);
    await page.keyboard.type(requestIdOf(0));
    await page.keyboard.press('Enter');
    await page.locator('#answer').waitFor();
    const reached: (string | null)[] = [];
    for (let press = 0; press < 20; press += 1) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate('(({ id, tagName }) => id || tagName)(document.activeElement)'));
    }
    const order = ['request-id', 'client-id', 'SUMMARY'].map((name) => reached.indexOf(name));
    expect(order.includes(-1)).toBe(false);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
  });

  it('says which check is not ready, and why', async () => {
    const database = `postgresql://service:its-password@127.0.0.1:${await freePort()}/auth`;
    const broken = await startServiceForOperator({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database });
    await using _broken = broken.service;
    const form = { grant_type: 'client_credentials', client_id: 'a-client', client_secret: 'a-secret' };
    const response = await requestToken(broken.service.url, form);
    await open(`?request=${response.headers['x-request-id']}`, {}, broken.url);
    expect(await page.locator('#now').textContent()).toBe('Not ready');
    const row = page.locator('section[aria-labelledby="checks"] tr', { hasText: 'client repository' });
    expect(await row.textContent()).toMatch(/not ready.*Fix: (start PostgreSQL|npm run doctor|correct host)/);
    expect(await answer()).toContain('dependency_unavailable');
    expect(await page.content()).not.toContain('its-password');
    expect(await violationsOn(page)).toEqual([]);
  });
});
