import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { getAccessToken } from '../support/http.ts';
import { blocksOf, readPage } from '../support/page-snippets.ts';
import { environmentOfPrograms, runLine } from '../support/program.ts';
import { runAt } from '../support/run-at.ts';
import { startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';

// The blocks of Compose and of the image are run by tests/e2e/compose.sh, that of the package with SQLite by
// tests/faults/package.fault.ts, and the line of the chart by tests/faults/helm.fault.ts.

const PROGRAM = `exec ${process.execPath} ${resolve('config/program.ts')}`;

/**
 * Stand-ins for what the pages expect to be installed: the package, PostgreSQL's client, and systemd with the unit that
 * migrates.
 */
const TOOLS = {
  npx: `shift; ${PROGRAM} "$@"`,
  psql: `exec ${process.execPath} --input-type=module --eval "
    import { runAt } from '${resolve('tests/support/run-at.ts')}';
    await runAt(process.argv[1], process.argv[3]);" -- "$@"`,
  useradd: 'exit 0',
  systemctl: `[ "$*" = 'start ccauth-migrate' ] || exit 0
    DATABASE_URL_FILE=$HOME/etc/ccauth/owner-database-url exec $HOME/opt/ccauth/ccauth migrate --grant-to $SERVICE_ROLE`,
};

let folder: string;
let database: TestDatabase;
let role: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'first-deployment-'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  await writeFile(join(folder, 'node_modules/.bin/ccauth'), `#!/bin/sh\n${PROGRAM} "$@"\n`, { mode: 0o755 });
  for (const [name, script] of Object.entries(TOOLS)) {
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  role = `role_${randomUUID().replaceAll('-', '')}`;
  database = await createTestDatabase();
});
afterEach(async () => {
  const server = new URL(database.url);
  server.pathname = '/postgres';
  await database.drop();
  await runAt(server.href, `drop role if exists ${role}`);
});

/** A block with the database and the folder of this test. */
function here(block: string): string {
  const { username, password, host, pathname } = new URL(database.url);
  const text = block
    .replaceAll('owner:choose-one', `${username}:${password}`)
    .replaceAll('127.0.0.1:5432/auth', `${host}${pathname}`)
    .replaceAll('authorization_service', role)
    .replaceAll(/(?<= |>)\/(?=etc|opt)/g, `${folder}/`)
    .replaceAll('=/etc', `=${folder}/etc`)
    .replaceAll('$(cat /etc', `$(cat ${folder}/etc`);
  expect(text).not.toContain('5432/auth');
  return `cd ${folder}\n${text}`;
}

const withTools = () => ({ HOME: folder, PATH: `${folder}/bin:${process.env['PATH']}` });

describe('docs/first-deployment.md', () => {
  it('shows how a service with PostgreSQL starts, and gets its first client with the role of the owner', async () => {
    const [block = ''] = blocksOf(readPage('docs/first-deployment.md'), 'sh', 'The package, with PostgreSQL');
    const PORT = String(await freePort());
    // As in a shell in which the block for SQLite was run.
    const before = { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: 'clients.db' };
    const settings = { ...PATIENT, ...withTools(), ...before, PORT, MANAGEMENT_PORT: '0', SHUTDOWN_GRACE_MS: '0' };
    await using service = runLine(here(block), settings);
    const [, secret = ''] = await service.printed(/client_secret +(\w+)[\s\S]+"event":"started"/);
    expect(await getAccessToken(`http://127.0.0.1:${PORT}`, 'billing', secret)).toMatch(/^eyJ/);
  });
});

describe('deploy/README.md', () => {
  it('shows how the archive and the units for systemd are installed, and get their first client, in this order', async () => {
    const [, install = '', start = ''] = blocksOf(readPage('deploy/README.md'), 'sh', 'systemd');
    await cp('deploy/systemd', join(folder, 'ccauth-0/deploy/systemd'), { recursive: true });
    await writeFile(join(folder, 'ccauth-0/ccauth'), `#!/bin/sh\n${PROGRAM} "$@"\n`, { mode: 0o755 });
    await mkdir(join(folder, 'etc/systemd/system'), { recursive: true });
    await mkdir(join(folder, 'opt'));
    const run = (script: string) =>
      promisify(execFile)('bash', ['-ec', script], {
        env: { ...environmentOfPrograms(), ...withTools(), SERVICE_ROLE: role },
      });
    await run(here('tar -czf ccauth-0.tar.gz ccauth-0'));
    const { stdout } = await run(here(`${install}\n${start}`));
    const [, secret = ''] = stdout.match(/client_secret +(\w+)/) ?? [];
    const etc = join(folder, 'etc/ccauth');
    const settings = { DATABASE_URL_FILE: join(etc, 'database-url'), KEY_SECRET_FILE: join(etc, 'key-secret') };
    await using service = await startServiceUnderTest({
      environment: { CLIENT_REPOSITORY: 'postgres', KEY_DIRECTORY: 'database', ...settings, ...PATIENT },
    });
    expect(await getAccessToken(service.url, 'billing', secret)).toMatch(/^eyJ/);
    await service.stop();
  });
});
