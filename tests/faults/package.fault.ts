import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packPackage, writeArchive } from '../packages/archive.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken } from '../support/http.ts';
import { blocksOf, readPage } from '../support/page-snippets.ts';
import { followProgram } from '../support/program.ts';

/** The oldest Node.js that `engines` of package.json allows, the newest that was tried, and one that is too old. */
const OTHER_NODES = { oldest: '22.18.0', newest: '26.10.0', refused: '20.19.0' };

const folder = mkdtempSync(join(tmpdir(), 'package-'));
const installed = join(folder, 'node_modules/.bin/ccauth');

/** The folder of each Node.js: that of this test, and the others as packages of npm. */
const nodes: Readonly<Record<string, string>> = {
  current: dirname(process.execPath),
  ...Object.fromEntries(Object.keys(OTHER_NODES).map((name) => [name, join(folder, 'node_modules', name, 'bin')])),
};

/** Runs a program with the environment of the test, which says where npm finds its packages. */
function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: folder });
}

/** Runs a program with this Node.js, and nothing else of the project, in its PATH. */
function start(
  program: string,
  args: readonly string[],
  node: string,
  settings: Readonly<Record<string, string>> = {},
) {
  const PATH = `${nodes[node]}:/usr/bin:/bin`;
  return followProgram(spawn(program, args, { cwd: folder, env: { PATH, ...settings } }));
}

async function tokenOf(program: string, node: string): Promise<unknown> {
  const PORT = String(await freePort());
  await using demo = start(program, ['demo'], node, { PORT });
  await demo.printed(/Stop it with Ctrl-C/);
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'demo-client',
    client_secret: 'demo-secret',
  });
  const answer = await fetch(`http://127.0.0.1:${PORT}/oauth2/token`, { method: 'POST', body });
  demo.process.kill('SIGINT');
  expect(await demo.ended()).toBe(0);
  return answer.json();
}

const TOKEN = { access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 };

afterAll(() => rmSync(folder, { recursive: true }));

