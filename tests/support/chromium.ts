import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { CHROMIUM_PATH } from './chromium-path.ts';

/** Nothing that a browser does by itself may reach a network. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts the browser, without a window and with a new profile. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM_PATH, args: ARGUMENTS });
}

/**
 * Opens the status page as an operator who enters the token when the browser asks.
 */
export async function openStatusPage(
  browser: Browser,
  url: string,
  token: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const httpCredentials = { username: 'operator', password: token, origin: new URL(url).origin };
  const context = await browser.newContext({ httpCredentials, timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  await page.goto(url);
  await page.locator('#now', { hasText: /eady/ }).waitFor();
  return page;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds wrong with a page as it is now: each rule, and the elements that break it. */
export async function violationsOn(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(AXE);
  const run = `axe.run({ runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] })`;
  const { violations } = await page.evaluate<{ violations: Violation[] }>(run);
  return violations.map(({ id, nodes }) => {
    return { id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) };
  });
}
