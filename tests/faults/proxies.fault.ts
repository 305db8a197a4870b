import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { where } from '../support/installed.ts';
import { notTested } from '../support/not-tested.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, startReplica } from '../support/replica.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { DeployedProxy, missingFor, PROXIES, PUBLIC_NAME, REPLICA_HOSTS } from './deployed-proxy.ts';

/** An address of this machine that is neither a proxy's nor a replica's. */
const CALLER = '127.0.0.99';
const FORGED = '192.0.2.66';
const CALLERS = 8;
/** From before a replica is stopped until after it has ended. */
const DRIVEN = ['nginx.conf', 'haproxy.cfg'] as const;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** A test of one of them, which is skipped where its program is missing. */
function testOf(name: (typeof DRIVEN)[number]) {
  const missing = missingFor(name);
  if (missing !== undefined) notTested(`deploy/proxies/${name} is not tried, because ${missing}.`);
  return where(missing === undefined, it);
}

interface ProxyResponse {
  readonly status: number;
  readonly text: string;
}

/** Sends forms to the token endpoint through a proxy, as a client elsewhere that claims another address. */
class Caller implements Disposable {
  readonly #proxy: DeployedProxy;
  readonly #agent: Agent;

  constructor(proxy: DeployedProxy) {
    this.#proxy = proxy;
    this.#agent = new Agent({ keepAlive: true, ca: readFileSync(proxy.authority.file), localAddress: CALLER });
  }

  post(form: Readonly<Record<string, string>>, path = '/oauth2/token'): Promise<ProxyResponse> {
    const body = new URLSearchParams(form).toString();
    return this.#send('POST', path, { 'content-type': 'application/x-www-form-urlencoded' }, body);
  }

  get(path: string): Promise<ProxyResponse> {
    return this.#send('GET', path, {}, '');
  }

