import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { ADMIN_API_REASONS } from '../../adapters/http/server/http-reasons.ts';
import { ALL_REASONS, RESPONSES } from '../../adapters/http/server/http-refusal.ts';
import { readIssuersFile } from '../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { SETTING_NAMES } from '../support/all-settings.ts';
import { startExampleServer } from '../support/example-server.ts';
import { freePort } from '../support/free-port.ts';
import { getAccessToken, send } from '../support/http.ts';
import { isInstalled, where } from '../support/installed.ts';
import { blocksOf, readPage } from '../support/page-snippets.ts';
import { type Program, runLine } from '../support/program.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import { type Platform, WorkloadIssuer } from '../support/workload-issuer.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = readFileSync(`${ROOT}/README.md`, 'utf8');

const blocks = (language: string) => blocksOf(README, language);

/** The demo with its key set and its status page open. */
const [LOOK_CLOSER = ''] = blocksOf(README, 'sh', 'Look closer');

let port: number;
let managementPort: number;
let demo: Program;
beforeAll(async () => {
  [port, managementPort] = [await freePort(), await freePort()];
  const line = LOOK_CLOSER.replace('8081', String(managementPort));
  demo = runLine(line, { PORT: String(port), BASE_URL: 'http://localhost:8080' });
  await demo.printed(/Stop it with Ctrl-C/);
});
afterAll(async () => demo[Symbol.asyncDispose]());

describe('the README', () => {
  const here = (text: string) => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  const bash = async (command: string) => (await promisify(execFile)('bash', ['-c', here(command)])).stdout;

  it('shows how a service with SQLite starts, gets its first client, and issues it a token', async () => {
    const [block = '', request = '', inspection = ''] = blocksOf(README, 'sh', 'Run it');
    const folder = await mkdtemp(join(tmpdir(), 'readme-'));
    const own = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()), SHUTDOWN_GRACE_MS: '0' };
    const inFolder = (line: string) => line.replace('DATABASE_FILE=', `DATABASE_FILE=${folder}/`);
    await using service = runLine(inFolder(block), own);
    const [, secret = ''] = await service.printed(/client_secret +(\w+)[\s\S]+"event":"started"/);
    // At a terminal, curl asks for it.
    const asked = request.replace('--user billing', `--user billing:${secret}`).replace(':8080', `:${own.PORT}`);
    expect(JSON.parse(await bash(asked))).toMatchObject({ token_type: 'Bearer', scope: 'read write' });
    await using doctor = runLine(inFolder(inspection), own);
    expect(await doctor.ended()).toBe(0);
    expect(doctor.stdout()).toContain('it is ready');
    await rm(folder, { recursive: true });
  });

  it('shows curl lines that work when they are pasted', async () => {
    const [token = '', location = '', wrong = '', ...others] = blocksOf(README, 'sh', 'Get it').filter((block) =>
      block.includes('curl'),
    );
    expect(others).toEqual([]);
    expect(JSON.parse(await bash(token))).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
    expect(JSON.parse(await bash(location))).toMatchObject({ code: 'NYC_USA' });
    expect(await bash(wrong)).toBe((blocks('json')[1] ?? '').trim().repeat(2));
  });

  it('shows how to look up why a request was refused', async () => {
    const [, secret = ''] = /MANAGEMENT_TOKEN=(\S+)/.exec(LOOK_CLOSER) ?? [];
    const refused = await send(`http://127.0.0.1:${port}`, '/v1/locations/NYC_USA');
    const headers = { authorization: `Basic ${Buffer.from(`anybody:${secret}`).toString('base64')}` };
    const page = `/status?request=${refused.headers['x-request-id']}`;
    expect((await send(`http://127.0.0.1:${managementPort}`, page, { headers })).text).toContain('token_missing');
  });

  it('shows how the contract is checked, and says how many rows it has', async () => {
    const [block = ''] = blocks('sh').filter((text) => text.includes('npm run contract'));
    const folder = await mkdtemp(join(tmpdir(), 'readme-'));
    const [, held, all] =
      (await bash(block.replaceAll('demo-secret.txt', `${folder}/secret`))).match(/(\d+) of (\d+) rows hold/) ?? [];
    expect(README).toContain('more than 50 rows');
    expect([held, Number(all) > 50]).toEqual([all, true]);
    await rm(folder, { recursive: true });
  });

  it('shows the header and the claims that a token has', async () => {
    const token = await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client', 'demo-secret');
    const shown = JSON.parse(blocks('json')[0] ?? '');
    const { kid: _kid, ...header } = decodeProtectedHeader(token);
    expect(shown.header).toMatchObject(header);
    const claims = decodeJwt(token);
    expect(Object.keys(claims)).toEqual(Object.keys(shown.claims));
    expect(claims).toMatchObject({ iss: shown.claims.iss, sub: shown.claims.sub, aud: shown.claims.aud });
    expect(shown.claims).toMatchObject({ nbf: shown.claims.iat, exp: shown.claims.iat + 300 });
  });

  it('shows how a resource server accepts a valid token and refuses another', async () => {
    const [snippet = ''] = blocks('js');
    // In this folder, the snippet finds the packages of the project.
    const file = fileURLToPath(new URL(`snippet-${randomUUID()}.mjs`, import.meta.url));
    await writeFile(file, here(snippet));
    try {
      const TOKEN = await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client', 'demo-secret');
      const call = (blocks('sh').find((block) => block.includes('node verify.mjs')) ?? '').replace('verify.mjs', file);
      expect(await bash(call)).toBe('The client is demo-client\n');
      const verify = (token: string) => bash(`TOKEN=${token}; ${call.split('\n')[1]}`);
      await expect(verify(`${TOKEN.slice(0, -8)}AAAAAAAA`)).rejects.toThrow('ERR_JWS_SIGNATURE_VERIFICATION_FAILED');
    } finally {
      await rm(file);
    }
  });
});

