import { z } from 'zod';
import { SAMPLERS, type TracingOptions } from '../../../adapters/tracing/tracing-options.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { type Environment, readEnvironment } from '../../settings/read-environment.ts';
import { httpUrl, oneOf, text, wholeNumber } from '../../settings/setting-kinds.ts';

const RATIO = 'must be a number from 0 to 1';

/**
 * The variables of the OpenTelemetry specification that are read here, with its defaults. A test compares them with the
 * table of docs/monitoring.md. For each `OTEL_EXPORTER_OTLP_TRACES_…`, the name without `TRACES_` counts if the former is not set.
 */
export const TRACING_SETTINGS_SCHEMA = z.object({
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none').default('otlp'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl().default('http://localhost:4318/v1/traces'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: oneOf('http/protobuf', 'http/json').default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headerFields().default({}),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: oneOf('none', 'gzip').default('none'),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: wholeNumber(1, 600_000).default(10_000),
  OTEL_TRACES_SAMPLER: oneOf(...SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio().default(1),
  OTEL_BSP_SCHEDULE_DELAY: wholeNumber(1, 600_000).default(5_000),
  OTEL_BSP_EXPORT_TIMEOUT: wholeNumber(1, 600_000).default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: wholeNumber(1, 1_000_000).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: wholeNumber(1, 10_000).default(512),
  OTEL_SERVICE_NAME: text().optional(),
  OTEL_RESOURCE_ATTRIBUTES: keyValues().default({}),
});

/** What the service needs of OpenTelemetry and cannot do: a start with one of them fails, so that nobody relies on it. */
const UNSUPPORTED = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].flatMap((name) => [
  `OTEL_EXPORTER_OTLP_${name}`,
  `OTEL_EXPORTER_OTLP_TRACES_${name}`,
]);

const SHARED = ['PROTOCOL', 'HEADERS', 'COMPRESSION', 'TIMEOUT'];

const SERVICE_NAME = 'client-credentials-authorization-service';

/**
 * How requests are traced, or undefined if the environment does not ask for it: neither an exporter nor an endpoint is
 * named, or OTEL_SDK_DISABLED is true. Then none of the other variables is read. Fails as `readSettings` does.
 */
export function readTracingSettings(environment: Environment): Result<TracingOptions | undefined, readonly string[]> {
  if (!isAskedFor(environment)) return success(undefined);
  const unsupported = UNSUPPORTED.filter((name) => environment[name]);
  if (unsupported.length > 0) {
    return failure(unsupported.map((name) => `${name}: is not supported; NODE_EXTRA_CA_CERTS adds an authority`));
  }
  const read = readEnvironment(TRACING_SETTINGS_SCHEMA, [], withSharedVariables(environment));
  if (!read.ok) return read;
  const values = read.value;
  const { OTEL_RESOURCE_ATTRIBUTES: resource, OTEL_SERVICE_NAME: name = resource['service.name'] } = values;
  return success({
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
  });
}

function isAskedFor(environment: Environment): boolean {
  const isDisabled = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true';
  const asking = ['OTEL_TRACES_EXPORTER', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return !isDisabled && environment['OTEL_TRACES_EXPORTER'] !== 'none' && asking.some((name) => environment[name]);
}

/** The variables for all signals stand in for those that are for traces only. */
function withSharedVariables(environment: Environment): Environment {
  const endpoint = environment['OTEL_EXPORTER_OTLP_ENDPOINT']?.replace(/\/$/, '');
  const shared = SHARED.map((name) => [`OTEL_EXPORTER_OTLP_TRACES_${name}`, environment[`OTEL_EXPORTER_OTLP_${name}`]]);
  const given = Object.entries(environment).filter(([, value]) => value !== '');
  return {
    ...Object.fromEntries(shared),
    ...(endpoint && { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/v1/traces` }),
    ...Object.fromEntries(given),
  };
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

/** Throws if this is no pair. */
function readPair(pair: string): readonly [key: string, value: string] {
  const [, key = '', value = ''] = /^\s*([\w.!#$%&'*+^`|~/-]+)\s*=\s*([!-~]*)\s*$/.exec(pair) ?? [];
  if (key === '') throw new URIError(pair);
  return [decodeURIComponent(key), decodeURIComponent(value)];
}

function ratio() {
  return z
    .string()
    .regex(/^(0|1|0?\.\d{1,9}|[01]\.0{1,9}|0\.\d{1,9})$/, RATIO)
    .transform(Number);
}
