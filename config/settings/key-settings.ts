import { KEPT_SECONDS, KEY_ROWS_MAX } from '../../application/ports/key-ring-store.ts';
import { settingsGroup } from './read-environment.ts';
import { refuse, warning } from './rules.ts';
import { oneOf, text, wholeNumber } from './setting-kinds.ts';

type WhereKeysAre = Partial<Record<'CLIENT_REPOSITORY' | 'KEY_DIRECTORY' | 'KEY_FILE', string | undefined>>;

/** What is lost with keys in memory beside a database, where restarts and further replicas are expected. */
export const KEYS_IN_MEMORY = {
  text: 'is memory, so each restart makes every token invalid, and a second replica refuses the tokens of the first',
  fix: 'set KEY_DIRECTORY=database and KEY_SECRET_FILE',
  applies: ({ CLIENT_REPOSITORY, KEY_DIRECTORY, KEY_FILE }: WhereKeysAre) =>
    ['sqlite', 'postgres'].includes(CLIENT_REPOSITORY ?? '') && KEY_DIRECTORY !== 'database' && !KEY_FILE,
};

/** The keys that sign. */
export const keys = settingsGroup({
  rows: {
    KEY_ROTATION_SECONDS: wholeNumber(0, 31_536_000)
      .default(86_400)
      .describe(
        'seconds for which a key signs before the next one takes over. `0` is never; otherwise at least twice ' +
          '`KEY_PUBLICATION_SECONDS`',
      ),
    KEY_PUBLICATION_SECONDS: wholeNumber(1, 86_400)
      .default(7_200)
      .describe(
        'seconds for which a key is published before it signs, so that every verifier knows it. Nobody waits for ' +
          'that at startup',
      ),
    KEY_FILE: text()
      .optional()
      .describe(
        'file with a private key for `TOKEN_SIGNING_ALG` (PKCS#8 PEM or JWK): RSA of 2048 to 4096 bits, ' +
          'P-256 or Ed25519. It is used instead of a key in memory, kept over restarts and never rotated. ' +
          'Only its owner may write to it',
      ),
    KEY_DIRECTORY: oneOf('memory', 'database')
      .default('memory')
      .describe(
        'where the keys are that sign. `memory`, for a single replica: each startup makes new ones, and ' +
          'refuses older tokens. `database`: sealed, in the database of the registrations, so that ' +
          '[restarts and replicas share them](operate.md#one-replica-or-several)',
      ),
    KEY_SECRET_FILE: text()
      .optional()
      .describe(
        'file with the secrets that seal the keys, required for `KEY_DIRECTORY=database`: at least 32 ' +
          'random bytes in base64 or base64url, a line each (`openssl rand -base64 32`). [The first line ' +
          'seals, all open](operate.md#changing-the-secret). Only its owner may write to it',
      ),
  },
  rules(given, values) {
    const { KEY_DIRECTORY: directory, KEY_FILE: file, KEY_SECRET_FILE: secret, CLIENT_REPOSITORY: repository } = given;
    const { KEY_ROTATION_SECONDS: rotation = '0' } = given;
    const isShared = directory === 'database';
    return [
      ...refuse(
        isShared && repository === 'memory',
        'KEY_DIRECTORY',
        'database requires CLIENT_REPOSITORY=sqlite or CLIENT_REPOSITORY=postgres',
      ),
      ...refuse(
        isShared && !secret,
        'KEY_SECRET_FILE',
        'is required if KEY_DIRECTORY is database',
        '(umask 077 && openssl rand -base64 32 > FILE) writes one',
      ),
      ...refuse(
        isShared && file,
        'KEY_FILE',
        'must not be set if KEY_DIRECTORY is database, which has keys of its own',
      ),
      ...refuse(file && rotation !== '0', 'KEY_ROTATION_SECONDS', 'must be 0 if KEY_FILE is set'),
      ...(values === undefined ? [] : rulesOfRotation(values, isShared)),
      ...warning(KEYS_IN_MEMORY.applies(given), 'KEY_DIRECTORY', KEYS_IN_MEMORY.text, KEYS_IN_MEMORY.fix),
    ];
  },
  ownersFiles: ['KEY_FILE', 'KEY_SECRET_FILE'],
});

interface Rotation {
  readonly KEY_FILE?: string | undefined;
  readonly KEY_ROTATION_SECONDS: number;
  readonly KEY_PUBLICATION_SECONDS: number;
  readonly TOKEN_LIFETIME_SECONDS?: number;
}

function rulesOfRotation(values: Rotation, isShared: boolean) {
  const { KEY_FILE: file, KEY_ROTATION_SECONDS: rotation, KEY_PUBLICATION_SECONDS: publication } = values;
  const { TOKEN_LIFETIME_SECONDS: lifetime = 0 } = values;
  // A ring with more rows than can be read would stop the service, and nothing would delete them. Half of the rows is
  // left for those that are revoked, and that a rotation by hand adds.
  const least = Math.ceil((lifetime + KEPT_SECONDS) / (KEY_ROWS_MAX / 2));
  const refuseRotation = (isBroken: boolean, rule: string, fix?: string) =>
    refuse(isBroken, 'KEY_ROTATION_SECONDS', rule, fix);
  return [
    ...refuseRotation(
      isShared && rotation === 0,
      'must not be 0 if KEY_DIRECTORY is database',
      '31536000 is a year, and npm run keys -- rotate rotates at any time',
    ),
    ...refuseRotation(
      file === undefined && rotation !== 0 && rotation < 2 * publication,
      'must be 0 or at least twice KEY_PUBLICATION_SECONDS',
    ),
    ...refuseRotation(
      isShared && rotation !== 0 && rotation < least,
      `must be at least ${least} with this TOKEN_LIFETIME_SECONDS`,
    ),
  ];
}
