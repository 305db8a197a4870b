import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readTracingSettings } from '../../config/capabilities/tracing/tracing-settings.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { success } from '../../domain/result.ts';

const ON = { OTEL_TRACES_EXPORTER: 'otlp' };

/** The options, or a thrown error with the problems. */
function read(environment: Readonly<Record<string, string>>) {
  const settings = readTracingSettings(environment);
  if (!settings.ok) throw new Error(settings.problem.join('\n'));
  return settings.value;
}

describe('readTracingSettings', () => {
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
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/canary'],
  ])('refuses %s=%s, by its name and without its value', (name, value) => {
    const settings = readTracingSettings({ ...ON, [name]: value });
    const problem = settings.ok ? '' : settings.problem.join('\n');
    expect(problem).toMatch(new RegExp(`^${name}: `));
    expect(problem).not.toMatch(/canary|password|%zz/);
  });

  it('is part of what is checked before a start', () => {
    const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'x', ...ON, OTEL_TRACES_SAMPLER: 'wrong' };
    expect(loadConfiguration(environment, () => success('[]'))).toMatchObject({
      ok: false,
      problem: [expect.stringMatching(/^OTEL_TRACES_SAMPLER: /)],
    });
  });

  it('does not print the header fields', () => {
    const settings = read({ ...ON, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=canary' });
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain('canary');
  });
});
