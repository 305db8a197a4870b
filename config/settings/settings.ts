import { z } from 'zod';
import { availableCores, memoryLimit, workersWithin } from '../../adapters/system/host-limits.ts';
import { SecretText } from '../../adapters/system/secret-text.ts';
import { AUTHENTICATION_METHODS } from '../../domain/authentication-method.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { Scope } from '../../domain/scope.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../../domain/stored-secret.ts';
import { LIFETIME_SECONDS_MAX, LIFETIME_SECONDS_MIN } from '../../domain/token-policy.ts';
import { databaseUrlProblem } from './database-url.ts';
import { isManagementToken, MANAGEMENT_TOKEN_RULE } from './management-token.ts';
import { type Environment, readEnvironment } from './read-environment.ts';
import { hostNames, isHttpUrl, listOf, networks, oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

/** An unknown name with one of these prefixes is a typo. */
const OWN_PREFIXES = ['TOKEN_', 'CLIENT_', 'KEY_', 'AUDIT_'];

/** What config/storages.ts opens. */
const STORAGE_NAMES = ['memory', 'postgres'] as const;

export type StorageName = (typeof STORAGE_NAMES)[number];

/** Every setting, by its name in the environment. The tables of docs/settings.md are checked against it. */
export const SETTINGS_SCHEMA = z.object({
  CLIENT_REPOSITORY: oneOf(...STORAGE_NAMES),
  CLIENTS_FILE: text().optional(),
  DATABASE_URL: databaseUrl().optional(),
  DATABASE_URL_FILE: text().optional(),
  DATABASE_POOL_SIZE: wholeNumber(1, 100).default(10),
  DATABASE_DEADLINE_MS: wholeNumber(100, 30_000).default(2_000),
  CLIENT_AUTHENTICATION_METHODS: listOf(...AUTHENTICATION_METHODS).default(['client_secret_post']),
  CLIENT_ASSERTION_AUDIENCE: oneOf('issuer', 'issuer_or_token_endpoint').default('issuer'),
  CLIENT_ASSERTION_ISSUERS_FILE: text().optional(),
  CLIENT_ASSERTION_MAX_AGE_SECONDS: wholeNumber(1, 86_400).default(3_600),
  CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: wholeNumber(1, 3_600).default(60),
  CLIENT_ASSERTION_KEYS_STALE_SECONDS: wholeNumber(0, 2_592_000).default(86_400),
  CLIENT_SECRET_COST: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(10),
  CLIENT_SECRET_COST_MAX: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(BCRYPT_COST_MAX),
  CLIENT_SECRET_REMEMBERED_SECONDS: wholeNumber(0, 86_400).default(300),
  CLIENT_FAILURES_PER_MINUTE: wholeNumber(0, 1_000_000).default(300),
  WORKERS: wholeNumber(1, 256).optional(),
  HOST: text().default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(8080),
  MANAGEMENT_HOST: text().default('127.0.0.1'),
  MANAGEMENT_PORT: wholeNumber(0, 65_535).default(8081),
  MANAGEMENT_ALLOWED_HOSTS: hostNames().optional(),
  MANAGEMENT_TOKEN: managementToken().optional(),
  MANAGEMENT_TOKEN_FILE: text().optional(),
  SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(5_000),
  SHUTDOWN_DRAIN_MS: wholeNumber(0, 300_000).default(10_000),
  BASE_URL: baseUrl().optional(),
  TRUSTED_PROXIES: networks().optional(),
  TOKEN_ISSUER: text().optional(),
  TOKEN_LIFETIME_SECONDS: wholeNumber(LIFETIME_SECONDS_MIN, LIFETIME_SECONDS_MAX).default(300),
  TOKEN_PROFILE: oneOf('default', 'rfc9068').default('default'),
  TOKEN_AUDIENCE: text().optional(),
  TOKEN_SCOPE_CLAIM: trueOrFalse().default(false),
  KEY_ROTATION_SECONDS: wholeNumber(0, 31_536_000).default(86_400),
  KEY_PUBLICATION_SECONDS: wholeNumber(1, 86_400).default(60),
  KEY_FILE: text().optional(),
  KEY_DIRECTORY: oneOf('memory', 'postgres').default('memory'),
  AUDIT_FILE: text().optional(),
  AUDIT_REQUIRED: trueOrFalse().default(false),
  EXAMPLE_RESOURCE: trueOrFalse().default(true),
  LOCATION_FIELD_ORDER: oneOf('declared', 'alphabetical').default('declared'),
  PUBLIC_METADATA: trueOrFalse().default(false),
  METADATA_SCOPES: scopes().optional(),
  METADATA_COMPATIBILITY: oneOf('mcp').optional(),
});

type Values = z.output<typeof SETTINGS_SCHEMA>;

/** The settings of a deployment, checked and frozen. Secrets do not print. */
export type Settings = Readonly<Omit<Values, keyof Derived> & Derived>;

/** Settings whose default depends on something else. */
interface Derived {
  readonly WORKERS: number;
  readonly BASE_URL: string;
  readonly TOKEN_ISSUER: string;
}

/** Reads the environment. Fails with every problem, by the name of its setting and never with a value. */
export function readSettings(environment: Environment): Result<Settings, readonly string[]> {
  const read = readEnvironment(SETTINGS_SCHEMA, OWN_PREFIXES, environment, contradictions);
  if (!read.ok) return read;

  // A key from a file has no successor.
  const values = read.value.KEY_FILE === undefined ? read.value : { ...read.value, KEY_ROTATION_SECONDS: 0 };
  const problems = conflicts(values);
  if (problems.length > 0) return failure(problems);
  const BASE_URL = values.BASE_URL ?? `http://localhost:${values.PORT}`;
  const WORKERS = values.WORKERS ?? Math.min(availableCores(), workersWithin(memoryLimit()));
  return success(Object.freeze({ ...values, WORKERS, BASE_URL, TOKEN_ISSUER: values.TOKEN_ISSUER ?? BASE_URL }));
}

/** The problems of settings that are right by themselves. */
function conflicts(values: Values): readonly string[] {
  const { KEY_ROTATION_SECONDS: rotation, PORT: port } = values;
  const isRotationShort = rotation !== 0 && rotation < 2 * values.KEY_PUBLICATION_SECONDS;
  const isPortTaken = port !== 0 && port === values.MANAGEMENT_PORT && overlap(values.HOST, values.MANAGEMENT_HOST);
  return [
    ...(isRotationShort ? ['KEY_ROTATION_SECONDS: must be 0 or at least twice KEY_PUBLICATION_SECONDS'] : []),
    ...(values.CLIENT_SECRET_COST_MAX < values.CLIENT_SECRET_COST
      ? ['CLIENT_SECRET_COST_MAX: must be at least CLIENT_SECRET_COST']
      : []),
    ...(isPortTaken ? [`PORT: ${port} is MANAGEMENT_PORT too: set one of them to another port`] : []),
  ];
}

/** Whether two addresses to listen on are the same, or one of them is every address of the machine. */
function overlap(one: string, other: string): boolean {
  return one === other || [one, other].some((host) => host === '0.0.0.0' || host === '::');
}

/** The problems that no setting has by itself. */
function contradictions(given: Environment): readonly string[] {
  const required = (name: string, setting: string, value: string) =>
    given[setting] === value && !given[name] ? [`${name}: is required if ${setting} is ${value}`] : [];
  const requiredUrl = (setting: string) =>
    given['DATABASE_URL_FILE'] ? [] : required('DATABASE_URL', setting, 'postgres');
  const isFederated = (given['CLIENT_AUTHENTICATION_METHODS'] ?? '').includes('federated_jwt');
  const rotates = (given['KEY_ROTATION_SECONDS'] ?? '0') !== '0';
  return [
    required('CLIENTS_FILE', 'CLIENT_REPOSITORY', 'memory'),
    requiredUrl('CLIENT_REPOSITORY'),
    requiredUrl('KEY_DIRECTORY'),
    given['DATABASE_URL'] && given['DATABASE_URL_FILE']
      ? ['DATABASE_URL: must not be set if DATABASE_URL_FILE is set']
      : [],
    given['MANAGEMENT_TOKEN'] && given['MANAGEMENT_TOKEN_FILE']
      ? ['MANAGEMENT_TOKEN: must not be set if MANAGEMENT_TOKEN_FILE is set']
      : [],
    ...['MANAGEMENT_TOKEN', 'MANAGEMENT_TOKEN_FILE'].map((name) =>
      given[name] && given['MANAGEMENT_PORT'] === '0' ? [`${name}: must not be set if MANAGEMENT_PORT is 0`] : [],
    ),
    required('TOKEN_AUDIENCE', 'TOKEN_PROFILE', 'rfc9068'),
    given['METADATA_COMPATIBILITY'] === 'mcp' && given['PUBLIC_METADATA'] !== 'true'
      ? ['PUBLIC_METADATA: must be true if METADATA_COMPATIBILITY is mcp, since these clients fetch it without a token']
      : [],
    isFederated && !given['CLIENT_ASSERTION_ISSUERS_FILE']
      ? ['CLIENT_ASSERTION_ISSUERS_FILE: is required if CLIENT_AUTHENTICATION_METHODS has federated_jwt']
      : [],
    given['KEY_FILE'] && rotates ? ['KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set'] : [],
    given['PORT'] === '0' && !given['BASE_URL'] ? ['BASE_URL: is required if PORT is 0, any free port'] : [],
  ].flat();
}

function baseUrl() {
  return z.string().refine(isBaseUrl, 'must be an http or https URL without user, query, fragment and trailing slash');
}

function isBaseUrl(value: string): boolean {
  return isHttpUrl(value) && [value, `${value}/`].includes(new URL(value).href) && !/\?|\/$/.test(value);
}

function databaseUrl() {
  return z
    .string()
    .superRefine((value, { addIssue }) => {
      const problem = databaseUrlProblem(value);
      if (problem !== undefined) addIssue({ code: 'custom', message: problem });
    })
    .transform((value) => new SecretText(value));
}

function managementToken() {
  return z
    .string()
    .refine(isManagementToken, MANAGEMENT_TOKEN_RULE)
    .transform((value) => new SecretText(value));
}

function scopes() {
  return z
    .string()
    .refine((value) => Scope.parse(value).ok, 'must be scope tokens with single spaces between (RFC 6749 section 3.3)')
    .transform((value) => value.split(' '));
}
