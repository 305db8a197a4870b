import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['domain', 'application', 'adapters', 'config'];

/** The entry points of programs, which go with them. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'clients-program': ['config/clients.ts', 'config/clients-program-extensions.ts'],
  doctor: ['config/doctor.ts'],
  'example-resource': ['config/locations.ts'],
  fetch: ['config/fetch.ts'],
  'key-directory': ['config/keys.ts'],
  'keys-program': ['config/keys.ts'],
};

/** The program of the keys is about the directory, and goes with it. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = { 'key-directory': ['keys-program'] };

/** Each has a file of its name, except the function, which nothing registers. */
const CAPABILITIES = readdirSync(join(ROOT, 'config/capabilities'))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => basename(name, '.ts'))
  .concat('fetch');

const trees: string[] = [];
afterEach(async () => {
  for (const tree of trees.splice(0)) await rm(tree, { recursive: true });
});

/** The production code without a capability: without its folders, its file, and its line in each list of config/. */
async function treeWithout(...names: readonly string[]): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), 'without-'));
  trees.push(tree);
  for (const name of [...FOLDERS, 'docs/openapi.json', 'package.json', 'tsconfig.json']) {
    await cp(join(ROOT, name), join(tree, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const own = [...names, ...names.flatMap((name) => TOGETHER[name] ?? [])];
  for (const name of own) {
    for (const folder of await foldersNamed(join(tree), name)) await rm(folder, { recursive: true });
    for (const file of [`config/capabilities/${name}.ts`, ...(PROGRAMS[name] ?? [])]) {
      await rm(join(tree, file), { force: true });
    }
  }
  for (const list of ['config/capabilities.ts', 'config/clients-program-extensions.ts']) {
    const text = await readFile(join(tree, list), 'utf8').catch(() => undefined);
    if (text !== undefined) await writeFile(join(tree, list), withoutLines(text, own));
  }
  const program = join(tree, 'config/program.ts');
  const entries = own.flatMap((name) => PROGRAMS[name] ?? []).map((file) => basename(file));
  await writeFile(program, entries.reduce(withoutProgram, await readFile(program, 'utf8')));
  return tree;
}

/** Deletes an entry point from the programs of `ccauth`. */
function withoutProgram(text: string, file: string): string {
  return text.replace(new RegExp(`^ +\\w+: \\[.*import\\('\\./${file}'\\).*\\n`, 'm'), '');
}

async function foldersNamed(tree: string, name: string): Promise<readonly string[]> {
  const entries = await Promise.all(
    FOLDERS.map((folder) => readdir(join(tree, folder), { recursive: true, withFileTypes: true })),
  );
  return entries
    .flat()
    .filter((entry) => entry.isDirectory() && entry.name === name)
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Deletes the imports from these capabilities, and what they import from the list. */
function withoutLines(text: string, names: readonly string[]): string {
  return names.reduce((rest, name) => {
    const line = new RegExp(`^import \\{ (\\w+) \\} from '\\./capabilities/${name}[./].*\\n`, 'm');
    const [whole = '', imported = '-'] = line.exec(rest) ?? [];
    return rest.replace(whole, '').replace(`  ${imported},\n`, '').replace(`[${imported}]`, '[]');
  }, text);
}

/** What the compiler says, which is nothing if all is well. */
function compile(tree: string): Promise<string> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--project', 'tsconfig.json'];
  return new Promise((done) => {
    execFile(process.execPath, [compiler, ...options], { cwd: tree, maxBuffer: 64 * 1024 * 1024 }, (_fault, stdout) =>
      done(stdout),
    );
  });
}

describe('the service without a capability', () => {
  it.each(CAPABILITIES)('compiles: %s', async (name) => {
    const tree = await treeWithout(name);
    expect(await foldersNamed(tree, name)).toEqual([]);
    expect(await compile(tree)).toBe('');
  });

  it('compiles without all of them', async () => {
    expect(await compile(await treeWithout(...CAPABILITIES))).toBe('');
  });

  it('does not compile if the core imports it: a planted import is found', async () => {
    const tree = await treeWithout('tracing');
    const file = join(tree, 'adapters/http/server/planted.ts');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "export type { SpanQueue } from '../../tracing/span-queue.ts';\n");
    expect(await compile(tree)).toContain('planted.ts');
  });

  it('takes its settings for misspelled ones', async () => {
    const tree = await treeWithout('private-key-jwt');
    await using service = runProgram(join(tree, 'config/main.ts'), {
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: join(tree, 'config/demo/clients.json'),
      CLIENT_ASSERTION_AUDIENCE: 'issuer',
    });
    expect(await service.ended()).toBe(1);
    expect(service.stderr()).toContain('CLIENT_ASSERTION_AUDIENCE: is not a setting of this service');
  });

  it.each([[['federated-jwt', 'private-key-jwt']], [['workers', 'tracing', 'status-page']], [CAPABILITIES]])(
    'issues tokens, and verifies them: %s',
    async (names) => {
      const tree = await treeWithout(...names);
      const port = String(await freePort());
      await using service = runProgram(join(tree, 'config/main.ts'), {
        CLIENT_REPOSITORY: 'memory',
        CLIENTS_FILE: join(tree, 'config/demo/clients.json'),
        PORT: port,
        MANAGEMENT_PORT: '0',
      });
      await service.printed(/"event":"started"/);
      const url = `http://127.0.0.1:${port}`;
      const form = { grant_type: 'client_credentials', client_id: 'demo-client', client_secret: 'demo-secret' };
      const answer = await requestToken(url, form);
      expect(answer.status).toBe(200);
      const { access_token: token } = JSON.parse(answer.text) as { access_token: string };
      const keys = await fetch(`${url}/oauth2/jwks`, { headers: { authorization: `Bearer ${token}` } });
      expect(keys.status).toBe(200);
      expect((await requestToken(url, { ...form, client_secret: 'wrong' })).status).toBe(401);
    },
  );
});
