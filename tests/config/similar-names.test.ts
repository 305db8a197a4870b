import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { settingMeantBy } from '../../config/settings/similar-names.ts';
import { closestTo, editDistance } from '../../domain/edit-distance.ts';
import { readSettings, SETTING_NAMES } from '../support/all-settings.ts';

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  const settings = readSettings({ ...MEMORY, ...environment });
  return settings.ok ? [] : settings.problem;
}

/** What shells, platforms, container engines and other programs set. */
const OF_OTHERS =
  `PATH HOME USER LOGNAME SHELL SHLVL TERM LANG LC_ALL TZ PWD OLDPWD EDITOR PAGER TMPDIR HOSTNAME HOSTTYPE OSTYPE MAIL DISPLAY
  HOSTS PORTS PORT0 PORT1 PORT_8080 POST MESOS_TASK_ID MARATHON_APP_ID DYNO WEB_CONCURRENCY SOURCE_VERSION
  K_SERVICE K_REVISION CLOUD_RUN_JOB GOOGLE_CLOUD_PROJECT AWS_REGION AWS_SECRET_ACCESS_KEY AWS_WEB_IDENTITY_TOKEN_FILE AZURE_CLIENT_ID
  WEBSITE_HOSTNAME RAILWAY_PUBLIC_DOMAIN RENDER_EXTERNAL_URL FLY_APP_NAME VCAP_SERVICES CF_INSTANCE_PORT NOMAD_PORT_http
  KUBERNETES_SERVICE_HOST KUBERNETES_PORT KUBERNETES_PORT_443_TCP WORKER_SERVICE_HOST WORKERS_SERVICE_PORT BASE_URL_SERVICE_HOST
  INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET LISTEN_FDS CREDENTIALS_DIRECTORY MEMORY_PRESSURE_WATCH
  NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_PATH npm_config_cache npm_lifecycle_event INIT_CWD NO_COLOR FORCE_COLOR CI DEBUG
  HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy SSL_CERT_FILE DOCKER_HOST COMPOSE_FILE GITHUB_TOKEN GITLAB_CI CI_JOB_TOKEN
  PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB POSTGRES_URL
  DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PORT DATABASE_PASSWORD DATABASE_SSL DATABASE_SSLMODE DATABASE_TLS DATABASE_DIR
  DB_URL DB_HOST REDIS_URL LOG_LEVEL LOG_FILE PID_FILE ENV_FILE BASE_DIR BASE_PATH BASE_IMAGE PUBLIC_URL PUBLIC_KEY PUBLIC_HOST
  WORKDIR WORKSPACE MANAGEMENT_URL MANAGEMENT_SERVER_PORT METADATA_URL GCE_METADATA_HOST SHUTDOWN_TIMEOUT TRUSTED_HOSTS WORKERS_MAX MAX_WORKERS
  OTEL_SERVICE_NAME OTEL_TRACES_EXPORTER OTEL_EXPORTER_OTLP_ENDPOINT OTEL_RESOURCE_ATTRIBUTES ASSERTION_KEY CLIENTS_MAX host port`
    .split(/\s+/)
    .filter((name) => name !== '');

