import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import type { Backend } from '../support/balancer.ts';
import { getAccessToken, send } from '../support/http.ts';
import { type LoopbackServer, listenOnLoopback } from '../support/loopback-server.ts';
import { readPage } from '../support/page-snippets.ts';
import { type Program, runLine } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const [, SECTION = ''] = readPage('docs/operate.md').split('\n### Rotating a key by hand\n');
const BLOCKS = [...(SECTION.split('\n### ')[0] ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const [ROTATE = '', FUNCTIONS, ONE_PROCESS = '', NEW_FILE = '', AFTER_A_LEAK = ''] = BLOCKS;

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

/** Replicas with the names of docs/operate.md, which its functions `restart` and `ready` reach over HTTP here. */
class NamedReplicas implements AsyncDisposable {
  readonly #settings: Readonly<Record<string, string>>;
  readonly #backends = new Map<string, Backend>();
  readonly #programs = new Map<string, Program>();
  #control: LoopbackServer | undefined;

  private constructor(settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
  }

  static async start(names: readonly string[], settings: Readonly<Record<string, string>>): Promise<NamedReplicas> {
    const replicas = new NamedReplicas(settings);
    const control = createServer((request, response) => {
      const [, action, name = ''] = (request.url ?? '').split('/');
      const done = action === 'restart' ? replicas.#restart(name) : replicas.#untilReady(name);
      done.then(
        () => response.end(),
        () => response.writeHead(500).end(),
      );
    });
    replicas.#control = await listenOnLoopback(control);
    for (const name of names) {
      replicas.#backends.set(name, await freeBackend());
      await replicas.#restart(name);
    }
    for (const name of names) await replicas.#untilReady(name);
    return replicas;
  }

  /** Runs a block of the page. Returns what it prints. */
  async run(block: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const functions = ['restart', 'ready'].map((name) => `${name}() { curl -sf "$CONTROL/${name}/$1"; }`).join('\n');
    const given = { CONTROL: this.#control?.url ?? '', HOME: tmpdir(), ...environment };
    await using ran = runLine(`set -e\n${functions}\n${block}`, given);
    if ((await ran.ended()) !== 0) throw new Error(ran.stderr());
    return ran.stdout();
  }

  token(name: string): Promise<string> {
    const { client_id: id, client_secret: secret } = DEMO_TOKEN_REQUEST;
    return getAccessToken(this.#urlOf(name), id, secret);
  }

  /** The status of a request with this token. */
  async use(name: string, token: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    return (await send(this.#urlOf(name), '/v1/locations/NYC_USA', { headers })).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#control?.[Symbol.asyncDispose]();
    for (const program of this.#programs.values()) await program[Symbol.asyncDispose]();
  }

  async #restart(name: string): Promise<void> {
    const before = this.#programs.get(name);
    before?.process.kill('SIGTERM');
    await before?.ended();
    this.#programs.set(name, startReplica(this.#backendOf(name), { SHUTDOWN_GRACE_MS: '0', ...this.#settings }));
  }

  async #untilReady(name: string): Promise<void> {
    const url = `http://127.0.0.1:${this.#backendOf(name).managementPort}`;
    const isReady = () =>
      send(url, '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      );
    await until(isReady, `${name} is ready`);
  }

  #backendOf(name: string): Backend {
    const backend = this.#backends.get(name);
    if (backend === undefined) throw new Error(`no replica is named ${name}`);
    return backend;
  }

  #urlOf(name: string): string {
    return `http://127.0.0.1:${this.#backendOf(name).port}`;
  }
}

const ISSUER = { BASE_URL: 'http://issuer.test' };
const sharing = async (database: TestDatabase) => ({
  ...ISSUER,
  ...(await sealedKeysIn(database)),
  KEY_PUBLICATION_SECONDS: '2',
});

/** A key file in its own folder. */
async function createKeyFile(): Promise<{ readonly file: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'key-file-'));
  const file = join(folder, 'key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe('the steps of docs/operate.md to rotate a key by hand', () => {
  it('have functions to adapt, and commands for four cases', () => {
    expect(FUNCTIONS).toMatch(/^restart\(\) \{.*\}\nready\(\) \{.*\}\n$/);
    expect(BLOCKS).toHaveLength(5);
  });

  it('give one process a new key, which signs at once, and refuse older tokens', async () => {
    await using replicas = await NamedReplicas.start(['auth-1'], ISSUER);
    const old = await replicas.token('auth-1');
    await replicas.run(ONE_PROCESS);
    const token = await replicas.token('auth-1');
    expect(kidOf(token)).not.toBe(kidOf(old));
    expect([await replicas.use('auth-1', token), await replicas.use('auth-1', old)]).toEqual([200, 401]);
  });

  it('let the next key sign on all replicas, and refuse no token', async () => {
    const database = await createTestDatabase();
    await using _database = { [Symbol.asyncDispose]: () => database.drop() };
    const names = ['auth-1', 'auth-2'];
    await using replicas = await NamedReplicas.start(names, await sharing(database));
    const old = await replicas.token('auth-1');
    await until(async () => (await database.query('select from key_ring')).length === 2, 'the next key is there');
    await replicas.run(ROTATE, { DATABASE_URL: database.url });
    await until(async () => kidOf(await replicas.token('auth-1')) !== kidOf(old), 'the next key signs');
    await until(async () => kidOf(await replicas.token('auth-2')) !== kidOf(old), 'it signs everywhere');
    const token = await replicas.token('auth-2');
    for (const name of names) {
      for (const each of [old, token]) expect(await replicas.use(name, each)).toBe(200);
    }
  });

  it('change a KEY_FILE: an older token is refused', async () => {
    await using key = await createKeyFile();
    await using replicas = await NamedReplicas.start(['auth-1'], { ...ISSUER, KEY_FILE: key.file });
    const old = await replicas.token('auth-1');
    await replicas.run(NEW_FILE, { KEY_FILE: key.file });
    expect((await stat(key.file)).mode & 0o777).toBe(0o600);
    const token = await replicas.token('auth-1');
    expect(kidOf(token)).not.toBe(kidOf(old));
    expect([await replicas.use('auth-1', token), await replicas.use('auth-1', old)]).toEqual([200, 401]);
  });

  it('end the trust of all replicas in a key that has leaked, and go on with another', async () => {
    const database = await createTestDatabase();
    await using _database = { [Symbol.asyncDispose]: () => database.drop() };
    await using replicas = await NamedReplicas.start(['auth-1', 'auth-2'], await sharing(database));
    const leaked = await replicas.token('auth-1');
    expect(await replicas.use('auth-2', leaked)).toBe(200);
    await replicas.run(AFTER_A_LEAK, { TOKEN: leaked, DATABASE_URL: database.url });
    for (const name of ['auth-1', 'auth-2']) {
      await until(async () => (await replicas.use(name, leaked)) === 401, `${name} refuses the token`);
    }
    const token = await replicas.token('auth-1');
    expect([kidOf(token) === kidOf(leaked), await replicas.use('auth-2', token)]).toEqual([false, 200]);
  });
});
