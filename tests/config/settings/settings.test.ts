import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readKeyFile } from '../../../adapters/jwt/read-key-file.ts';
import { readRuleCheck } from '../../../config/programs/rule-check.ts';
import { followDatabaseUrl } from '../../../config/settings/database-url.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { databaseOf } from '../../../config/settings/program-database.ts';
import { readSettings, settingWarnings } from '../../../config/settings/settings.ts';
import { settingMeantBy } from '../../../config/settings/similar-names.ts';
import { verifiedMethods } from '../../../config/settings/verified-methods.ts';
import { inWords } from '../../../domain/problem.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { SETTING_NAMES } from '../../support/all-settings.ts';
import { anyText } from '../../support/any-text.ts';
import { problemsIn } from '../../support/problems.ts';

describe('settings', () => {
  const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
  const POSTGRES = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: 'postgresql://service:its-password@db.test/auth' };
  const TOKEN = { MANAGEMENT_TOKEN: 'an-operator-token-of-32-characters' };

  function problemsOf(environment: Record<string, string>): readonly string[] {
    return problemsIn(readSettings(environment));
  }

  describe('readSettings', () => {
    it('listens on the loopback address only, unless another address is set', () => {
      expect(readSettings(MEMORY)).toMatchObject({ value: { HOST: '127.0.0.1', MANAGEMENT_HOST: '127.0.0.1' } });
    });

    it('takes the issuer from BASE_URL and BASE_URL from PORT, unless they are set', () => {
      expect(readSettings({ ...MEMORY, PORT: '9000' })).toMatchObject({
        value: { TOKEN_ISSUER: 'http://localhost:9000' },
      });
      expect(readSettings({ ...MEMORY, BASE_URL: 'https://a.example/b' })).toMatchObject({
        value: { TOKEN_ISSUER: 'https://a.example/b' },
      });
      expect(readSettings({ ...MEMORY, TOKEN_ISSUER: 'any text' })).toMatchObject({
        value: { BASE_URL: 'http://localhost:8080', TOKEN_ISSUER: 'any text' },
      });
    });

    it.each<[Readonly<Record<string, string>>, ...problems: string[]]>([
      [{}, 'CLIENT_REPOSITORY: must be set, to memory or sqlite or postgres'],
      [{ CLIENT_REPOSITORY: 'redis' }, 'CLIENT_REPOSITORY: must be memory or sqlite or postgres'],
      [{ CLIENT_REPOSITORY: 'memory' }, 'CLIENTS_FILE: is required if CLIENT_REPOSITORY is memory'],
      [{ CLIENT_REPOSITORY: 'postgres' }, 'DATABASE_URL: is required if CLIENT_REPOSITORY is postgres'],
      [{ ...POSTGRES, KEY_DIRECTORY: 'postgres' }, 'KEY_DIRECTORY: must be memory or database'],
      [
        { ...POSTGRES, KEY_DIRECTORY: 'database' },
        'KEY_SECRET_FILE: is required if KEY_DIRECTORY is database: (umask 077 && openssl rand -base64 32 > FILE) writes one',
      ],
      [
        { ...MEMORY, KEY_DIRECTORY: 'database', KEY_SECRET_FILE: 'secret' },
        'KEY_DIRECTORY: database requires CLIENT_REPOSITORY=sqlite or CLIENT_REPOSITORY=postgres',
      ],
      [
        { ...POSTGRES, KEY_DIRECTORY: 'database', KEY_SECRET_FILE: 'secret', KEY_FILE: 'key.pem' },
        'KEY_FILE: must not be set if KEY_DIRECTORY is database, which has keys of its own',
      ],
      [
        { ...POSTGRES, KEY_DIRECTORY: 'database', KEY_SECRET_FILE: 'secret', KEY_ROTATION_SECONDS: '0' },
        'KEY_ROTATION_SECONDS: must not be 0 if KEY_DIRECTORY is database: 31536000 is a year, and npm run keys -- rotate rotates at any time',
      ],
      [
        {
          ...POSTGRES,
          KEY_DIRECTORY: 'database',
          KEY_SECRET_FILE: 'secret',
          KEY_ROTATION_SECONDS: '179',
          KEY_PUBLICATION_SECONDS: '60',
          TOKEN_LIFETIME_SECONDS: '86400',
        },
        'KEY_ROTATION_SECONDS: must be at least 180 with this TOKEN_LIFETIME_SECONDS',
      ],
      [{ ...POSTGRES, DATABASE_URL_FILE: 'url.txt' }, 'DATABASE_URL: must not be set if DATABASE_URL_FILE is set'],
      [
        { ...MEMORY, CLIENT_AUTHENTICATION_METHODS: 'client_secret_post client_secret_basic' },
        'CLIENT_AUTHENTICATION_METHODS: must be a list, separated by commas, of client_secret_post client_secret_basic private_key_jwt federated_jwt, each at most once',
      ],
      [
        { ...MEMORY, CLIENT_AUTHENTICATION_METHODS: 'federated_jwt' },
        'CLIENT_ASSERTION_ISSUERS_FILE: is required if CLIENT_AUTHENTICATION_METHODS has federated_jwt',
      ],
      [
        { ...MEMORY, ...TOKEN, MANAGEMENT_TOKEN_FILE: 'x' },
        'MANAGEMENT_TOKEN: must not be set if MANAGEMENT_TOKEN_FILE is set',
      ],
      [
        { ...MEMORY, ...TOKEN, MANAGEMENT_PORT: '0' },
        'MANAGEMENT_TOKEN: needs a management port: set MANAGEMENT_PORT=8081 or another port',
      ],
      [
        { ...MEMORY, MANAGEMENT_TOKEN_FILE: 'x', MANAGEMENT_PORT: '0' },
        'MANAGEMENT_TOKEN_FILE: needs a management port: set MANAGEMENT_PORT=8081 or another port',
      ],
      ...['TOKEN_PROFILE=rfc9068', 'TOKEN_PROFILE=common', 'SERVICE_PROFILE=standard'].map(
        (set): [Readonly<Record<string, string>>, string] => [
          { ...MEMORY, ...Object.fromEntries([set.split('=')]) },
          'TOKEN_AUDIENCE: is required if TOKEN_PROFILE is rfc9068 or common, or SERVICE_PROFILE is standard: write the URL of the API that clients call with the token, such as https://api.example.com, which it finds in claim aud',
        ],
      ),
      [
        { ...MEMORY, METADATA_COMPATIBILITY: 'mcp' },
        'PUBLIC_METADATA: must be true if METADATA_COMPATIBILITY has mcp, since these clients fetch it without a token',
      ],
      [{ ...MEMORY, KEY_FILE: 'x', KEY_ROTATION_SECONDS: '300' }, 'KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set'],
      [
        { ...MEMORY, PORT: '0' },
        'BASE_URL: is required, since there is no fixed port: set the URL under which callers reach the service',
      ],
      [
        { ...MEMORY, CLIENT_SECRET_COST: '12', CLIENT_SECRET_COST_MAX: '11', KEY_ROTATION_SECONDS: '10', PORT: '8081' },
        'CLIENT_SECRET_COST_MAX: must be at least CLIENT_SECRET_COST',
        'KEY_ROTATION_SECONDS: must be 0 or at least twice KEY_PUBLICATION_SECONDS',
        'PORT: 8081 is MANAGEMENT_PORT too: set one of them to another port',
      ],
    ])('refuses %j: %s', (environment, ...problems) => {
      expect(problemsOf(environment)).toEqual(problems);
    });

    const NORMAL = 'must be in its normal form: ';
    it.each([
      ['localhost:8080', 'must be an http or https URL, such as https://auth.example.com'],
      ['//a', 'must be an http or https URL, such as https://auth.example.com'],
      ['https://u:its-password@a', 'must be without user and password'],
      ['http://a?', 'must be without query and fragment'],
      ['http://a#b', 'must be without query and fragment'],
      ['http://a/b/', 'must not end with a slash'],
      [
        'http://0.0.0.0:8080',
        'must have the name or the address by which callers reach the service: 0.0.0.0 and [::] mean every address of this machine',
      ],
      ['https://a/oauth2/token', 'must end before /oauth2: the service adds the paths of its endpoints'],
      ['https://A.example', `${NORMAL}https://a.example`],
      ['https://a.example:443/b', `${NORMAL}https://a.example/b`],
      ['https://a/b/../c', `${NORMAL}https://a/c`],
    ])('says what is wrong with the BASE_URL %s: it %s', (BASE_URL, problem) => {
      expect(problemsOf({ ...MEMORY, BASE_URL })).toEqual([`BASE_URL: ${problem}`]);
    });

    it.each([
      ['PORT', ['-1', '65536', '1e3', '080', '0x50', ' 80', '8080 ', 'http']],
      ['MANAGEMENT_ALLOWED_HOSTS', ['a,', 'a,,b', 'a:8081', 'http://a', '*', '*.a', 'a.', '.a', '[::1]', 'a b']],
      ['TOKEN_LIFETIME_SECONDS', ['0', '86401', '1.5', '5m', '+5', '99999999999999999999']],
      ['CLIENT_SECRET_COST', ['3', '15']],
      ['TOKEN_SCOPE_CLAIM', ['yes', 'TRUE', '1']],
      ['EXAMPLE_RESOURCE', ['off']],
      ['PUBLIC_METADATA', ['True']],
      ['LOCATION_FIELD_ORDER', ['random']],
      ['METADATA_SCOPES', ['read  write', 'a"b']],
      ['KEY_DIRECTORY', ['file']],
      ['TOKEN_PROFILE', ['jwt']],
      ['BASE_URL', ['ftp://a', 'http://a/', 'http://a b', '/']],
      ['DATABASE_URL', ['mysql://a', 'a', 'postgresql://a\nb', 'postgresql://a:p%ff@b/c']],
      ['DATABASE_URL_FILE', [' url.txt']],
      [
        'MANAGEMENT_TOKEN',
        [
          'a-token-with-31-characters-only',
          'a-token-of-32 characters-and-a-space',
          'a-token-of-32-characters-with-ümlaut',
          'x'.repeat(1_025),
        ],
      ],
      [
        'TRUSTED_PROXIES',
        ['localhost', '10.1.0.0/0', '::/0', '10.1.0.0/33', 'fd00::/129', '10.1.0.0/', '10.1.0.0/08', '10.0.0/8'],
      ],
      ['TRUSTED_PROXIES', ['10.1.0.0/8,', ',', '10.1.0.0/8 fd00::/8', '10.1.0.0/8/8', 'fe80::1%eth0', '10.1.0.0/-1']],
    ])('%s: names the setting and the rule, never the value', (name, values) => {
      for (const value of values) {
        const problems = problemsOf({ ...MEMORY, [name]: value });
        expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: must (be|not) `))]);
        if (value.length > 4) expect(problems.join()).not.toContain(value);
      }
    });

    it('reads trusted proxies as ranges of addresses', () => {
      const settings = readSettings({ ...MEMORY, TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.1,fd00::/8,2001:db8::1' });
      expect(settings.ok && settings.value.TRUSTED_PROXIES).toEqual([
        { address: '10.0.0.0', prefixBits: 8 },
        { address: '192.0.2.1', prefixBits: 32 },
        { address: 'fd00::', prefixBits: 8 },
        { address: '2001:db8::1', prefixBits: 128 },
      ]);
    });

    it('reports every problem at once', () => {
      expect(problemsOf({ CLIENT_REPOSITORY: 'x', PORT: 'x', TOKEN_LIFETIME_SECONDS: 'x', TOKEN_X: 'x' })).toHaveLength(
        4,
      );
    });

    it('treats an empty value as not set', () => {
      expect(problemsOf({ ...MEMORY, PORT: '', TOKEN_ISSUER: '', TOKEN_X: '' })).toEqual([]);
      expect(problemsOf({ ...MEMORY, CLIENTS_FILE: '' })).toHaveLength(1);
    });

    it('ignores names that do not belong to the service', () => {
      expect(problemsOf({ ...MEMORY, PATH: 'x', CLIENTS_X: 'x', HOSTNAME: 'x' })).toEqual([]);
    });

    it.each(['TOKEN', 'TOKEN_SERVICE', 'CLIENT_REGISTRY_2', 'KEY_STORE'])(
      'ignores the variables that Kubernetes adds for a Service, with names that begin with %s',
      (service) => {
        const names = [
          '_SERVICE_HOST',
          '_SERVICE_PORT',
          '_SERVICE_PORT_HTTP',
          '_SERVICE_PORT_HTTP_METRICS',
          '_PORT',
          ...['TCP', 'UDP', 'SCTP'].flatMap((protocol) =>
            ['', '_PROTO', '_PORT', '_ADDR'].map((part) => `_PORT_8080_${protocol}${part}`),
          ),
        ].map((suffix) => service + suffix);
        const added = Object.fromEntries(names.map((name) => [name, 'tcp://10.0.0.1:8080']));
        expect(problemsOf({ ...MEMORY, ...added })).toEqual([]);
      },
    );

    it.each([
      'TOKEN_LIFETIM',
      'TOKEN_SERVICE',
      'TOKEN_HOST',
      'TOKEN_SERVICE_HOSTS',
      'TOKEN_SERVICE_PORTS',
      'TOKEN_REPORT',
      'TOKEN_PORT_8080',
      'TOKEN_PORT_HTTP_TCP',
      'TOKEN_PORT_8080_TCP_HOST',
      'TOKEN_PORT_8080_TCP_PORT_X',
      'TOKEN_SERVICE_PORT_http',
    ])('reports %s, which is similar but not a name that Kubernetes adds', (name) => {
      expect(problemsOf({ ...MEMORY, [name]: 'x' })).toEqual([
        expect.stringMatching(`^${name}: is not a setting of this service`),
      ]);
    });

    it.each(['MIKRO_ORM_SCHEMA', 'MIKRO_ORM_CLIENT_URL', 'NODE_PG_FORCE_NATIVE'])(
      'refuses %s, which changes a library behind its back',
      (name) => {
        const text = `${name}: changes a library of this service, which sets everything itself: unset it`;
        expect(problemsOf({ ...MEMORY, [name]: '1' })).toEqual([text]);
        const database = databaseOf({ DATABASE_URL: POSTGRES.DATABASE_URL, [name]: '1' }, () => success(''));
        expect(database).toEqual({ ok: false, problem: text });
      },
    );

    it('returns settings that cannot be changed', () => {
      const settings = readSettings(MEMORY);
      expect(settings.ok && Object.isFrozen(settings.value)).toBe(true);
    });

    it('does not print the password of the database', () => {
      const settings = readSettings(POSTGRES);
      if (!settings.ok) throw new Error('refused');
      for (const shown of [
        inspect(settings.value, { depth: 9, showHidden: true }),
        JSON.stringify(settings.value),
        `${settings.value.DATABASE_URL}`,
      ]) {
        expect(shown).not.toContain('its-password');
      }
      expect(settings.value.DATABASE_URL?.reveal()).toBe(POSTGRES.DATABASE_URL);
    });
  });

  describe('SERVICE_PROFILE', () => {
    const STANDARD = { ...MEMORY, SERVICE_PROFILE: 'standard', TOKEN_AUDIENCE: 'https://api.test' };
    const CHANGED = {
      CLIENT_AUTHENTICATION_METHODS: ['client_secret_post', 'client_secret_basic', 'private_key_jwt'],
      TOKEN_PROFILE: 'common',
      AUDIENCE_PARAMETER: 'resource',
      TOKEN_RESPONSE_SCOPE: 'always',
      PUBLIC_METADATA: true,
      METADATA_COMPATIBILITY: ['mcp', 'oidc'],
      EXAMPLE_RESOURCE: false,
    };

    it('has no effect as specification, which is the default', () => {
      expect(readSettings({ ...MEMORY, SERVICE_PROFILE: 'specification' })).toEqual(readSettings(MEMORY));
    });

    it('as standard changes the defaults that the page names, and no others', () => {
      const [read, before] = [readSettings(STANDARD), readSettings({ ...MEMORY, TOKEN_AUDIENCE: 'https://api.test' })];
      if (!read.ok || !before.ok) throw new Error('refused');
      expect(read.value).toEqual({ ...before.value, SERVICE_PROFILE: 'standard', ...CHANGED });
      const page = readFileSync('docs/settings.md', 'utf8');
      const named = [...page.matchAll(/^\| `(\w+)` \| [^|]*; with `standard`: /gm)].map(([, name]) => name);
      expect(named.toSorted()).toEqual(Object.keys(CHANGED).toSorted());
    });

    it.each([
      ['CLIENT_AUTHENTICATION_METHODS', 'client_secret_post', ['client_secret_post']],
      ['TOKEN_PROFILE', 'default', 'default'],
      ['TOKEN_PROFILE', 'rfc9068', 'rfc9068'],
      ['AUDIENCE_PARAMETER', 'ignored', 'ignored'],
      ['TOKEN_RESPONSE_SCOPE', 'requested', 'requested'],
      ['PUBLIC_METADATA', 'false', false],
      ['METADATA_COMPATIBILITY', 'none', undefined],
      ['METADATA_COMPATIBILITY', 'mcp', ['mcp']],
      ['EXAMPLE_RESOURCE', 'true', true],
    ])('as standard leaves %s to the operator, such as %s', (name, text, value) => {
      expect(readSettings({ ...STANDARD, [name]: text })).toMatchObject({ value: { ...CHANGED, [name]: value } });
    });

    it('as standard still finds a typo of a setting that it changes', () => {
      expect(problemsOf({ ...STANDARD, PUBLIC_METADTA: 'false' })).toEqual([
        'PUBLIC_METADTA: is not a setting of this service: did you mean PUBLIC_METADATA?',
      ]);
    });

    it('is no other text, and a name that begins like it is a typo', () => {
      expect(problemsOf({ ...MEMORY, SERVICE_PROFILE: 'default' })).toEqual([
        'SERVICE_PROFILE: must be specification or standard',
      ]);
      expect(problemsOf({ ...MEMORY, SERVICE_PROFIL: 'standard', SERVICE_MODE: 'standard' })).toEqual([
        'SERVICE_PROFIL: is not a setting of this service: did you mean SERVICE_PROFILE?',
        'SERVICE_MODE: is not a setting of this service',
      ]);
    });
  });

  describe('the samples for deployments', () => {
    const COMPOSE = /^ +([A-Z][A-Z_]+):(?: (.*))?$/gm;
    const FILES = {
      'deploy/systemd/ccauth.env': /^([A-Z_]+)=(.*)$/gm,
      'deploy/kubernetes/ccauth.yaml': /- name: ([A-Z_]+)\n +value: "?([^"\n]*)"?/g,
      'docker-compose.yml': COMPOSE,
      'deploy/compose/replicas.yml': COMPOSE,
    };

    it.each(Object.entries(FILES))('%s: have the profile for common clients, and an audience', (file, pattern) => {
      // Compose passes on what has no value, and an empty value counts as absent.
      const given = [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, name, value = '']) => [name, value]);
      const { SERVICE_PROFILE, TOKEN_AUDIENCE, PUBLIC_METADATA = '' } = Object.fromEntries(given);
      expect([SERVICE_PROFILE, PUBLIC_METADATA]).toEqual(['standard', '']);
      expect(TOKEN_AUDIENCE).toMatch(/^(\$\{TOKEN_AUDIENCE:\?write the URL .*\}|https:\/\/api\.example\.com)$/);
    });
  });

  describe('GRANT_TYPES', () => {
    it('is client_credentials alone by default, also as standard', () => {
      for (const SERVICE_PROFILE of ['specification', 'standard']) {
        const read = readSettings({ ...MEMORY, SERVICE_PROFILE, TOKEN_AUDIENCE: 'https://api.test' });
        expect(read).toMatchObject({ value: { GRANT_TYPES: ['client_credentials'] } });
      }
    });

    it.each([
      ['client_credentials,jwt-bearer', ['client_credentials', 'jwt-bearer']],
      ['jwt-bearer', ['jwt-bearer']],
      [
        'client_credentials, urn:ietf:params:oauth:grant-type:jwt-bearer, jwt-bearer',
        ['client_credentials', 'jwt-bearer'],
      ],
    ])('%s', (text, grants) => {
      expect(readSettings({ ...MEMORY, GRANT_TYPES: text })).toMatchObject({ value: { GRANT_TYPES: grants } });
    });

    it.each(['none', 'password', 'client_credentials,password'])('cannot be %s', (text) => {
      expect(problemsOf({ ...MEMORY, GRANT_TYPES: text })).toEqual([
        expect.stringMatching(/^GRANT_TYPES: must be a list/),
      ]);
    });

    it.each([
      ['client_credentials', undefined, []],
      ['jwt-bearer', undefined, ['private_key_jwt']],
      ['client_credentials,jwt-bearer', 'issuers.json', ['private_key_jwt', 'federated_jwt']],
    ])('%s, with the file of issuers %s, also verifies %j', (GRANT_TYPES, file, more) => {
      const given = { ...MEMORY, GRANT_TYPES, ...(file !== undefined && { CLIENT_ASSERTION_ISSUERS_FILE: file }) };
      const read = readSettings(given);
      if (!read.ok) throw new Error('refused');
      expect(verifiedMethods(read.value)).toEqual(['client_secret_post', ...more]);
    });
  });

  describe('a list setting', () => {
    it.each(['TRUSTED_PROXIES', 'MANAGEMENT_ALLOWED_HOSTS', 'METADATA_COMPATIBILITY', 'METADATA_SCOPES'])(
      '%s counts as absent if it is none',
      (name) => {
        expect(readSettings({ ...MEMORY, [name]: 'none' })).toEqual(readSettings(MEMORY));
      },
    );

    it('CLIENT_AUTHENTICATION_METHODS cannot be none, since no client would get a token', () => {
      expect(problemsOf({ ...MEMORY, CLIENT_AUTHENTICATION_METHODS: 'none' })).toEqual([
        expect.stringMatching(/^CLIENT_AUTHENTICATION_METHODS: must be a list/),
      ]);
    });
  });

  const problemsBeside = (environment: Readonly<Record<string, string>>) => problemsOf({ ...MEMORY, ...environment });

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
      ['MANAGEMENT_PROT', 'MANAGEMENT_PORT'],
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
      const problems = problemsIn(readSettings({ ...others, [name]: 'x' }));
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
      expect(problemsBeside({ [name]: 'x', CLIENTS_FILE: '', CLIENT_REPOSITORY: '' })).toContain(
        `${name}: is not a setting of this service: did you mean ${meant}?`,
      );
    });

    it('is found as docs/settings.md says, by its examples', () => {
      const [, found = '', ignored = ''] =
        /\n## Names\n(.*)\nAll other names(.*?)\n## /s.exec(readFileSync('docs/settings.md', 'utf8')) ?? [];
      const unknown = (text: string) =>
        [...text.matchAll(/`([A-Z]\w*[A-Z])`/g)].flatMap(([, name = '']) => (SETTING_NAMES.includes(name) ? [] : name));
      expect(unknown(found)).toHaveLength(7);
      for (const name of unknown(found)) expect(problemsBeside({ [name]: 'x' })).toHaveLength(1);
      expect(unknown(ignored)).toHaveLength(5);
      for (const name of unknown(ignored)) expect(problemsBeside({ [name]: 'x' })).toEqual([]);
    });

    it('is no problem if the setting is given too: somebody else means something by it', () => {
      expect(problemsBeside({ DATABASE_URI: 'x', DATABASE_URL: 'postgresql://a@db.test/auth' })).toEqual([]);
    });

    it('is none of the names that shells, platforms and other programs set', () => {
      const environment = Object.fromEntries(OF_OTHERS.map((name) => [name, 'x']));
      expect(problemsIn(readSettings({ ...environment, ...MEMORY }))).toEqual([]);
    });

    it('is no variable that Kubernetes adds for a Service with a similar name', () => {
      expect(problemsBeside({ MANAGMENT_PORT: 'tcp://10.0.0.1:8081', MANAGMENT_SERVICE_PORT: '8081' })).toEqual([]);
      expect(problemsBeside({ MANAGMENT_PORT: '8081' })).toHaveLength(1);
    });

    it('never means another setting by the name of a setting', () => {
      for (const name of SETTING_NAMES) {
        expect(settingMeantBy(name, SETTING_NAMES)).toBe(name.length < 6 ? undefined : name);
      }
    });
  });

  describe('a value', () => {
    it.each([
      ['tcp://10.0.0.1:8080', '; Kubernetes sets it for a Service: switch enableServiceLinks off'],
      ['x', ''],
    ])('%j: says what often is wrong with it', (PORT, hint) => {
      expect(problemsBeside({ PORT })).toEqual([`PORT: must be a whole number from 0 to 65535${hint}`]);
    });

    it.each(['PORT', 'HOST', 'TOKEN_AUDIENCE', 'AUDIT_FILE', 'MANAGEMENT_TOKEN'])(
      'of %s has no quotation marks',
      (name) => {
        const problem = `${name}: must not be in quotation marks: files for docker --env-file have none`;
        for (const value of ['"8080"', "'8080'", '""']) expect(problemsBeside({ [name]: value })).toContain(problem);
      },
    );
  });

  describe('the URL of a database', () => {
    const RULE = 'DATABASE_URL: must be a URL such as postgresql://role:password@host:5432/database';
    const problemOf = (DATABASE_URL: string) => problemsBeside({ DATABASE_URL }).join();

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

    const PARTS = 'postgresql://role:password@host:5432/database';
    it.each([
      ['postgresql://role:secret@db.test', 'database'],
      ['postgresql://role:secret@db.test:5432/', 'database'],
      ['postgresql://role:secret@db.test?sslmode=require&dbname=auth', 'database'],
      ['postgresql://db.test/auth', 'role'],
      ['postgresql:///auth?user=role', 'host'],
      ['postgresql:///', 'role and the host and the database'],
    ])('without a part that the driver would assume, %s: names the %s', (url, part) => {
      expect(problemOf(url)).toBe(`DATABASE_URL: must name the ${part}: ${PARTS}`);
    });

    it.each(['role:secret@a,b', 'role:secret@a:5432,b:5432'])(
      'with several hosts, %s: says that it takes one',
      (hosts) => {
        const problem = problemOf(`postgresql://${hosts}/auth?target_session_attrs=read-write`);
        expect(problem).toBe(
          'DATABASE_URL: must name one host, which follows the primary: docs/operate.md, "Failover and upgrade of PostgreSQL"',
        );
      },
    );
  });

  describe('an https BASE_URL', () => {
    const HTTPS = { ...MEMORY, BASE_URL: 'https://auth.test' };
    const hint = expect.stringMatching(/^TRUSTED_PROXIES: is not set, .* set the addresses .*, or none if/);

    it.each([{}, { TRUSTED_PROXIES: '' }, { PORT: '8443' }])(
      'causes a warning if nothing says who ends TLS, and so that callers may share an address: %p',
      (more) => {
        expect(readSettings({ ...HTTPS, ...more }).ok).toBe(true);
        expect(settingWarnings({ ...HTTPS, ...more }).map(inWords)).toEqual([hint]);
      },
    );

    it.each([
      ['the service', { TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key' }],
      ['a proxy that is named', { TRUSTED_PROXIES: '10.0.0.1' }],
      ['something that keeps the addresses of callers', { TRUSTED_PROXIES: 'none' }],
      ['the server that calls it as a function', { PORT: '0' }],
      ['nobody', { BASE_URL: 'http://auth.test' }],
    ])('causes none if TLS is ended by %s', (_who, more) => {
      expect(settingWarnings({ ...HTTPS, ...more }).map(inWords)).toEqual([]);
    });
  });

  describe('the settings, for every environment', () => {
    /** In every value, so that a problem that quotes a value is found. */
    const CANARY = 'canary-7f3a';

    const name = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...SETTING_NAMES) },
      fc.constantFrom('TOKEN_TYPO', 'CLIENT_', 'KEY_FILES', '__proto__', 'constructor', 'PATH'),
      fc.string({ unit: fc.constantFrom(...'ABCKEYTOKN_'), maxLength: 12 }),
    );
    const good = fc.constantFrom(
      'memory',
      'postgres',
      'true',
      'false',
      '0',
      '1',
      '300',
      'default',
      'rfc9068',
      'common',
      'resource',
      'declared',
    );
    const url = fc.constantFrom(
      'http://localhost:1',
      'postgresql://u:p@h/d',
      'https://a.test/b',
      'http://[',
      'postgres://',
    );
    const odd = fc.oneof(
      anyText({ maxLength: 20 }),
      fc.constantFrom('', ' ', '-1', '1e3', '0x10', '01', '99999999999999999999', '１', 'TRUE', '\ud800', '\0'),
    );
    const quoted = fc.oneof(odd, url, good).map((value) => `${value}${CANARY}`);
    const environment = fc
      .array(fc.tuple(name, fc.oneof(good, url, odd, quoted)), { maxLength: 12 })
      .map((entries) => Object.fromEntries(entries));

    /** Each begins with the name of a setting, or of a variable that is given, and quotes no value. */
    function expectProblems(problems: readonly string[], given: Readonly<Record<string, string>>): void {
      expect(problems.length).toBeGreaterThan(0);
      for (const problem of problems) {
        const [setting = ''] = problem.split(':');
        expect([...SETTING_NAMES, ...Object.keys(given)]).toContain(setting);
        expect(problem).not.toContain(CANARY);
      }
    }

    it('never throws, and each problem names its setting and no value', () => {
      fc.assert(
        fc.property(environment, (given) => {
          const settings = readSettings(given);
          if (!settings.ok) expectProblems(problemsIn(settings), given);
        }),
      );
    });

    it('report the same problems for the same environment in any order', () => {
      fc.assert(
        fc.property(environment, (given) => {
          const reversed = Object.fromEntries(Object.entries(given).toReversed());
          const [one, other] = [readSettings(given), readSettings(reversed)];
          expect(problemsIn(one).toSorted()).toEqual(problemsIn(other).toSorted());
        }),
      );
    });

    it('never print the password of a database', () => {
      const password = fc
        .string({ unit: fc.constantFrom(...'abc019-_~%4'), maxLength: 10 })
        .map((text) => text + CANARY);
      fc.assert(
        fc.property(password, (secret) => {
          const url = `postgresql://service:${encodeURIComponent(secret)}@db.test/auth`;
          const settings = readSettings({ CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url });
          expect(settings.ok).toBe(true);
          expect(inspect(settings, { depth: 9, showHidden: true }) + JSON.stringify(settings)).not.toContain(CANARY);
        }),
      );
    });

    it('come with files of any text: loadConfiguration never throws, and quotes neither a setting nor a file', () => {
      const given = fc.record({ settings: environment, text: fc.oneof(fc.json(), anyText()) });
      fc.assert(
        fc.property(given, ({ settings, text }) => {
          const all = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'c', KEY_FILE: 'k', ...settings };
          const configuration = loadConfiguration(all, () => success(`${text}${CANARY}`));
          expect(readKeyFile(text, 'RS256').ok || configuration.ok).toBe(false);
          if (!configuration.ok) expectProblems(problemsIn(configuration), all);
        }),
      );
    });
  });
});

