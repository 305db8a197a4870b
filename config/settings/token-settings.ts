import { LIFETIME_SECONDS_MAX, LIFETIME_SECONDS_MIN } from '../../domain/token-policy.ts';
import { settingsGroup } from './read-environment.ts';
import { oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

// The settings of what registerTokenParts creates. Each group is a table of docs/settings.md.

export const TOKENS = settingsGroup({
  // biome-ignore format: a row has its kind in one line and its meaning in the next
  rows: {
    TOKEN_ISSUER: text().optional()
      .meta({ absent: '`BASE_URL`', description: 'claim `iss`' }),
    TOKEN_LIFETIME_SECONDS: wholeNumber(LIFETIME_SECONDS_MIN, LIFETIME_SECONDS_MAX).default(300)
      .describe('the lifetime of a token. It is `exp - iat`, and `expires_in`'),
    TOKEN_PROFILE: oneOf('default', 'rfc9068').default('default')
      .describe('the form of tokens. `rfc9068` is for strict verifiers: header `typ` = `at+jwt`, claims `client_id` and `scope` (a string). Requires `TOKEN_AUDIENCE`'),
    TOKEN_AUDIENCE: text().optional()
      .meta({ absent: "the client's id", description: 'claim `aud` of every token that is requested without a `resource`. The service\'s own paths require it. Each resource server can have [an audience of its own](resource-servers.md#one-audience-for-each-resource-server)' }),
    TOKEN_SCOPE_CLAIM: trueOrFalse().default(false)
      .describe('`true` adds claim `scope`, an array of strings'),
  },
  contradictions: {
    'TOKEN_AUDIENCE: is required if TOKEN_PROFILE is rfc9068': ({ TOKEN_PROFILE, TOKEN_AUDIENCE }) =>
      TOKEN_PROFILE === 'rfc9068' && !TOKEN_AUDIENCE,
  },
});

export const KEYS = settingsGroup({
  // biome-ignore format: as above
  rows: {
    KEY_ROTATION_SECONDS: wholeNumber(0, 31_536_000).default(86_400)
      .describe('seconds for which a key signs before the next one takes over. `0` is never; otherwise at least twice `KEY_PUBLICATION_SECONDS`'),
    KEY_PUBLICATION_SECONDS: wholeNumber(1, 86_400).default(60)
      .describe('seconds for which a key is published before it signs'),
    KEY_FILE: text().optional()
      .describe('file with an RSA key of at least 2048 bits (PKCS#8 PEM or JWK), used instead of a key made in memory. Only its owner may be able to write to it. It is kept over restarts and never rotated'),
    KEY_DIRECTORY: oneOf('memory', 'postgres').default('memory')
      .describe('where replicas share their public keys. `memory` is for a single replica'),
  },
  contradictions: {
    'DATABASE_URL: is required if KEY_DIRECTORY is postgres': ({ KEY_DIRECTORY, DATABASE_URL, DATABASE_URL_FILE }) =>
      KEY_DIRECTORY === 'postgres' && !DATABASE_URL && !DATABASE_URL_FILE,
    'KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set': ({ KEY_FILE, KEY_ROTATION_SECONDS = '0' }) =>
      Boolean(KEY_FILE) && KEY_ROTATION_SECONDS !== '0',
  },
  conflicts({ KEY_FILE, KEY_ROTATION_SECONDS: rotation, KEY_PUBLICATION_SECONDS: publication }) {
    const isShort = KEY_FILE === undefined && rotation !== 0 && rotation < 2 * publication;
    return isShort ? ['KEY_ROTATION_SECONDS: must be 0 or at least twice KEY_PUBLICATION_SECONDS'] : [];
  },
  ownersFiles: ['KEY_FILE'],
});
