import { z } from 'zod';
import type { TracingOptions } from '../../adapters/tracing/connect-tracing.ts';
import { type Environment, settingsGroup, type ValuesOf } from './read-environment.ts';
import { doubt, type RuleBroken } from './rules.ts';
import { httpUrl, oneOf, text, wholeNumber } from './setting-kinds.ts';

const SERVICE_NAME = 'client-credentials-authorization-service';

/** The variables of the OpenTelemetry specification that are read here. For each `OTEL_EXPORTER_OTLP_TRACES_…`, the name without `TRACES_` counts if the former is not set. */
// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
export const TRACING_SETTINGS = settingsGroup({
  rows: {
    OTEL_TRACES_EXPORTER: oneOf('otlp', 'none').default('otlp').describe('whether spans are sent'),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl().default('http://localhost:4318/v1/traces').describe('where spans are sent. `OTEL_EXPORTER_OTLP_ENDPOINT` is the same without `/v1/traces`'),
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: oneOf('http/protobuf', 'http/json').default('http/protobuf').describe('the encoding of spans. There is no gRPC'),
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: headerFields().default({}).describe('header fields for the collector: `key=value`, separated by commas, with percent-encoding. They are not printed'),
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: oneOf('none', 'gzip').default('none').describe('how spans are compressed'),
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: wholeNumber(1, 600_000).default(10_000).describe('milliseconds for one attempt to send a batch'),
    OTEL_TRACES_SAMPLER: oneOf('always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio').default('parentbased_always_on').describe('which requests are recorded'),
    OTEL_TRACES_SAMPLER_ARG: ratio().default(1).describe('the part that a sampler with a ratio records'),
    OTEL_BSP_SCHEDULE_DELAY: wholeNumber(1, 600_000).default(5_000).describe('milliseconds after which a batch is sent that is not full'),
    OTEL_BSP_EXPORT_TIMEOUT: wholeNumber(1, 600_000).default(30_000).describe('milliseconds for all attempts. A batch is sent again after 1 s, 1.5 s and so on, if the collector was out of reach or answered 429, 502, 503 or 504'),
    OTEL_BSP_MAX_QUEUE_SIZE: wholeNumber(1, 1_000_000).default(2_048).describe('spans that wait'),
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: wholeNumber(1, 10_000).default(512).describe('spans of a batch'),
    OTEL_SERVICE_NAME: text().optional().meta({ absent: `\`${SERVICE_NAME}\``, description: '`service.name`, before that of `OTEL_RESOURCE_ATTRIBUTES`' }),
    OTEL_RESOURCE_ATTRIBUTES: keyValues().default({}).describe('further attributes of the service, in the form of the header fields'),
  },
});

const SHARED = ['ENDPOINT', 'PROTOCOL', 'HEADERS', 'COMPRESSION', 'TIMEOUT'];

/**
 * How requests are traced, or undefined if the environment does not ask for it: neither the exporter `otlp` nor an endpoint is named,
 * or OTEL_SDK_DISABLED is true. A variable that cannot be used counts as absent: platforms set them for all of their services.
 */
export function readTracingSettings(environment: Environment): TracingOptions | undefined {
  if (!isAskedFor(environment)) return undefined;
  const { values } = readVariables(environment);
  const { OTEL_RESOURCE_ATTRIBUTES: resource, OTEL_SERVICE_NAME: name = resource['service.name'] } = values;
  return {
    exporter: {
      url: values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
      protocol: values.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL,
      headers: () => values.OTEL_EXPORTER_OTLP_TRACES_HEADERS,
      compression: values.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION,
      attemptMs: values.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
      exportMs: values.OTEL_BSP_EXPORT_TIMEOUT,
    },
    queue: {
      spansMax: values.OTEL_BSP_MAX_QUEUE_SIZE,
      batchMax: Math.min(values.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, values.OTEL_BSP_MAX_QUEUE_SIZE),
      delayMs: values.OTEL_BSP_SCHEDULE_DELAY,
    },
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
    resource: { ...resource, 'service.name': name ?? SERVICE_NAME },
  };
}

/** Variables that cannot be used, by the name that was set and never with a value. */
export function ignoredVariables(environment: Environment): readonly RuleBroken[] {
  const isOff = !isAskedFor(environment) && /^(none)?$/.test(environment['OTEL_TRACES_EXPORTER'] ?? '');
  return isOff ? [] : readVariables(environment).ignored;
}

function readVariables(environment: Environment) {
  const ignored: RuleBroken[] = [];
  const values = Object.entries(TRACING_SETTINGS.rows).map(([name, schema]) => {
    const [variable, value] = givenFor(name, environment);
    const parsed = schema.safeParse(value);
    if (parsed.success) return [name, parsed.data];
    const text = `is ignored, since it ${parsed.error.issues[0]?.message}`;
    ignored.push(...doubt(true, variable, text, 'correct it, or leave it out'));
    return [name, schema.parse(undefined)];
  });
  return { values: Object.fromEntries(values) as ValuesOf<typeof TRACING_SETTINGS.rows>, ignored };
}

/** The variable that counts, and its value. Those for all signals stand in for those that are for traces only. */
function givenFor(name: string, environment: Environment): readonly [variable: string, value: string | undefined] {
  const shared = SHARED.find((end) => name === `OTEL_EXPORTER_OTLP_TRACES_${end}`);
  if (shared === undefined || environment[name]) return [name, environment[name] || undefined];
  const value = environment[`OTEL_EXPORTER_OTLP_${shared}`] || undefined;
  const whole = shared === 'ENDPOINT' && value !== undefined ? `${value.replace(/\/$/, '')}/v1/traces` : value;
  return [`OTEL_EXPORTER_OTLP_${shared}`, whole];
}

function isAskedFor(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = environment;
  if (disabled?.toLowerCase() === 'true') return false;
  const [, endpoint] = givenFor('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', environment);
  return exporter ? exporter === 'otlp' : endpoint !== undefined;
}

/** `key=value` pairs, separated by commas, with percent-encoding (W3C Baggage). */
function keyValues() {
  return z.string().transform((value, context): Readonly<Record<string, string>> => {
    try {
      return Object.fromEntries(value.split(',').map(readPair));
    } catch {
      context.addIssue('must be key=value pairs, separated by commas, with percent-encoding');
      return z.NEVER;
    }
  });
}

/** A line break in a value, or a space in a name, would make every export fail. */
function headerFields() {
  return keyValues().refine((fields) => {
    try {
      new Headers(fields);
      return true;
    } catch {
      return false;
    }
  }, 'must be header fields as key=value pairs, without control characters');
}

/** Throws if this is no pair. As in the SDKs of OpenTelemetry, a space in a value need not be encoded: `Authorization=Bearer …`. */
function readPair(pair: string): readonly [key: string, value: string] {
  const [, key = '', value = ''] = /^\s*([\w.!#$%&'*+^`|~/-]+)\s*=\s*([ -~]*?)\s*$/.exec(pair) ?? [];
  if (key === '') throw new URIError(pair);
  return [decodeURIComponent(key), decodeURIComponent(value)];
}

function ratio() {
  return z
    .string()
    .regex(/^(0|1|0?\.\d{1,9}|[01]\.0{1,9}|0\.\d{1,9})$/, 'must be a number from 0 to 1')
    .transform(Number)
    .meta({ values: '0 to 1' });
}