describe('the check of rules for workloads', () => {
  const GITLAB = { issuer: 'https://gitlab.com', subject: 'project_path:a/b:ref', claims: {} };
  const OWN = { issuer: 'https://gitlab.example', subject: 'project_path:a/b:ref', claims: {} };
  const FILE = JSON.stringify([{ issuer: OWN.issuer, jwks_uri: 'https://gitlab.example/keys', preset: 'gitlab' }]);

  function check(environment: Readonly<Record<string, string>>, text?: string) {
    const read = readRuleCheck(environment, () => (text === undefined ? failure('cannot be read') : success(text)));
    if (!read.ok) throw new Error(read.problem);
    return read.value;
  }

  test('without a file of issuers, rules are checked by the names of the platforms', () => {
    expect(check({})(GITLAB)).toContain('/project_id');
    expect(check({})(OWN)).toBeUndefined();
  });

  test('with a file of issuers, rules are checked as the service checks them', () => {
    const withFile = check({ CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json' }, FILE);
    expect(withFile(OWN)).toContain('/project_id');
    expect(withFile(GITLAB)).toBe('issuer is not a trusted issuer');
  });

  test.each([undefined, '[]', '[{"issuer":"a"}]'])('a file that is missing or wrong is a problem: %s', (text) => {
    expect(() => check({ CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json' }, text)).toThrow(
      'CLIENT_ASSERTION_ISSUERS_FILE: ',
    );
  });
});

describe('configuration', () => {
  const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };

  describe('loadConfiguration', () => {
    it('reads the clients of the file that CLIENTS_FILE names', () => {
      const asked: string[] = [];
      const configuration = loadConfiguration(MEMORY, (path) => {
        asked.push(path);
        return success('[]');
      });
      expect(asked).toEqual(['clients.json']);
      expect(configuration).toMatchObject({ ok: true, value: { clients: [] } });
    });

    it('reports that the file cannot be read', () => {
      expect(problemsIn(loadConfiguration(MEMORY, () => failure('cannot be read')))).toEqual([
        'CLIENTS_FILE: cannot be read',
      ]);
    });

    it('reports the problems of the settings and of the file together', () => {
      expect(problemsIn(loadConfiguration({ ...MEMORY, PORT: 'x' }, () => success('{}')))).toEqual([
        'PORT: must be a whole number from 0 to 65535',
        'CLIENTS_FILE: must be a JSON array',
      ]);
    });

    describe('with DATABASE_URL_FILE', () => {
      const FROM_FILE = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL_FILE: '/run/secrets/url' };
      const URL = 'postgresql://service:its-password@db.test/auth';

      it.each(['', '\n', '\r\n'])('reads the URL of that file, which may end in %j', (end) => {
        const configuration = loadConfiguration(FROM_FILE, (path) =>
          success(`${URL}${path === '/run/secrets/url' ? end : 'x'}`),
        );
        if (!configuration.ok) throw new Error(problemsIn(configuration).join());
        expect(configuration.value.settings.DATABASE_URL?.reveal()).toBe(URL);
        expect(inspect(configuration.value, { depth: 9, showHidden: true })).not.toContain('its-password');
      });

      it.each([
        ['does not exist', undefined, 'cannot be read'],
        [
          'is empty',
          '',
          'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
        ],
        [
          'contains something else',
          'mysql://service:its-password@db.test',
          'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
        ],
        [
          'has two lines',
          `${URL}\nits-password`,
          'must contain one line, and it must be a URL such as postgresql://role:password@host:5432/database',
        ],
      ])('names the setting and never the value if the file %s', (_name, text, problem) => {
        const read = () => (text === undefined ? failure('cannot be read') : success(text));
        expect(problemsIn(loadConfiguration(FROM_FILE, read))).toEqual([`DATABASE_URL_FILE: ${problem}`]);
      });
    });

    describe('with variables of libpq, which the driver reads too', () => {
      const read = (path: string) => (path === '/run/secrets/url' ? success(PLAIN) : failure('cannot be read'));
      const PLAIN = 'postgresql://service:its-password@db.test/auth';

      it.each([
        ['PGPORT', '6543', ':6543/auth'],
        ['PGOPTIONS', '-c search_path=other', '/auth?options=-c%20search_path%3Dother'],
        ['PGCLIENT_ENCODING', 'LATIN1', '/auth?client_encoding=UTF8'],
      ])('refuses %s, which would lead elsewhere, unless the URL says it', (variable, value, named) => {
        for (const [setting, url] of [
          ['DATABASE_URL', PLAIN],
          ['DATABASE_URL_FILE', '/run/secrets/url'],
        ] as const) {
          const environment = { CLIENT_REPOSITORY: 'postgres', [setting]: url, [variable]: value };
          const problem = `${variable}: would change what ${setting} means: write it there, or unset it`;
          expect(problemsIn(loadConfiguration(environment, read))).toEqual([problem]);
          expect(databaseOf(environment, read)).toEqual({ ok: false, problem });
        }
        const complete = PLAIN.replace('/auth', named);
        const environment = {
          CLIENT_REPOSITORY: 'postgres',
          DATABASE_URL: complete,
          [variable]: value,
          PGHOST: 'other',
        };
        expect(loadConfiguration(environment, read).ok).toBe(true);
      });

      it('accepts PGPORT with the port that the URL means without one', () => {
        const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: PLAIN, PGPORT: '5432' };
        expect(loadConfiguration(environment, read).ok).toBe(true);
        expect(databaseOf(environment, read).ok).toBe(true);
      });
    });

    describe('with files that DATABASE_URL names', () => {
      const URL = 'postgresql://service:its-password@db.test/auth?sslmode=verify-full&sslrootcert=/etc/absent.pem';
      const read = (path: string) =>
        path === '/run/secrets/url' ? success(URL) : failure(`cannot be read: there is no file ${path} (ENOENT)`);

      it.each([
        ['DATABASE_URL', URL],
        ['DATABASE_URL_FILE', '/run/secrets/url'],
      ])('says which of them cannot be read, by %s, and shows no password', (setting, value) => {
        const environment = { CLIENT_REPOSITORY: 'postgres', [setting]: value };
        const problem = `${setting}: the file of sslrootcert cannot be read: there is no file /etc/absent.pem (ENOENT)`;
        expect(problemsIn(loadConfiguration(environment, read))).toEqual([problem]);
        expect(databaseOf(environment, read)).toEqual({ ok: false, problem });
      });

      it('reads all of them', () => {
        const asked: string[] = [];
        const url = `${URL}&sslcert=a.pem&sslcert=b.pem&sslkey=`;
        const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: url };
        const configuration = loadConfiguration(environment, (path) => {
          asked.push(path);
          return success('');
        });
        expect(configuration.ok).toBe(true);
        // The driver takes the last one of a name, and none for an empty text.
        expect(asked).toEqual(['/etc/absent.pem', 'b.pem']);
      });
    });

    describe('with MANAGEMENT_TOKEN_FILE', () => {
      const FROM_FILE = { ...MEMORY, MANAGEMENT_TOKEN_FILE: '/run/secrets/token' };
      const read = (text: string | undefined) =>
        loadConfiguration(FROM_FILE, (path) => {
          if (path !== '/run/secrets/token') return success('[]');
          return text === undefined ? failure('cannot be read') : success(text);
        });

      it.each(['', '\n', '\r\n'])('reads the token of that file, which may end in %j, and never shows it', (end) => {
        const configuration = read(`an-operator-token-of-32-characters${end}`);
        if (!configuration.ok) throw new Error(problemsIn(configuration).join());
        expect(configuration.value.managementToken?.reveal()).toBe('an-operator-token-of-32-characters');
        expect(inspect(configuration.value, { depth: 9, showHidden: true })).not.toContain(
          'an-operator-token-of-32-characters',
        );
      });

      it.each([
        ['does not exist', undefined, 'cannot be read'],
        [
          'has two lines',
          'an-operator-token-of-32-characters\nx',
          'must contain one line of 32 to 1024 letters, digits and -._~+/=: openssl rand -base64 32 makes one',
        ],
      ])('names the setting and never the value if the file %s', (_name, text, problem) => {
        expect(problemsIn(read(text))).toEqual([`MANAGEMENT_TOKEN_FILE: ${problem}`]);
      });
    });
  });

  describe('followDatabaseUrl', () => {
    const FIRST = 'postgresql://service:its-password@db.test/auth?sslmode=verify-full';
    const follow = () => {
      const file = { text: success(FIRST) as Result<string, string> };
      const problems: string[] = [];
      return {
        url: followDatabaseUrl(
          '/run/secrets/url',
          FIRST,
          () => file.text,
          (problem) => problems.push(problem),
        ),
        problems,
        write: (text: string) => (file.text = success(text)),
        remove: () => (file.text = failure('cannot be read')),
      };
    };

    it('has the role and the password that the file has now', () => {
      const { url, problems, write } = follow();
      expect(url()).toBe(FIRST);
      const next = 'postgresql://service_2:another@db.test/auth?sslmode=verify-full';
      write(`${next}\n`);
      expect(url()).toBe(next);
      expect(problems).toEqual([]);
    });

    it.each([
      ['is empty', ''],
      ['is cut', 'postgresql://service:ano'],
      ['has no password', 'postgresql://service@db.test/auth?sslmode=verify-full'],
      ['names another host', 'postgresql://service:another@elsewhere.test/auth?sslmode=verify-full'],
      ['names another database', 'postgresql://service:another@db.test/other?sslmode=verify-full'],
      ['does not verify the server', 'postgresql://service:another@db.test/auth'],
    ])('keeps the last URL while the file %s, and says so once', (_what, text) => {
      const { url, problems, write } = follow();
      const last = FIRST.replace('its-password', 'another');
      write(last);
      url();
      write(text);
      expect([url(), url()]).toEqual([last, last]);
      expect(problems).toEqual([expect.stringMatching(/^DATABASE_URL_FILE: (must contain one line|differs in more)/)]);
      expect(problems.join()).not.toMatch(/another|service/);
    });

    it('reports a file that is missing again after it was there', () => {
      const { url, problems, write, remove } = follow();
      for (const _ of [1, 2]) {
        remove();
        expect(url()).toBe(FIRST);
        write(FIRST);
        url();
      }
      expect(problems).toEqual(['DATABASE_URL_FILE: cannot be read.', 'DATABASE_URL_FILE: cannot be read.']);
    });
  });
});
