import { z } from 'zod';
import { SecretText } from '../../adapters/system/secret-text.ts';
import { placeOf, STORAGE_NAMES } from '../storages.ts';
import { databaseUrlProblem } from './database-url.ts';
import { settingsGroup } from './read-environment.ts';
import { refuse } from './rules.ts';
import { oneOf, text, wholeNumber } from './setting-kinds.ts';

/** Where registrations are stored. */
export const storage = settingsGroup({
  rows: {
    CLIENT_REPOSITORY: oneOf(...STORAGE_NAMES).describe('where registrations are stored'),
    CLIENTS_FILE: text()
      .optional()
      .describe(
        'JSON file with the registrations, required for `memory`. An array of `{client_id, ' +
          'client_secret, client_name, scope}` and [further fields](#fields-of-a-clients-file). ' +
          '`client_secret` is a BCrypt encoding, also behind `{bcrypt}`, or `{noop}` followed by the plain ' +
          'secret, or [says where the secret is](#fields-of-a-clients-file). Only its owner may write to it',
      ),
    DATABASE_FILE: text()
      .optional()
      .describe(
        'file of the registrations, required for `sqlite`. `npm run migrate` creates it; [what it ' +
          'needs](operate.md#sqlite). Only its owner may write to it',
      ),
    DATABASE_URL: databaseUrl()
      .optional()
      .describe('URL of the database, required for `postgres`: `postgresql://role:password@host:5432/database`'),
    DATABASE_URL_FILE: text()
      .optional()
      .describe(
        'file with that URL in one line, for container secrets, instead of `DATABASE_URL`. Only its ' +
          'owner may write to it. The service reads it again for each new connection, for [another role or ' +
          'password](operate.md#rotating-the-password-of-the-database)',
      ),
    DATABASE_POOL_SIZE: wholeNumber(1, 100).default(10).describe('maximum number of connections to PostgreSQL'),
    DATABASE_DEADLINE_MS: wholeNumber(100, 30_000)
      .default(2_000)
      .describe('milliseconds that a look-up may take. After that the caller gets 503'),
  },
  rules(given) {
    const { CLIENT_REPOSITORY: repository, DATABASE_URL: url, DATABASE_URL_FILE: urlFile } = given;
    const place = placeOf(repository);
    const isGiven = place === 'DATABASE_URL' ? url || urlFile : place === undefined || given[place];
    return [
      ...refuse(!isGiven, place ?? '', `is required if CLIENT_REPOSITORY is ${repository}`),
      ...refuse(url && urlFile, 'DATABASE_URL', 'must not be set if DATABASE_URL_FILE is set'),
    ];
  },
  ownersFiles: ['CLIENTS_FILE', 'DATABASE_FILE', 'DATABASE_URL_FILE'],
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
