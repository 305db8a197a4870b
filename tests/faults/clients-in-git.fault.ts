import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { decodeJwt } from 'jose';
import { parse } from 'yaml';
import { manageClients } from '../../config/programs/clients-program.ts';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { getAccessToken } from '../support/http.ts';
import { environmentOfPrograms } from '../support/program.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';

const SAMPLES = 'deploy/clients-in-git';
const SECRET = 'a secret that only the jobs know';

/**
 * Runs a program of this checkout for `docker run … IMAGE <arguments>`, with the folder of its volume and the variables
 * that it passes on.
 */
const DOCKER = `
const args = process.argv.slice(2);
const volumes = args.flatMap((arg, index) => (arg === '--volume' ? [args[index + 1].split(':')] : []));
const here = (arg) => volumes.reduce((text, [from, to]) => (text.startsWith(to) ? text.replace(to, from) : text), arg);
const passed = args.flatMap((arg, index) => (arg === '--env' ? [args[index + 1]] : []));
const program = args.slice(args.indexOf(process.env.IMAGE) + 1).map(here);
const env = Object.fromEntries(['PATH', 'NODE_COMPILE_CACHE', ...passed].map((name) => [name, process.env[name]]));
const options = { cwd: ${JSON.stringify(process.cwd())}, env, stdio: 'inherit' };
process.exitCode = require('node:child_process').spawnSync(process.execPath, ['config/program.ts', ...program], options).status;
`;

/**
 * What `kubectl` and `vault` do with a secret in the samples: the one prints a document, which it then takes; both
 * store what they read.
 */
const STORE = `
const { appendFileSync, readFileSync } = require('node:fs');
const args = process.argv.slice(2);
const input = readFileSync(0, 'utf8');
const name = args.find((arg) => arg.startsWith('cc'));
const document = args[0] === 'apply' ? input : JSON.stringify([name, input]);
if (args[0] === 'create') process.stdout.write(document);
else appendFileSync('stored.txt', document + '\\n');
`;

interface Step {
  readonly run?: string;
}

interface Job {
  readonly if: string;
  readonly strategy: { readonly matrix: { readonly team: readonly string[] } };
  readonly steps: readonly Step[];
}

const github: { readonly env: Record<string, string>; readonly jobs: Readonly<Record<'plan' | 'apply', Job>> } = parse(
  readFileSync(join(SAMPLES, 'github-actions.yml'), 'utf8'),
);
const gitlab: Readonly<
  Record<
    string,
    {
      readonly script: readonly string[];
      readonly rules: readonly { readonly if: string; readonly allow_failure?: boolean }[];
      readonly parallel: { readonly matrix: readonly { readonly TEAM: readonly string[] }[] };
    }
  >
> = parse(readFileSync(join(SAMPLES, 'gitlab-ci.yml'), 'utf8'));
const kubernetes = parse(readFileSync('deploy/kubernetes/clients.yaml', 'utf8'));

let database: TestDatabase;
let service: ServiceUnderTest;
/** URLs of the roles that docs/clients-in-git.md creates. */
let reader: string;
let writer: string;
/** The checkout of a job, and the folder of generated secrets on its runner. */
let folder: string;
let secrets: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clients-in-git-'));
  const program = (name: string, text: string) =>
    writeFileSync(join(folder, name), `#!${process.execPath}\n${text}`, { mode: 0o755 });
  program('docker', DOCKER);
  for (const name of ['kubectl', 'vault']) program(name, STORE);
  secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  database = await createTestDatabase();
  const [reads, writes] = [await database.createRole(), await database.createRole()];
  const grant = ['--grant-to', writes.name, '--role-for', 'clients'];
  await runInProcess(migrateTables, grant, { DATABASE_URL: database.url });
  await database.query(`grant select on clients to ${reads.name}`);
  [reader, writer] = [reads.url, writes.url];
  const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT };
  service = await startServiceUnderTest({ environment });
});

