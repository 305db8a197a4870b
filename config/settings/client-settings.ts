import { z } from 'zod';
import { SecretText } from '../../adapters/system/secret-text.ts';
import { AUTHENTICATION_METHODS } from '../../domain/authentication-method.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../../domain/stored-secret.ts';
import { databaseUrlProblem } from './database-url.ts';
import { settingsGroup } from './read-environment.ts';
import { listOf, oneOf, text, wholeNumber } from './setting-kinds.ts';

// The settings of what registerClientParts creates. Each group is a table of docs/settings.md.

/** What config/storages.ts opens. */
const STORAGE_NAMES = ['memory', 'postgres'] as const;

export type StorageName = (typeof STORAGE_NAMES)[number];

export const STORAGE = settingsGroup({
  // biome-ignore format: a row has its kind in one line and its meaning in the next
  rows: {
    CLIENT_REPOSITORY: oneOf(...STORAGE_NAMES)
      .describe('where registrations are stored'),
    CLIENTS_FILE: text().optional()
      .describe('JSON file with the registrations, required for `memory`. An array of `{client_id, client_secret, client_name, scope}`; `client_secret` is a BCrypt encoding, or `{noop}` followed by the plain secret. [Further members](#members-of-a-clients-file) are for other methods'),
    DATABASE_URL: databaseUrl().optional()
      .describe('URL of the database, required for `postgres`: `postgresql://role:password@host:5432/database`'),
    DATABASE_URL_FILE: text().optional()
      .describe('file with that URL in one line, for container secrets, instead of `DATABASE_URL`. The service reads it again for each new connection, for [another role or password](operations.md#rotating-the-password-of-the-database)'),
    DATABASE_POOL_SIZE: wholeNumber(1, 100).default(10)
      .describe('maximum number of connections to PostgreSQL. The workers share them; each has at least three'),
    DATABASE_DEADLINE_MS: wholeNumber(100, 30_000).default(2_000)
      .describe('milliseconds that a look-up may take. After that the caller gets 503'),
  },
  contradictions: {
    'CLIENTS_FILE: is required if CLIENT_REPOSITORY is memory': ({ CLIENT_REPOSITORY, CLIENTS_FILE }) =>
      CLIENT_REPOSITORY === 'memory' && !CLIENTS_FILE,
    'DATABASE_URL: is required if CLIENT_REPOSITORY is postgres': ({ CLIENT_REPOSITORY, ...given }) =>
      CLIENT_REPOSITORY === 'postgres' && !given['DATABASE_URL'] && !given['DATABASE_URL_FILE'],
    'DATABASE_URL: must not be set if DATABASE_URL_FILE is set': ({ DATABASE_URL, DATABASE_URL_FILE }) =>
      Boolean(DATABASE_URL && DATABASE_URL_FILE),
  },
});

export const AUTHENTICATION = settingsGroup({
  // biome-ignore format: as above
  rows: {
    CLIENT_AUTHENTICATION_METHODS: listOf(...AUTHENTICATION_METHODS).default(['client_secret_post'])
      .describe('how clients may authenticate. Only these methods are accepted and published. [Which clients need which](getting-a-token.md)'),
  },
});

export const SECRETS = settingsGroup({
  // biome-ignore format: as above
  rows: {
    CLIENT_SECRET_COST: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(10)
      .describe('the least BCrypt cost of a refusal. A higher cost in the table raises it'),
    CLIENT_SECRET_COST_MAX: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(BCRYPT_COST_MAX)
      .describe('the highest BCrypt cost that is computed. A stored secret with a higher cost matches nothing. At least `CLIENT_SECRET_COST`'),
    CLIENT_SECRET_REMEMBERED_SECONDS: wholeNumber(0, 86_400).default(300)
      .describe('seconds for which a verified secret is cached. `0` switches the cache off'),
    CLIENT_FAILURES_PER_MINUTE: wholeNumber(0, 1_000_000).default(300)
      .describe('failed attempts per minute for one client id from one address. An IPv6 address counts as its /64 network. Further attempts are slowed down; `0` is no limit, and then [secrets can be guessed faster](operations.md#limits)'),
  },
  conflicts({ CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax }) {
    return costMax < cost ? ['CLIENT_SECRET_COST_MAX: must be at least CLIENT_SECRET_COST'] : [];
  },
});

function databaseUrl() {
  return z
    .string()
    .superRefine((value, { addIssue }) => {
      const problem = databaseUrlProblem(value);
      if (problem !== undefined) addIssue({ code: 'custom', message: problem });
    })
    .transform((value) => new SecretText(value));
}
