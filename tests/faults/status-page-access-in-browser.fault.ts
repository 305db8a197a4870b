import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { GOOD_CLIENT, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN, readStatus } from '../support/status.ts';

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 320, height: 640 };

const WRONG = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: 'wrong-secret' };

describe('the status page', () => {
  let browser: Browser;
  let service: ServiceUnderTest;
  let managementUrl: string;
  let url: string;
  let page: Page;
  let requestId: string;

  const open = async (options: BrowserContextOptions = {}, hash = '') => {
    page = await openStatusPage(browser, `${url}${hash}`, OPERATOR_TOKEN, options);
  };

  /** Opens the page with values of a minute in its charts. */
  const openWithCharts = async (options: BrowserContextOptions = {}, hash = '') => {
    await open(options, hash);
    const data = await readStatus(managementUrl);
    const history = [60, 45, 30, 15, 0].map((ago) => {
      return { at: data.at - ago, ready: ago !== 30, tokens: 100 - ago, refusals: 0.5, p50: 0.001, p99: 0.002 };
    });
    await page.route('**/status/data*', (route) => route.fulfill({ json: { ...data, history } }));
    await page.clock.runFor(5_000);
    await page.locator('.plot').first().waitFor();
  };

  beforeAll(async () => {
    const managementPort = await freePort();
    managementUrl = `http://127.0.0.1:${managementPort}`;
    url = `${managementUrl}/status`;
    service = await startServiceUnderTest({
      environment: { MANAGEMENT_PORT: String(managementPort), MANAGEMENT_TOKEN: OPERATOR_TOKEN },
    });
    browser = await startChromium();
    requestId = String((await requestToken(service.url, WRONG)).headers['x-request-id']);
  });
  afterEach(async () => page.context().close());
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  it.each([
    ['light', DESKTOP],
    ['dark', DESKTOP],
    ['light', PHONE],
    ['dark', PHONE],
  ] as const)('has no fault that axe finds: %s, %o', async (colorScheme, viewport) => {
    await openWithCharts({ colorScheme, viewport }, `#request-${requestId}`);
    await page.locator('#answer article').waitFor();
    for (const summary of await page.locator('summary').all()) await summary.click();
    expect(await violationsOn(page)).toEqual([]);
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
  });

  it('would report a fault that axe finds', async () => {
    await open();
    await page.evaluate('document.querySelector("label[for=request-id]").remove()');
    expect(await violationsOn(page)).toContainEqual(expect.objectContaining({ id: 'label' }));
  });

  it('is used with the keyboard alone', async () => {
    await open();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type(requestId);
    await page.keyboard.press('Enter');
    await page.locator('#answer article').waitFor();
    const reached = new Set<string | null>();
    for (let press = 0; press < 30; press += 1) {
      await page.keyboard.press('Tab');
      reached.add(
        await page.evaluate('(({ id, className, tagName }) => id || className || tagName)(document.activeElement)'),
      );
    }
    expect([...reached]).toEqual(expect.arrayContaining(['client-id', 'A', 'kid', 'SUMMARY']));
  });

  it('keeps what has the focus when the figures change', async () => {
    await open();
    const row = page.locator('section[aria-labelledby="reasons"] tr', { hasText: 'secret_wrong' });
    await row.getByRole('link').first().focus();
    const before = Number(await row.locator('td').last().textContent());
    await requestToken(service.url, WRONG);
    await page.clock.runFor(5_000);
    await row
      .locator('td', { hasText: String(before + 1) })
      .last()
      .waitFor();
    expect(await page.locator(':focus').textContent()).toBe('secret_wrong');
  });

  it('shows what was last measured beside the charts, and has them as tables', async () => {
    await openWithCharts();
    const figure = page.locator('figure').first();
    expect(await figure.locator('.legend b').allTextContents()).toEqual(['100/s', '0.5/s']);
    await page.getByText('Tokens and refusals as a table').click();
    const rows = figure.locator('tbody tr');
    expect(await rows.first().locator('td').allTextContents()).toEqual(['100/s', '0.5/s']);
    expect(await rows.count()).toBe(5);
    expect(await violationsOn(page)).toEqual([]);
  });

  it('moves nothing smoothly for those who want less motion', async () => {
    await open({ reducedMotion: 'reduce' });
    expect(await page.evaluate('getComputedStyle(document.documentElement).scrollBehavior')).toBe('auto');
  });
});