  #send(method: string, path: string, more: Readonly<Record<string, string>>, body: string): Promise<ProxyResponse> {
    const headers = { host: PUBLIC_NAME, ...more, 'x-forwarded-for': FORGED, forwarded: `for=${FORGED}` };
    const options = { host: '127.0.0.1', port: this.#proxy.port, servername: PUBLIC_NAME, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, method, path, headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

describe('deploy/proxies', () => {
  for (const name of DRIVEN) {
    testOf(name)(
      `${name} passes on the address of the client, and no request is lost while a replica stops`,
      async () => {
        const backend = { port: await freePort(), managementPort: await freePort() };
        using proxy = await DeployedProxy.prepare(name, backend);
        const replicas: Program[] = [];
        const shared = await sealedKeysIn(database);
        try {
          for (const host of REPLICA_HOSTS) {
            replicas.push(
              startReplica(backend, {
                HOST: host,
                MANAGEMENT_HOST: host,
                BASE_URL: `https://${PUBLIC_NAME}`,
                TRUSTED_PROXIES: '127.0.0.1',
                ...shared,
                KEY_PUBLICATION_SECONDS: '1',
                SHUTDOWN_GRACE_MS: '5000',
              }),
            );
          }
          await Promise.all(replicas.map((replica) => replica.printed(/"event":"started"/)));
          await using _running = proxy.start();
          using caller = new Caller(proxy);
          const responseOf = (form: Readonly<Record<string, string>>) =>
            caller.post(form).catch((error: Error) => ({ status: 0, text: error.message }));
          await until(
            async () => (await responseOf(DEMO_TOKEN_REQUEST)).status === 200,
            'the proxy passes requests on',
          );

          // The limit for a body is that of the service.
          expect(await responseOf({ ...DEMO_TOKEN_REQUEST, padding: 'x'.repeat(15_000) })).toMatchObject({
            status: 200,
          });
          const tooLarge = await responseOf({ ...DEMO_TOKEN_REQUEST, padding: 'x'.repeat(20_000) });
          expect(tooLarge).toMatchObject({ status: 413, text: expect.stringContaining('invalid_request') });

          const failed: ProxyResponse[] = [];
          let [answered, running] = [0, true];
          const callers = Array.from({ length: CALLERS }, async () => {
            while (running) {
              const response = await responseOf(DEMO_TOKEN_REQUEST);
              answered += 1;
              if (response.status !== 200) failed.push(response);
            }
          });
          await until(() => answered > 100, 'there is load');
          replicas[0]?.process.kill('SIGTERM');
          expect(await replicas[0]?.ended()).toBe(0);
          const before = answered;
          await until(() => answered > before + 100, 'the other replica serves');
          running = false;
          await Promise.all(callers);
          expect(failed).toEqual([]);

          const addresses = replicas.map((replica) =>
            [...replica.stdout().matchAll(/"remote_address":"([^"]*)"/g)].map(([, address]) => address),
          );
          for (const each of addresses) {
            expect(each.length).toBeGreaterThan(10);
            expect(new Set(each)).toEqual(new Set([CALLER]));
          }
        } finally {
          for (const replica of replicas) await replica[Symbol.asyncDispose]();
        }
      },
      180_000,
    );
  }

  testOf('nginx.conf')(
    'nginx.conf passes on the paths of a BASE_URL with a path, its metadata among them, and no others',
    async () => {
      const backend = { port: await freePort(), managementPort: await freePort() };
      const usePath = (text: string) =>
        text
          .replace('    location / { proxy_pass http://replicas; }\n', '')
          .replaceAll('    # location', '    location');
      using proxy = await DeployedProxy.prepare('nginx.conf', backend, usePath);
      await using replica = startReplica(backend, {
        HOST: REPLICA_HOSTS[0] ?? '',
        MANAGEMENT_HOST: REPLICA_HOSTS[0] ?? '',
        BASE_URL: `https://${PUBLIC_NAME}/tenant-a`,
        TRUSTED_PROXIES: '127.0.0.1',
        PUBLIC_METADATA: 'true',
        METADATA_COMPATIBILITY: 'oidc',
      });
      await replica.printed(/"event":"started"/);
      await using _running = proxy.start();
      using caller = new Caller(proxy);
      const tokenAt = (path: string) => caller.post(DEMO_TOKEN_REQUEST, path).catch(() => ({ status: 0, text: '' }));
      await until(async () => (await tokenAt('/tenant-a/oauth2/token')).status === 200, 'the proxy passes requests on');
      for (const document of ['oauth-authorization-server', 'openid-configuration']) {
        const metadata = await caller.get(`/.well-known/${document}/tenant-a`);
        expect(JSON.parse(metadata.text)).toMatchObject({ issuer: `https://${PUBLIC_NAME}/tenant-a` });
      }
      const others = ['/oauth2/token', '/tenant-ab/oauth2/token', '/.well-known/oauth-authorization-server'];
      for (const path of others) expect([404, 405]).toContain((await tokenAt(path)).status);
      await caller.post({ grant_type: 'the last request' }, '/tenant-a/oauth2/token');
      await replica.printed(/"reason":"grant_type_unsupported"/);
      // The service asks for a token on every other path.
      expect(replica.stdout()).not.toContain('"status":401');
    },
    60_000,
  );
});

const BACKEND = { port: 8080, managementPort: 8081 };

describe('the samples for proxies', () => {
  it.each(readdirSync('deploy/proxies'))(
    '%s marks the line for client addresses, unless another file has it',
    (name) => {
      const text = readFileSync(`deploy/proxies/${name}`, 'utf8');
      expect(/The line for client addresses|TRUSTED_PROXIES=/.test(text)).toBe(true);
    },
  );

  for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[]) {
    const missing = missingFor(name);
    if (missing !== undefined) {
      notTested(`deploy/proxies/${name} is not checked, because ${missing}.`);
      continue;
    }
    it(`${name} is accepted by ${PROXIES[name].program}`, async () => {
      using proxy = await DeployedProxy.prepare(name, BACKEND);
      expect(() => proxy.check()).not.toThrow();
    });
  }
});
