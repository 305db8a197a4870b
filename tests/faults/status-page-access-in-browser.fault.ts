import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openStatusPage, startChromium, violationsOn } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { GOOD_CLIENT, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN } from '../support/status.ts';
import { until } from '../support/until.ts';

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

const WRONG = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: 'wrong-secret' };

describe('the status page', () => {
  let browser: Browser;
  let service: ServiceUnderTest;
  let url: string;
  let page: Page;
  let requestId: string;

  const open = async (options: BrowserContextOptions = {}, hash = '') => {
    page = await openStatusPage(browser, `${url}${hash}`, OPERATOR_TOKEN, options);
  };

  beforeAll(async () => {
    const managementPort = await freePort();
    url = `http://127.0.0.1:${managementPort}/status`;
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
    await open({ colorScheme, viewport }, `#request-${requestId}`);
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
    expect([...reached]).toEqual(expect.arrayContaining(['plot', 'SUMMARY', 'client-id', 'A']));
  });

  it('keeps what has the focus when the figures change', async () => {
    await open();
    const row = page.locator('section[aria-labelledby="refusals"] tr', { hasText: 'secret_wrong' });
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

  it('reads the charts to a screen reader, moved by the arrow keys, and has them as tables', async () => {
    await open();
    const chart = page.getByRole('slider', { name: 'Tokens and refusals over time' });
    await until(async () => {
      await page.clock.runFor(5_000);
      return Number(await chart.getAttribute('aria-valuemax')) >= 1;
    }, 'there are two points');
    const latest = await chart.getAttribute('aria-valuetext');
    expect(latest).toMatch(/^\d\d:\d\d:\d\d: Tokens [\d.]+\/s, Refusals [\d.]+\/s$/);
    await chart.focus();
    await page.keyboard.press('Home');
    expect(await chart.getAttribute('aria-valuenow')).toBe('0');
    expect(await chart.getAttribute('aria-valuetext')).not.toBe(latest);
    await page.keyboard.press('ArrowRight');
    expect(await chart.getAttribute('aria-valuenow')).toBe('1');
    await page.getByText('Tokens and refusals as a table').click();
    expect(await page.locator('figure table').first().locator('tbody tr').count()).toBeGreaterThanOrEqual(2);
  });

  it('moves nothing smoothly for those who want less motion', async () => {
    await open({ reducedMotion: 'reduce' });
    expect(await page.evaluate('getComputedStyle(document.documentElement).scrollBehavior')).toBe('auto');
  });
});
