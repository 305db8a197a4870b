import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.ts';
import { send } from '../../support/http.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../../support/running-service.ts';
import { asOperator, startServiceForOperator } from '../../support/status.ts';

const BROWSER_FOLDER = new URL('../../../adapters/http/status-page/browser/', import.meta.url);
const SCRIPT_BYTES_MAX = 20 * 1024;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** The paths that a text loads, from the page or from a script. */
function pathsIn(text: string): readonly string[] {
  const inPage = [...text.matchAll(/(?:src|href)="(status\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  const inScript = [...text.matchAll(/from '\.\/([^']+)'/g)].map(([, name]) => `/status/${name}`);
  return [...inPage, ...inScript];
}

describe('the files of the status page', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await startServiceForOperator());
  });
  afterAll(async () => service.stop());

  /** The page and all that it loads, by path. */
  async function loaded(path = '/status', seen = new Map<string, Awaited<ReturnType<typeof send>>>()) {
    if (seen.has(path)) return seen;
    const answer = await asOperator(url, path);
    seen.set(path, answer);
    for (const next of pathsIn(answer.text)) await loaded(next, seen);
    return seen;
  }

  it('have at most 20 KiB of script of our own', () => {
    const scripts = readdirSync(BROWSER_FOLDER).filter((name) => name.endsWith('.js'));
    const bytes = scripts.map((name) => readFileSync(new URL(name, BROWSER_FOLDER)).length);
    expect(scripts).toContain('app.js');
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
  });

  it('are all served, and each one is used', async () => {
    const answers = await loaded();
    const served = [...answers].map(([path, { status }]) => [path, status]);
    const own = readdirSync(BROWSER_FOLDER).filter((name) => /\.(js|css)$/.test(name));
    const names = ['', ...own, 'uplot.js', 'uplot.css'].map((name) => (name ? `/status/${name}` : '/status'));
    expect(served.toSorted()).toEqual(names.map((path) => [path, 200]).toSorted());
  });

  it('carry a strict policy, their type, and are not stored', async () => {
    for (const [path, { headers }] of await loaded()) {
      const type = path === '/status' ? 'text/html' : path.endsWith('.js') ? 'text/javascript' : 'text/css';
      expect({ path, ...headers }).toMatchObject({
        'content-security-policy': POLICY,
        'content-type': `${type}; charset=utf-8`,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      });
    }
  });

  it('have no inline script or style, which the policy would block', async () => {
    const { text } = await asOperator(url, '/status');
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i);
    expect(text.match(/<script[^>]*>/g)).toEqual([
      '<script defer src="status/uplot.js">',
      '<script type="module" src="status/app.js">',
    ]);
  });

  it('need the token', async () => {
    for (const path of (await loaded()).keys()) {
      expect({ path, status: (await send(url, path)).status }).toEqual({ path, status: 401 });
    }
  });

  it('do not exist without MANAGEMENT_TOKEN', async () => {
    const port = await freePort();
    await using without = await startServiceUnderTest({ environment: { MANAGEMENT_PORT: String(port) } });
    expect((await asOperator(`http://127.0.0.1:${port}`, '/status')).status).toBe(401);
    expect((await send(without.url, '/status')).status).toBe(401);
  });

  it('are not on the public port', async () => {
    expect((await asOperator(service.url, '/status')).status).toBe(401);
  });
});