afterAll(async () => {
  await service.stop();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Runs the lines of a job in a shell that ends at the first command that fails, as both products do. */
function runJob(script: string, url: string, more: Readonly<Record<string, string>> = {}) {
  const programs = environmentOfPrograms();
  const own = { DATABASE_URL: url, SECRET_BILLING: SECRET, SECRETS: secrets, GITHUB_STEP_SUMMARY: 'summary.md' };
  const env = { ...programs, PATH: `${folder}:${programs.PATH}`, ...own, ...more };
  return spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script], { encoding: 'utf8', env, cwd: folder });
}

const githubJob = (name: 'plan' | 'apply', url: string, GITHUB_EVENT_NAME = 'pull_request') => {
  const { steps, strategy } = github.jobs[name];
  expect(strategy.matrix.team).toEqual(['platform']);
  const scripts = steps.flatMap(({ run }) => run ?? []);
  return runJob(scripts.join('\n'), url, { ...github.env, SECRETS: secrets, TEAM: 'platform', GITHUB_EVENT_NAME });
};

/** The program of the archive is that of this checkout, run from the folder of the job. */
const gitlabJob = (name: string, url: string) => {
  const program = `${process.execPath} ${join(process.cwd(), 'config/program.ts')}`;
  const script = gitlab[name]?.script.join('\n').replaceAll('/opt/ccauth/ccauth', program) ?? '';
  expect(gitlab['.clients']?.parallel.matrix).toEqual([{ TEAM: ['platform'] }]);
  return runJob(script, url, { TEAM: 'platform' });
};

const storedIds = async () => (await database.query('select client_id from clients order by 1')).flatMap(Object.values);

function copySamples(): void {
  cpSync(join(SAMPLES, 'clients'), join(folder, 'clients'), { recursive: true });
  const reports = join(folder, 'clients/platform/reports.yaml');
  writeFileSync(reports, readFileSync(reports, 'utf8').replace('/var/lib/ccauth-secrets', secrets));
}