describe('the package, in an empty folder', () => {
  let packed: string;
  beforeAll(() => {
    const { file } = packPackage(folder);
    packed = file;
    const others = Object.entries(OTHER_NODES).map(
      ([name, version]) => `${name}@npm:node-${process.platform}-${process.arch}@${version}`,
    );
    writeFileSync(join(folder, 'package.json'), '{}');
    run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', file, ...others]);
  });

  it('has no file that only development needs, and brings no such package', () => {
    const home = join(folder, 'node_modules/client-credentials-authorization-service');
    expect(readdirSync(home).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'deploy',
      'dist',
      'docs',
      'examples',
      'package.json',
    ]);
    const files = readdirSync(join(home, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => /(?<!\.d)\.ts$|(^|\/)tests\//.test(file))).toEqual([]);
    for (const name of ['jest', 'typescript', '@testcontainers']) {
      expect(existsSync(join(folder, 'node_modules', name))).toBe(false);
    }
  });

  it('names its commands as people type them, on each help page and in each message', async () => {
    await using help = start(installed, ['clients', 'add', '--help'], 'current');
    expect(await help.ended()).toBe(0);
    expect(help.stdout()).toContain('ccauth clients add billing');
    const home = join(folder, 'node_modules/client-credentials-authorization-service/dist');
    for (const file of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(js|html)$/.test(file)) continue;
      const lines = readFileSync(join(home, file), 'utf8').split('\n');
      // A hint about npm itself is for those who use it.
      const others = lines.filter((line) => !line.includes('npm has kept'));
      expect(others.filter((line) => /npm (run(?! locations)|start)/.test(line))).toEqual([]);
    }
  });

  it.each(['current', 'oldest', 'newest'])('starts a service that issues a token: %s Node.js', async (node) => {
    expect(await tokenOf(installed, node)).toEqual(TOKEN);
  });

  it.each(['current', 'oldest', 'newest'])(
    'is a function in another program, as its page shows: %s Node.js',
    async (node) => {
      const page = readFileSync('docs/first-deployment.md', 'utf8').split('### In another web server')[1] ?? '';
      const [, snippet = ''] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
      const [, clients = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
      writeFileSync(join(folder, 'clients.json'), clients);
      const use = `
      const form = { grant_type: 'client_credentials', client_id: 'billing', client_secret: 'billing-secret' };
      const request = new Request('https://auth.example.com/oauth2/token', { method: 'POST', body: new URLSearchParams(form) });
      const response = await handle(request, '192.0.2.7');
      await service.close();
      console.error(await response.text());`;
      writeFileSync(join(folder, 'embed.mjs'), snippet + use);
      await using program = start(join(nodes[node] ?? '', 'node'), ['embed.mjs'], node);
      expect(await program.ended()).toBe(0);
      expect(JSON.parse(program.stderr())).toEqual(TOKEN);
    },
  );

  it('adds the first client, as docs/first-deployment.md shows', async () => {
    const [block = ''] = blocksOf(readPage('docs/first-deployment.md'), 'sh', 'The package, with SQLite');
    const [make, bring, install, ...lines] = block
      .replaceAll(/npx ccauth|node_modules\/.bin\/ccauth/g, installed)
      .split('\n');
    expect([make, bring]).toEqual(['npm ci && npm pack', expect.stringContaining('cp *.tgz ../ccauth')]);
    expect(install).toBe(`npm install ./${basename(packed).replace(/\d.*(?=\.tgz)/, '*')}`);
    const PORT = String(await freePort());
    const own = { PORT, MANAGEMENT_PORT: '0', SHUTDOWN_GRACE_MS: '0' };
    await using service = start(
      'bash',
      ['-c', `${lines.slice(0, -1).join('\n')}\nexec ${lines.at(-1)}`],
      'current',
      own,
    );
    const [, secret = ''] = await service.printed(/client_secret +(\w+)[\s\S]+"event":"started"/);
    expect(await getAccessToken(`http://127.0.0.1:${PORT}`, 'billing', secret)).toMatch(/^eyJ/);
    service.process.kill('SIGTERM');
    expect(await service.ended()).toBe(0);
  });

  it('refuses a Node.js that is too old, and says which one it needs', async () => {
    await using program = start(installed, ['serve'], 'refused');
    expect(await program.ended()).toBe(1);
    const problem = 'This program needs Node.js 22.18 or newer; this is Node.js 20.19.0.\n';
    expect(program.stderr()).toBe(problem);
    const open =
      "import('client-credentials-authorization-service/fetch').then(({ openFetchService }) => openFetchService({}))";
    const node = join(nodes['refused'] ?? '', 'node');
    await using embedded = start(node, ['-e', `${open}.catch(({ message }) => console.error(message))`], 'refused');
    expect(await embedded.ended()).toBe(0);
    expect(embedded.stderr()).toBe(problem);
  });

  it.each([
    ['serve', 'must be set, to memory or sqlite or postgres'],
    ['clients list', 'set DATABASE_FILE (SQLite) or DATABASE_URL (PostgreSQL)'],
    ['health', 'MANAGEMENT_PORT: must be'],
    ['clints', 'Did you mean clients?'],
  ])('says what is wrong: ccauth %s', async (line, message) => {
    await using program = start(installed, line.split(' '), 'current', { MANAGEMENT_PORT: 'none' });
    expect(await program.ended()).toBeGreaterThan(0);
    expect(program.stderr()).toContain(message);
  });
});

describe('the archive', () => {
  it('needs no npm: it is unpacked and issues a token', async () => {
    const archive = writeArchive(folder);
    run('tar', ['-xzf', archive]);
    const home = archive.replace(/\.tar\.gz$/, '');
    expect(existsSync(join(home, 'node_modules/jest'))).toBe(false);
    expect(await tokenOf(join(home, 'ccauth'), 'current')).toEqual(TOKEN);
  });
});
