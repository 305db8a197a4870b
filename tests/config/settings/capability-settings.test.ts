import { inspect } from 'node:util';
import { describe, expect, it, test } from '@jest/globals';
import { readLocationsSettings } from '../../../config/programs/locations-settings.ts';
import { readRuleCheck } from '../../../config/programs/rule-check.ts';
import { loadConfiguration } from '../../../config/settings/load-configuration.ts';
import { settingDoubts } from '../../../config/settings/setting-doubts.ts';
import { readTracingSettings } from '../../../config/settings/tracing-settings.ts';
import { inWords } from '../../../domain/problem.ts';
import { failure, success } from '../../../domain/result.ts';
import { problemsIn } from '../../support/problems.ts';

describe('readLocationsSettings', () => {
  const REQUIRED = { JWKS_URI: 'https://auth.test/oauth2/jwks', TOKEN_ISSUER: 'https://auth.test' };

  function problemsOf(environment: Record<string, string>): readonly string[] {
    const settings = readLocationsSettings(environment);
    return problemsIn(settings);
  }

  it('reports every problem at once, with the name of the setting', () => {
    expect(problemsOf({ PORT: 'x', TOKEN_TYPO: 'x', JWKS_URL: 'x', LOCATION_ORDER: 'x' })).toEqual([
      'PORT: must be a whole number from 0 to 65535',
      'JWKS_URI: must be set',
      'TOKEN_ISSUER: must be set',
      'TOKEN_TYPO: is not a setting of this service',
      'JWKS_URL: is not a setting of this service: did you mean JWKS_URI?',
      'LOCATION_ORDER: is not a setting of this service',
    ]);
  });

  it.each(['auth.test', 'file:///keys', 'https://user:its-password@auth.test', 'https://auth.test#x', 'https://a b'])(
    'refuses the key set URL %s, without repeating it',
    (JWKS_URI) => {
      expect(problemsOf({ ...REQUIRED, JWKS_URI })).toEqual([
        'JWKS_URI: must be an http or https URL without user and fragment',
      ]);
    },
  );

  it.each(['http://127.0.0.1:8080/oauth2/jwks', 'https://auth.test/keys?tenant=1', 'https://auth.test'])(
    'accepts the key set URL %s',
    (JWKS_URI) => {
      expect(problemsOf({ ...REQUIRED, JWKS_URI })).toEqual([]);
    },
  );
});

describe('readTracingSettings', () => {
  const ON = { OTEL_TRACES_EXPORTER: 'otlp' };

  const read = (environment: Readonly<Record<string, string>>) => readTracingSettings(environment);

  it.each<[boolean, Readonly<Record<string, string>>]>([
    [false, {}],
    [false, { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'wrong' }],
    [false, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    [false, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' }],
    [false, { ...ON, OTEL_SDK_DISABLED: 'TRUE' }],
    [true, { ...ON, OTEL_SDK_DISABLED: 'false' }],
    [true, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }],
    [true, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }],
  ])('is it on? %s, for %j', (isOn, environment) => {
    expect(read(environment) !== undefined).toBe(isOn);
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://d/x' }, 'http://d/x'],
    [ON, 'http://localhost:4318/v1/traces'],
  ])('sends spans, for %j, to %s', (environment, url) => {
    expect(read(environment)?.exporter.url).toBe(url);
  });

  it('reads header fields and attributes with percent-encoding, and prefers those for traces', () => {
    const settings = read({
      ...ON,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=other',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=a%20key==, x = y',
      OTEL_EXPORTER_OTLP_TIMEOUT: '5',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,region=b%2Cc',
    });
    expect(settings?.exporter.headers()).toEqual({ 'api-key': 'a key==', x: 'y' });
    expect(settings?.exporter.attemptMs).toBe(5);
    expect(settings?.resource).toEqual({ 'service.name': 'a', region: 'b,c' });
  });

  it.each([
    ['OTEL_TRACES_EXPORTER', 'console'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://user:password@c/'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'canary'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=%zz'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=canary%0Ab'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a%20b=canary'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=canary%E2%82%AC'],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '10s'],
    ['OTEL_TRACES_SAMPLER', 'canary'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=canary b=c,d'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ])('ignores %s=%s, with a warning that has its name and not its value', (name, value) => {
    const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'x', ...ON, [name]: value };
    expect(loadConfiguration(environment, () => success('[]'))).toMatchObject({ ok: true });
    const isOff = name === 'OTEL_TRACES_EXPORTER';
    expect(read(environment)).toEqual(isOff ? undefined : { ...read(ON), exporter: expect.anything() });
    const warnings = settingDoubts(environment).map(inWords);
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${name}: is ignored, since it [^:]+: [^:]+$`))]);
    expect(warnings.join()).not.toMatch(/canary|password|%zz|4317/);
  });

  it('reads a value with a space, as the SDKs of OpenTelemetry do', () => {
    const settings = read({ ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer a-token, x=y' });
    expect(settings?.exporter.headers()).toEqual({ Authorization: 'Bearer a-token', x: 'y' });
  });

  it.each<Readonly<Record<string, string>>>([
    { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'x', OTEL_TRACE_SAMPLER: 'x', OTEL_BSP_MAX_QUEUE_SIZES: 'x' },
    { OTEL_EXPORTER_OTLP_CERTIFICATE: '/canary', OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '/canary' },
    { OTEL_TRACES_EXPORTER: 'none', OTEL_TRACES_SAMPLER: 'x' },
    { OTEL_LOGS_EXPORTER: 'console', OTEL_METRICS_EXPORTER: 'x', OTEL_PROPAGATORS: 'b3', OTEL_LOG_LEVEL: 'x' },
  ])('says nothing of variables that it does not read: %j', (others) => {
    const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'x', ...ON, ...others };
    expect(loadConfiguration(environment, () => success('[]'))).toMatchObject({ ok: true });
    expect(settingDoubts(environment)).toEqual([]);
  });

  it('does not print the header fields', () => {
    const settings = read({ ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=canary' });
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('canary');
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