/** The secrets that the stand-ins of `kubectl` and `vault` have got, by their names. */
const storedSecrets = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readFileSync(join(folder, 'stored.txt'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );

describe('the samples for clients in Git', () => {
  it('show in a pull request what would change, as a role that only reads, and change it on main', async () => {
    copySamples();
    const planned = githubJob('plan', reader);
    expect(planned).toMatchObject({ status: 0, stdout: expect.stringMatching(/^add +billing/m) });
    expect(readFileSync(join(folder, 'summary.md'), 'utf8')).toMatch(/^### platform\n\n```[\s\S]+^add +reports/m);
    expect(await storedIds()).toEqual([]);
    expect(githubJob('apply', writer)).toMatchObject({ status: 0 });
    const stored = storedSecrets();
    expect(Object.keys(stored)).toEqual(['ccauth-client-reports']);
    expect(await getAccessToken(service.url, 'reports', stored['ccauth-client-reports'] ?? '')).toMatch(/^eyJ/);
    expect(readdirSync(secrets)).toEqual([]);
    const claims = decodeJwt(await getAccessToken(service.url, 'billing', SECRET));
    expect(claims).toMatchObject({ sub: 'billing', tenant: 'acme', groups: ['finance'] });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(120);
    expect(gitlabJob('clients plan', reader)).toMatchObject({ status: 0, stdout: '' });
    // What somebody changes by hand fails the next scheduled plan.
    expect(githubJob('plan', reader, 'schedule')).toMatchObject({ status: 0 });
    await database.query("update clients set scope = 'everything' where client_id = 'billing'");
    expect(githubJob('plan', reader, 'schedule')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('scope'),
    });
    expect(githubJob('plan', reader)).toMatchObject({ status: 0 });
    expect(gitlabJob('clients plan', reader)).toMatchObject({ status: 4 });
  });

  it('remove a client whose file is removed, and tell it by the exit code of a plan', async () => {
    copySamples();
    githubJob('apply', writer);
    for (const name of ['billing', 'reports']) rmSync(join(folder, `clients/platform/${name}.yaml`));
    const left = { client_id: 'left', client_name: 'A', scope: 'a', client_secret: await bcrypt.hash(SECRET, 4) };
    writeFileSync(join(folder, 'clients/platform/left.json'), JSON.stringify([left]));
    expect(gitlabJob('clients plan', reader)).toMatchObject({
      status: 4,
      stdout: expect.stringMatching(/^remove +billing/m),
    });
    expect(gitlabJob('clients apply', writer)).toMatchObject({ status: 0 });
    expect(await storedIds()).toEqual(['left']);
    copySamples();
    rmSync(join(folder, 'clients/platform/billing.yaml'));
    expect(gitlabJob('clients apply', writer)).toMatchObject({ status: 0 });
    const secret = storedSecrets()['ccauth/reports'] ?? '';
    expect(await getAccessToken(service.url, 'reports', secret)).toMatch(/^eyJ/);
    rmSync(join(folder, 'clients/platform/reports.yaml'));
    expect(gitlabJob('clients apply', writer)).toMatchObject({ status: 0 });
  });

  it('refuse clients that take the secret of another: the URL of the database, a file', async () => {
    copySamples();
    const thief = (id: string, secret: string) =>
      `- client_id: ${id}\n  client_name: A\n  scope: a\n  client_secret: ${secret}\n`;
    const text = thief('of-url', '{ env: DATABASE_URL }') + thief('of-file', '{ file: /etc/hostname }');
    writeFileSync(join(folder, 'clients/platform/thieves.yaml'), text);
    for (const done of [githubJob('plan', reader), githubJob('apply', writer), gitlabJob('clients apply', writer)]) {
      expect(done.stderr).toMatch(/client of-url: client_secret[\s\S]*client of-file: client_secret/);
      expect([0, 4]).not.toContain(done.status);
    }
    expect(await storedIds()).toEqual(['left']);
    rmSync(join(folder, 'clients/platform/thieves.yaml'));
  });

  it('never run for the files of a fork', () => {
    expect(github.jobs.plan.if).toContain('github.event.pull_request.head.repo.full_name == github.repository');
    expect(gitlab['clients plan']?.rules).toMatchObject([
      { if: expect.stringContaining('$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID') },
      { if: expect.stringContaining('"schedule" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH'), allow_failure: false },
    ]);
  });

  it('apply what Kubernetes mounts, with secrets from a Secret', async () => {
    const [container] = kubernetes.spec.template.spec.containers;
    const root = join(folder, 'etc');
    // As a cluster mounts them: each file is a link into a hidden folder that is replaced as a whole.
    for (const [name, file, text] of [
      ['clients', 'billing.yaml', readFileSync(join(SAMPLES, 'clients/platform/billing.yaml'), 'utf8')],
      ['client-secrets', 'billing', `${SECRET}\n`],
      ['database-url-file', 'url', `${writer}\n`],
    ] as const) {
      mkdirSync(join(root, name, '..2026_11_26'), { recursive: true });
      const secret = `{ file: ${join(root, 'client-secrets/billing')} }`;
      writeFileSync(join(root, name, '..2026_11_26', file), text.replace('{ env: SECRET_BILLING }', secret));
      symlinkSync('..2026_11_26', join(root, name, '..data'));
      symlinkSync(`..data/${file}`, join(root, name, file));
    }
    const here = (text: string) => text.replace('/etc/ccauth', root);
    const [{ name, value }] = container.env;
    const [command, ...args] = container.args.map(here);
    expect(command).toBe('clients');
    const done = await runInProcess(manageClients, args, { [name]: here(value) });
    expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^(add|change) +billing/m) });
    expect(await getAccessToken(service.url, 'billing', SECRET)).toMatch(/^eyJ/);
  });
});
