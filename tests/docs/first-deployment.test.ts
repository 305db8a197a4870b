import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { getAccessToken } from '../support/http.ts';
import { blocksOf, readPage } from '../support/page-snippets.ts';
import { environmentOfPrograms, runLine } from '../support/program.ts';
import { runAt } from '../support/run-at.ts';
import { startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';

// The blocks of Compose and of the image are run by tests/e2e/compose.sh, that of the package with SQLite by
// tests/faults/package.fault.ts, and the line of the chart by tests/deploy/helm.fault.ts.

const PAGE = readPage('docs/first-deployment.md');

/** Stand-ins for what the page expects to be installed: the package, and PostgreSQL's client. */
const TOOLS = {
  npx: `shift; exec ${process.execPath} config/program.ts "$@"`,
  sudo: 'exec env "$@"',
  psql: `exec ${process.execPath} --input-type=module --eval "
    import { runAt } from './tests/support/run-at.ts';
    await runAt(process.argv[1], process.argv[3]);" -- "$@"`,
};

let folder: string;
let database: TestDatabase;
const role = `role_${randomUUID().replaceAll('-', '')}`;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'first-deployment-'));
  for (const [name, script] of Object.entries(TOOLS)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  database = await createTestDatabase();
});
afterAll(async () => {
  const server = new URL(database.url);
  server.pathname = '/postgres';
  await database.drop();
  await runAt(server.href, `drop role if exists ${role}`);
  await rm(folder, { recursive: true });
});

const withTools = () => `${folder}:${environmentOfPrograms().PATH}`;

describe('docs/first-deployment.md', () => {
  it('shows how a service with PostgreSQL starts, and gets its first client with the role of the owner', async () => {
    const [block = ''] = blocksOf(PAGE, 'sh', 'The package, with PostgreSQL');
    const { username, password, host, pathname } = new URL(database.url);
    const here = block
      .replaceAll('owner:choose-one', `${username}:${password}`)
      .replaceAll('127.0.0.1:5432/auth', `${host}${pathname}`)
      .replaceAll('authorization_service', role);
    expect(here).not.toContain('5432/auth');
    const PORT = String(await freePort());
    const settings = { ...PATIENT, PATH: withTools(), PORT, MANAGEMENT_PORT: '0', SHUTDOWN_GRACE_MS: '0' };
    await using service = runLine(here, settings);
    const [, secret = ''] = await service.printed(/client_secret │ (\w+)[\s\S]+"event":"started"/);
    expect(await getAccessToken(`http://127.0.0.1:${PORT}`, 'billing', secret)).toMatch(/^eyJ/);
  });

  it('shows how the first client of the unit for systemd is added, with the URL of the owner, as the unit does', async () => {
    const [line = ''] = blocksOf(PAGE, 'sh', 'The unit for systemd');
    expect(readFileSync('deploy/systemd/ccauth.service', 'utf8')).toContain(line);
    const empty = await createTestDatabase();
    await writeFile(join(folder, 'owner-database-url'), `${empty.url}\n`);
    await writeFile(join(folder, 'ccauth'), `#!/bin/sh\nexec ${process.execPath} config/program.ts "$@"\n`, {
      mode: 0o755,
    });
    const here = line.replace('/etc/ccauth/', `${folder}/`).replace('/opt/ccauth/', `${folder}/`);
    const run = (command: string) =>
      promisify(execFile)('bash', ['-c', command], { env: { ...environmentOfPrograms(), PATH: withTools() } });
    await run(`DATABASE_URL_FILE=${folder}/owner-database-url ${folder}/ccauth migrate`);
    const [, secret = ''] = (await run(here)).stdout.match(/client_secret │ (\w+)/) ?? [];
    const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: empty.url, ...PATIENT };
    await using service = await startServiceUnderTest({ environment });
    expect(await getAccessToken(service.url, 'billing', secret)).toMatch(/^eyJ/);
    await service.stop();
    await empty.drop();
  });
});