describe('docs/getting-a-token.md', () => {
  it('has each response that a refusal can be, and no other', () => {
    const [, part = ''] = readPage('docs/getting-a-token.md').split('\n## When a request is refused\n');
    const rows = [...(part.split('\n## ')[0] ?? '').matchAll(/^\| (\d.+?) \|/gm)].map(([, cell = '']) => cell);
    const codes = Object.entries(ALL_REASONS).flatMap(([reason, { code }]) =>
      reason in ADMIN_API_REASONS ? [] : code,
    );
    const answers = codes.map((code) => RESPONSES[code]).map(({ status, error }) => `${status} \`${error}\``);
    expect(rows.toSorted()).toEqual([...new Set(answers)].toSorted());
  });
});

describe('docs/managing-clients.md', () => {
  where(isInstalled('jq'), it)('shows how to list what expires soon', async () => {
    const [block = ''] = blocksOf(readPage('docs/managing-clients.md'), 'sh', 'For scripts');
    const folder = await mkdtemp(join(tmpdir(), 'expiring-'));
    const add = 'npm run --silent clients -- add';
    const adding = [
      `${add} soon --name Soon --scope read --expires-in 5d`,
      `${add} later --name Later --scope read --expires-in 90d`,
      `${add} never --name Never --scope read`,
    ];
    const program = runLine(`npm run --silent migrate && ${adding.join(' && ')} && ${block}`, {
      DATABASE_FILE: `${folder}/clients.db`,
    });
    expect(await program.ended()).toBe(0);
    expect(program.stdout()).toMatch(/Z soon\n$/);
    expect(program.stdout()).not.toMatch(/Z (?:later|never)$/m);
    await rm(folder, { recursive: true });
  });
});

describe('docs/operate.md', () => {
  const PAGE = readPage('docs/operate.md');

  where(isInstalled('sqlite3'), it)('shows how SQLite is backed up, into files for their owner only', async () => {
    const [, line = ''] = /^ *`(\(umask .*sqlite3 .*\))`/m.exec(PAGE) ?? [];
    const folder = await mkdtemp(join(tmpdir(), 'backup-'));
    const make = "for file in clients.db clients.db.keys; do sqlite3 $file 'create table one (two)'; done";
    await promisify(execFile)('bash', ['-ec', `umask 022; ${make}; ${line}`], { cwd: folder });
    for (const copy of ['copy.db', 'copy.db.keys']) expect((await stat(join(folder, copy))).mode & 0o777).toBe(0o600);
    await rm(folder, { recursive: true });
  });

  it('names only settings and scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const [, script = ''] of PAGE.matchAll(/npm run (?:--silent )?(\w+(?::\w+)?)/g)) {
      expect(Object.keys(scripts)).toContain(script);
    }
    const ours = /^(?:AUDIT|BASE|CLIENTS?|DATABASE|HEALTH|HOST|KEY|MANAGEMENT|PROXY|SHUTDOWN|TLS|TOKEN|TRUSTED)_/;
    const names = [...PAGE.matchAll(/`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`/g)].map(([, name = '']) => name);
    for (const name of names.filter((each) => ours.test(each))) expect(SETTING_NAMES).toContain(name);
  });
});

describe('docs/resource-servers.md', () => {
  it('shows commands that read the id of the key and the claims of a token', async () => {
    const TOKEN = await getAccessToken(`http://127.0.0.1:${port}`, 'demo-client', 'demo-secret');
    const blocks = [...readPage('docs/resource-servers.md').matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)];
    const [kid = '', claims = ''] = blocks
      .map(([, text = '']) => text.trim())
      .filter((block) => block.startsWith('node '));
    const run = async (command: string) => {
      const { PATH } = process.env;
      return (await promisify(execFile)('bash', ['-c', command], { env: { PATH, TOKEN } })).stdout;
    };
    const [header] = (await run(claims)).split('\n');
    expect(JSON.parse(header ?? '')).toMatchObject({ alg: 'RS256', kid: (await run(kid)).trim() });
    expect(await run(claims)).toContain('"sub":"demo-client"');
  });
});