describe('a name that is almost that of a setting', () => {
  it.each([
    ['PUBLIC_METADTA', 'PUBLIC_METADATA'],
    ['PUBLIC_METDATA', 'PUBLIC_METADATA'],
    ['PUBLICMETADATA', 'PUBLIC_METADATA'],
    ['public_metadata', 'PUBLIC_METADATA'],
    ['Public-Metadata', 'PUBLIC_METADATA'],
    ['MANAGMENT_PORT', 'MANAGEMENT_PORT'],
    ['MANAGEMNT_HOST', 'MANAGEMENT_HOST'],
    ['MANGMENT_PORT', 'MANAGEMENT_PORT'],
    ['DATABSE_URL_FILE', 'DATABASE_URL_FILE'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['DATABASE_DEADLINE', 'DATABASE_DEADLINE_MS'],
    ['DATABASE_POOL', 'DATABASE_POOL_SIZE'],
    ['SHUTDOWN_GRACE_SECONDS', 'SHUTDOWN_GRACE_MS'],
    ['BASE_URI', 'BASE_URL'],
    ['BASEURL', 'BASE_URL'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['METADATA_SCOPE', 'METADATA_SCOPES'],
    ['EXAMPLE_RESOURCES', 'EXAMPLE_RESOURCE'],
    ['CLIENTS_FILES', 'CLIENTS_FILE'],
  ])('%s is a problem that names %s', (name, meant) => {
    const { [meant as 'CLIENTS_FILE']: _meant, ...others } = MEMORY;
    const settings = readSettings({ ...others, [name]: 'x' });
    const problems = settings.ok ? [] : settings.problem;
    expect(problems).toContain(`${name}: is not a setting of this service: did you mean ${meant}?`);
  });

  it.each([
    ['TOKEN_LIFETIME', 'TOKEN_LIFETIME_SECONDS'],
    ['TOKEN_LIFETIM_SECONDS', 'TOKEN_LIFETIME_SECONDS'],
    ['TOKEN_SCOPE', 'TOKEN_SCOPE_CLAIM'],
    ['CLIENT_FILE', 'CLIENTS_FILE'],
    ['KEY_ROTATION_MS', 'KEY_ROTATION_SECONDS'],
    ['CLIENT_AUTHENTICATION', 'CLIENT_AUTHENTICATION_METHODS'],
    ['KEY_FILE_PATH', 'KEY_FILE'],
  ])('%s, with a prefix of ours, may be further away from %s', (name, meant) => {
    expect(problemsOf({ [name]: 'x', CLIENTS_FILE: '', CLIENT_REPOSITORY: '' })).toContain(
      `${name}: is not a setting of this service: did you mean ${meant}?`,
    );
  });

  it('is found as docs/settings.md says, by its examples', () => {
    const [, found = '', ignored = ''] =
      /\n## Names\n(.*)\nAll other names(.*?)\n## /s.exec(readFileSync('docs/settings.md', 'utf8')) ?? [];
    const unknown = (text: string) =>
      [...text.matchAll(/`([A-Z]\w*[A-Z])`/g)].flatMap(([, name = '']) => (SETTING_NAMES.includes(name) ? [] : name));
    expect(unknown(found)).toHaveLength(9);
    for (const name of unknown(found)) expect(problemsOf({ [name]: 'x' })).toHaveLength(1);
    expect(unknown(ignored)).toHaveLength(5);
    for (const name of unknown(ignored)) expect(problemsOf({ [name]: 'x' })).toEqual([]);
  });

  it('is no problem if the setting is given too: somebody else means something by it', () => {
    expect(problemsOf({ DATABASE_URI: 'x', DATABASE_URL: 'postgresql://db.test/auth' })).toEqual([]);
  });

  it('is none of the names that shells, platforms and other programs set', () => {
    const environment = Object.fromEntries(OF_OTHERS.map((name) => [name, 'x']));
    const settings = readSettings({ ...environment, ...MEMORY });
    expect(settings.ok ? [] : settings.problem).toEqual([]);
  });

  it('is no variable that Kubernetes adds for a Service with a similar name', () => {
    expect(problemsOf({ MANAGMENT_PORT: 'tcp://10.0.0.1:8081', MANAGMENT_SERVICE_PORT: '8081' })).toEqual([]);
    expect(problemsOf({ MANAGMENT_PORT: '8081' })).toHaveLength(1);
  });

  it('never means another setting by the name of a setting', () => {
    for (const name of SETTING_NAMES) {
      expect(settingMeantBy(name, SETTING_NAMES)).toBe(name.length < 6 ? undefined : name);
    }
  });
});

describe('closestTo', () => {
  it.each([
    ['biling', 'billing'],
    ['BILLING', 'billing'],
    ['repotrs-nihgtly', 'reports-nightly'],
    ['bill', undefined],
    ['payments', undefined],
    ['', undefined],
  ])('takes %j for %j', (given, meant) => {
    expect(closestTo(given, ['reports', 'billing', 'billing-2', 'reports-nightly'])).toBe(meant);
  });
});

describe('editDistance', () => {
  it('counts letters that are inserted, deleted, replaced or swapped', () => {
    expect(['', 'ab', 'abcd', 'abd', 'xbc', 'acb'].map((text) => editDistance('abc', text))).toEqual([
      3, 1, 1, 1, 1, 1,
    ]);
  });

  it('is the same in both directions, and 0 for the same text only', () => {
    const word = fc.string({ unit: fc.constantFrom(...'ABC_'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (one, other) => {
        expect(editDistance(one, other)).toBe(editDistance(other, one));
        expect(editDistance(one, other) === 0).toBe(one === other);
      }),
    );
  });
});

describe('a value', () => {
  it.each([
    ['"8080"', '; its quotation marks are part of it: files for docker --env-file have none'],
    ['tcp://10.0.0.1:8080', '; Kubernetes sets it for a Service: switch enableServiceLinks off'],
    ['x', ''],
  ])('%j: says what often is wrong with it', (PORT, hint) => {
    expect(problemsOf({ PORT })).toEqual([`PORT: must be a whole number from 0 to 65535${hint}`]);
  });
});

describe('the URL of a database', () => {
  const RULE = 'DATABASE_URL: must be a URL such as postgresql://role:password@host:5432/database';
  const problemOf = (DATABASE_URL: string) => problemsOf({ DATABASE_URL }).join();

  it.each([
    'its#secret',
    'its/secret',
    'its?secret',
    '1#secret',
    '1/secret',
    '5432?secret',
    'its[#secret',
    '12/its+secret=',
  ])('with the password %s: says to percent-encode it, and does not show it', (password) => {
    const problem = problemOf(`postgresql://role:${password}@db.test:5432/auth`);
    expect(problem).toContain(`${RULE}: in the role and the password write # as %23`);
    expect(problem).not.toContain('secret');
  });

  it.each([
    'postgresql://role:its%23secret@db.test/auth',
    'postgresql://role@db.test/auth?sslmode=require',
    'postgresql:///auth?host=/run/postgresql&user=a@b',
    'postgres://role:its@secret@db.test/auth',
    'postgresql://role:its,secret@db.test/auth',
  ])('accepts %s', (url) => expect(problemOf(url)).toBe(''));

  it.each(['role:secret@a,b', 'role:secret@a:5432,b:5432'])(
    'with several hosts, %s: says that it takes one',
    (hosts) => {
      const problem = problemOf(`postgresql://${hosts}/auth?target_session_attrs=read-write`);
      expect(problem).toBe(
        'DATABASE_URL: must name one host, which follows the primary: docs/operations.md, "Failover and upgrade of PostgreSQL"',
      );
    },
  );
});
