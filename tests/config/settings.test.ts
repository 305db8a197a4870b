import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readSettings as readSettingsOfCore } from '../../config/settings/settings.ts';
import { readSettings } from '../support/all-settings.ts';

const MEMORY = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
const POSTGRES = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: 'postgresql://service:its-password@db.test/auth' };
const TOKEN = { MANAGEMENT_TOKEN: 'an-operator-token-of-32-characters' };

function problemsOf(environment: Record<string, string>): readonly string[] {
  const settings = readSettings(environment);
  return settings.ok ? [] : settings.problem;
}

describe('readSettings', () => {
  it('accepts the methods of the capabilities that are there, and no others', () => {
    const environment = { ...MEMORY, CLIENT_AUTHENTICATION_METHODS: 'client_secret_basic,private_key_jwt' };
    expect(readSettings(environment).ok).toBe(true);
    expect(readSettingsOfCore(environment, [])).toEqual({
      ok: false,
      problem: ['CLIENT_AUTHENTICATION_METHODS: private_key_jwt is not part of this build: leave it out'],
    });
  });

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
    [
      { CLIENT_REPOSITORY: 'postgres', KEY_DIRECTORY: 'postgres' },
      'DATABASE_URL: is required if CLIENT_REPOSITORY is postgres',
      'DATABASE_URL: is required if KEY_DIRECTORY is postgres',
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
    [{ ...MEMORY, TOKEN_PROFILE: 'rfc9068' }, 'TOKEN_AUDIENCE: is required if TOKEN_PROFILE is rfc9068'],
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
    [
      'BASE_URL',
      ['localhost:8080', 'ftp://a', 'http://a/', 'http://a?b', 'http://a#b', 'http://u:p@a', 'http://a b', '/'],
    ],
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