describe('examples/README.md', () => {
  const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));

  it('starts a service, and gives a client what it needs to call the resource server', async () => {
    const [line = '', exports = ''] = [...readPage('examples/README.md').matchAll(/^```sh\n(.*?)^```$/gms)].map(
      ([, text = '']) => text,
    );
    const port = String(await freePort());
    const issuer = `http://localhost:${port}`;
    const { PATH = '' } = process.env;
    const here = line.replace('npx ccauth serve', 'node ../config/main.ts');
    expect(here).not.toBe(line);
    await using service = runLine(`cd ${EXAMPLES} && ${here}`, { PATH, PORT: port, MANAGEMENT_PORT: '0' });
    await until(() => send(issuer, '/oauth2/jwks').then(Boolean, () => false), 'the service answers');
    await using server = await startExampleServer([process.execPath, 'koa-server.js'], `${EXAMPLES}node`, issuer);

    const environment = Object.fromEntries(
      [...exports.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [
        name,
        value.replace('http://localhost:8080', issuer).replace('http://localhost:9000', server.url),
      ]),
    );
    const env = { PATH, ...environment };
    const { stdout } = await promisify(execFile)('node', ['client.js'], { cwd: `${EXAMPLES}node`, env });
    expect([stdout, service.process.exitCode]).toEqual(['200 {"caller":"my-client"}\n', null]);
  });
});

describe('docs/client-assertions.md', () => {
  const PAGE = readFileSync('docs/client-assertions.md', 'utf8');
  const AUDIENCE = 'https://auth.example';

  const SECTIONS: readonly [Platform['name'], string][] = [
    ['kubernetes', 'Kubernetes'],
    ['github-actions', 'GitHub Actions'],
    ['gitlab', 'GitLab'],
    ['aws', 'AWS'],
    ['spiffe', 'SPIFFE'],
  ];

  const codeOf = (heading: string, language: string) => blocksOf(PAGE, language, heading);

  const issuers = new Map<string, WorkloadIssuer>();
  let service: ServiceUnderTest;
  let folder: string;

  /** One service, with the issuers and the clients of all examples. */
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'workload-identity-'));
    const entries: object[] = [];
    const clients: Record<string, unknown>[] = [];
    for (const [name, heading] of SECTIONS) {
      const issuer = await WorkloadIssuer.start(name);
      issuers.set(name, issuer);
      const [issuersJson = '', clientsJson = ''] = codeOf(heading, 'json');
      entries.push(...JSON.parse(issuersJson).map((entry: object) => ({ ...entry, jwks_uri: issuer.keySet.url })));
      clients.push(...JSON.parse(clientsJson));
    }
    service = await startServiceUnderTest({
      environment: {
        CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
        CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json',
        TOKEN_ISSUER: AUDIENCE,
      },
      files: { 'issuers.json': JSON.stringify(entries) },
      clients,
    });
    const fetched = () => service.logLines().filter(({ event }) => event === 'key_set_available').length;
    await until(() => fetched() === SECTIONS.length, 'the keys are fetched');
  });
  afterAll(async () => {
    await service.stop();
    for (const issuer of issuers.values()) await issuer[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  describe.each(SECTIONS)('the example of %s', (name, heading) => {
    const [issuersJson = '', clientsJson = '', ...otherJson] = codeOf(heading, 'json');
    const [script = '', ...otherScripts] = codeOf(heading, 'sh');

    it('has one file of issuers, one of clients and one request', () => {
      expect([clientsJson !== '', otherJson, otherScripts]).toEqual([true, [], []]);
      expect(readIssuersFile(issuersJson)).toMatchObject({
        ok: true,
        value: [{ preset: name, issuer: issuers.get(name)?.platform.issuer }],
      });
    });

    it('gets a token with the lines of the page', async () => {
      const identity = issuers.get(name)?.mint(AUDIENCE) ?? '';
      const platform = createServer((request, response) => {
        response.end(JSON.stringify({ value: request.url?.includes(`audience=${AUDIENCE}`) ? identity : 'none' }));
      }).listen(0, '127.0.0.1');
      await writeFile(join(folder, 'token'), identity);
      const tool = async (file: string, output: string) => {
        await writeFile(join(folder, file), `#!/bin/sh\ncase "$*" in *${AUDIENCE}*) echo '${output}';; esac\n`);
        await chmod(join(folder, file), 0o755);
      };
      // jq need not be installed.
      const select = `#!${process.execPath}
      const path = process.argv.at(-1).match(/\\w+/g);
      const value = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
      console.log(path.reduce((inner, step) => inner[step], value));`;
      await writeFile(join(folder, 'jq'), select, { mode: 0o755 });
      await tool('aws', identity);
      await tool('spire-agent', JSON.stringify([{ svids: [{ svid: identity }] }]));
      const lines = script
        .replaceAll(`${AUDIENCE}/oauth2/token`, `${service.url}/oauth2/token`)
        .replace('/var/run/identity', folder);
      const { port } = platform.address() as AddressInfo;
      const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines], {
        env: {
          PATH: `${folder}:${process.env['PATH']}`,
          ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?x=1`,
          ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
          ...(name === 'gitlab' && { IDENTITY: identity }),
        },
      });
      platform.close();
      platform.closeAllConnections();
      expect(JSON.parse(stdout)).toMatchObject({ token_type: 'Bearer', access_token: expect.stringContaining('.') });
    });
  });
});
