import { z } from 'zod';
import { METADATA_COMPATIBILITIES } from '../../adapters/http/endpoints/discovery-endpoints.ts';
import { SecretText } from '../../adapters/system/secret-text.ts';
import { KEPT_SECONDS, KEY_ROWS_MAX } from '../../application/ports/key-ring-store.ts';
import { AUTHENTICATION_METHODS } from '../../domain/authentication-method.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { Scope } from '../../domain/scope.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../../domain/stored-secret.ts';
import { TOKEN_ALGORITHMS } from '../../domain/token-key.ts';
import { LIFETIME_SECONDS_MAX, LIFETIME_SECONDS_MIN } from '../../domain/token-lifetime.ts';
import { databaseUrlProblem } from './database-url.ts';
import { FEATURE_GROUPS } from './feature-settings.ts';
import { withHostOfPlatform } from './platform.ts';
import {
  type Environment,
  readEnvironment,
  type SettingsGroup,
  settingsGroup,
  type ValuesOf,
} from './read-environment.ts';
import { retiredProblems, withoutRetired } from './retired-settings.ts';
import {
  hostNames,
  isHttpUrl,
  listeningHost,
  listOf,
  networks,
  oneOf,
  text,
  trueOrFalse,
  wholeNumber,
} from './setting-kinds.ts';

/** An unknown name with one of these prefixes is a typo. */
const OWN_PREFIXES = ['TOKEN_', 'CLIENT_', 'KEY_', 'AUDIT_', 'SERVICE_'];

/** What config/storages.ts opens. */
const STORAGE_NAMES = ['memory', 'sqlite', 'postgres'] as const;

export type StorageName = (typeof STORAGE_NAMES)[number];

/** What is lost with keys in memory beside a database, where restarts and further replicas are expected. */
export const KEYS_IN_MEMORY = {
  text: 'is memory, so each restart makes every token invalid, and a second replica refuses the tokens of the first',
  fix: 'set KEY_DIRECTORY=database and KEY_SECRET_FILE',
  applies: ({
    CLIENT_REPOSITORY,
    KEY_DIRECTORY,
    KEY_FILE,
  }: Partial<Record<'CLIENT_REPOSITORY' | 'KEY_DIRECTORY' | 'KEY_FILE', string | undefined>>) =>
    ['sqlite', 'postgres'].includes(CLIENT_REPOSITORY ?? '') && KEY_DIRECTORY !== 'database' && !KEY_FILE,
};

/** The only text that nobody can choose for the operator. */
const WHAT_AUDIENCE =
  'write the URL of the API that clients call with the token, such as https://api.example.com, which it finds in claim aud';

/** The settings of the core, by the name of their table in docs/. */
// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
export const CORE_GROUPS = {
  profile: settingsGroup({ rows: {
    SERVICE_PROFILE: oneOf('specification', 'standard').default('specification').describe('which defaults other settings have. With `standard`, [common clients and resource servers](getting-a-token.md) work without further settings, and `TOKEN_AUDIENCE` is required'),
  } }),
  storage: settingsGroup({
    rows: {
      CLIENT_REPOSITORY: oneOf(...STORAGE_NAMES).describe('where registrations are stored'),
      CLIENTS_FILE: text().optional().describe('JSON file with the registrations, required for `memory`. An array of `{client_id, client_secret, client_name, scope}`; `client_secret` is a BCrypt encoding, also behind `{bcrypt}`, or `{noop}` followed by the plain secret. [Further members](#members-of-a-clients-file) are for other methods. Only its owner may be able to write to it'),
      DATABASE_FILE: text().optional().describe('file of the registrations, required for `sqlite`. `npm run migrate` creates it; [what it needs](operations.md#sqlite). Only its owner may be able to write to it'),
      DATABASE_URL: databaseUrl().optional().describe('URL of the database, required for `postgres`: `postgresql://role:password@host:5432/database`'),
      DATABASE_URL_FILE: text().optional().describe('file with that URL in one line, for container secrets, instead of `DATABASE_URL`. Only its owner may be able to write to it. The service reads it again for each new connection, for [another role or password](operations.md#rotating-the-password-of-the-database)'),
      DATABASE_POOL_SIZE: wholeNumber(1, 100).default(10).describe('maximum number of connections to PostgreSQL'),
      DATABASE_DEADLINE_MS: wholeNumber(100, 30_000).default(2_000).describe('milliseconds that a look-up may take. After that the caller gets 503'),
    },
    contradictions: {
      'CLIENTS_FILE: is required if CLIENT_REPOSITORY is memory': ({ CLIENT_REPOSITORY, CLIENTS_FILE }) => CLIENT_REPOSITORY === 'memory' && !CLIENTS_FILE,
      'DATABASE_FILE: is required if CLIENT_REPOSITORY is sqlite': ({ CLIENT_REPOSITORY, DATABASE_FILE }) => CLIENT_REPOSITORY === 'sqlite' && !DATABASE_FILE,
      'DATABASE_URL: is required if CLIENT_REPOSITORY is postgres': (given) => given['CLIENT_REPOSITORY'] === 'postgres' && !given['DATABASE_URL'] && !given['DATABASE_URL_FILE'],
      'DATABASE_URL: must not be set if DATABASE_URL_FILE is set': ({ DATABASE_URL, DATABASE_URL_FILE }) => DATABASE_URL && DATABASE_URL_FILE,
    },
    doubts: {
      'CLIENTS_FILE: has no effect without CLIENT_REPOSITORY=memory: leave it out, or npm run clients -- import <file>': (given) => given['CLIENT_REPOSITORY'] !== 'memory' && given['CLIENTS_FILE'],
      'DATABASE_FILE: has no effect without CLIENT_REPOSITORY=sqlite: set that, or leave it out': (given) => given['CLIENT_REPOSITORY'] !== 'sqlite' && given['DATABASE_FILE'],
      'DATABASE_URL: has no effect, since CLIENT_REPOSITORY is not postgres: set CLIENT_REPOSITORY=postgres, or leave it out': (given) => given['CLIENT_REPOSITORY'] !== 'postgres' && (given['DATABASE_URL'] || given['DATABASE_URL_FILE']),
    },
    ownersFiles: ['CLIENTS_FILE', 'DATABASE_FILE', 'DATABASE_URL_FILE'],
  }),
  authentication: settingsGroup({ rows: {
    CLIENT_AUTHENTICATION_METHODS: listOf(...AUTHENTICATION_METHODS).default(['client_secret_post']).meta({ standard: 'client_secret_post,client_secret_basic', description: 'how clients may authenticate. Only these methods are accepted and published. [Which clients need which](getting-a-token.md)' }),
  } }),
  secrets: settingsGroup({
    rows: {
      CLIENT_SECRET_COST: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(10).describe('the BCrypt cost of a refusal until the costs of the stored secrets are known, and where there are none. Otherwise a refusal has theirs'),
      CLIENT_SECRET_COST_MAX: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX).default(BCRYPT_COST_MAX).describe('the highest BCrypt cost that is computed. A stored secret with a higher cost matches nothing. At least `CLIENT_SECRET_COST`'),
      CLIENT_SECRET_CACHE_MAX: wholeNumber(0, 1_000_000).default(100_000).describe('verified secrets in memory, as digests of 400 bytes; the least recently used go first. `0` switches the cache off'),
      CLIENT_FAILURES_PER_MINUTE: wholeNumber(0, 1_000_000).default(300).describe('failed attempts per minute for one client id from one address. An IPv6 address counts as its /64 network. Further attempts are slowed down; `0` is no limit, and then [secrets can be guessed faster](operations.md#limits)'),
    },
    conflicts: ({ CLIENT_SECRET_COST: cost, CLIENT_SECRET_COST_MAX: costMax }) => (costMax < cost ? ['CLIENT_SECRET_COST_MAX: must be at least CLIENT_SECRET_COST'] : []),
  }),
  tokens: settingsGroup({
    rows: {
      TOKEN_ISSUER: text().optional().meta({ absent: '`BASE_URL`', description: 'claim `iss`' }),
      TOKEN_LIFETIME_SECONDS: wholeNumber(LIFETIME_SECONDS_MIN, LIFETIME_SECONDS_MAX).default(300).describe('the lifetime of a token. It is `exp - iat`, and `expires_in`'),
      TOKEN_SIGNING_ALG: oneOf(...TOKEN_ALGORITHMS).default('RS256').describe('the algorithm of signatures. `ES256` and `EdDSA` cost a tenth of `RS256`. [What verifiers need](resource-servers.md#the-algorithm), and [how to change it](keys.md#changing-the-algorithm)'),
      TOKEN_PROFILE: oneOf('default', 'rfc9068').default('default').meta({ standard: 'rfc9068', description: 'the form of tokens. `rfc9068` is for strict verifiers: header `typ` = `at+jwt`, claims `client_id` and `scope` (a string). Requires `TOKEN_AUDIENCE`' }),
      TOKEN_AUDIENCE: text().optional().meta({ absent: "the client's id", description: "claim `aud` of every token that is requested without a `resource`. The service's own paths require it. Each resource server can have [an audience of its own](resource-servers.md#one-audience-for-each-resource-server)" }),
      TOKEN_SCOPE_CLAIM: trueOrFalse().default(false).describe('`true` adds claim `scope`, an array of strings'),
      TOKEN_RESPONSE_SCOPE: oneOf('requested', 'always').default('requested').meta({ standard: 'always', description: 'when the response has `scope`, the scopes of the token. `requested`: if the request has one. Some clients read it to learn what they may do' }),
    },
    contradictions: {
      [`TOKEN_AUDIENCE: is required if TOKEN_PROFILE is rfc9068, or SERVICE_PROFILE is standard: ${WHAT_AUDIENCE}`]: (given) => (given['TOKEN_PROFILE'] === 'rfc9068' || given['SERVICE_PROFILE'] === 'standard') && !given['TOKEN_AUDIENCE'],
    },
  }),
  keys: settingsGroup({
    rows: {
      KEY_ROTATION_SECONDS: wholeNumber(0, 31_536_000).default(86_400).describe('seconds for which a key signs before the next one takes over. `0` is never; otherwise at least twice `KEY_PUBLICATION_SECONDS`'),
      KEY_PUBLICATION_SECONDS: wholeNumber(1, 86_400).default(1_800).describe('seconds for which a key is published before it signs, so that every verifier knows it. Nobody waits for that at a start'),
      KEY_FILE: text().optional().describe('file with a private key for `TOKEN_SIGNING_ALG` (PKCS#8 PEM or JWK): RSA of 2048 to 4096 bits, P-256 or Ed25519. It is used instead of a key made in memory. Only its owner may be able to write to it. It is kept over restarts and never rotated'),
      KEY_DIRECTORY: keyDirectory().default('memory').describe('where the keys are that sign. `memory`: each start makes new ones, and every token from before is refused; for a single replica. `database`: in the database of the registrations, private keys sealed, so that [restarts and replicas share them](keys.md#one-replica-or-several)'),
      KEY_SECRET_FILE: text().optional().describe('file with the secrets that seal the keys, required for `KEY_DIRECTORY=database`: at least 32 random bytes in base64 or base64url, a line each (`openssl rand -base64 32`). [The first line seals, all open](keys.md#changing-the-secret). Only its owner may be able to write to it'),
    },
    contradictions: {
      'KEY_DIRECTORY: database requires CLIENT_REPOSITORY=sqlite or CLIENT_REPOSITORY=postgres': ({ KEY_DIRECTORY, CLIENT_REPOSITORY }) => KEY_DIRECTORY === 'database' && CLIENT_REPOSITORY === 'memory',
      'KEY_SECRET_FILE: is required if KEY_DIRECTORY is database: openssl rand -base64 32 writes one': ({ KEY_DIRECTORY, KEY_SECRET_FILE }) => KEY_DIRECTORY === 'database' && !KEY_SECRET_FILE,
      'KEY_FILE: must not be set if KEY_DIRECTORY is database, which has keys of its own': ({ KEY_DIRECTORY, KEY_FILE }) => KEY_DIRECTORY === 'database' && KEY_FILE,
      'KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set': ({ KEY_FILE, KEY_ROTATION_SECONDS = '0' }) => KEY_FILE && KEY_ROTATION_SECONDS !== '0',
    },
    doubts: {
      [`KEY_DIRECTORY: ${KEYS_IN_MEMORY.text}: ${KEYS_IN_MEMORY.fix}`]: KEYS_IN_MEMORY.applies,
      'KEY_SECRET_FILE: has no effect without KEY_DIRECTORY=database: set that, or leave it out': (given) => given['KEY_DIRECTORY'] !== 'database' && given['KEY_SECRET_FILE'],
    },
    conflicts({ KEY_FILE, KEY_DIRECTORY: directory, KEY_ROTATION_SECONDS: rotation, KEY_PUBLICATION_SECONDS: publication }) {
      if (directory === 'database' && rotation === 0) return ['KEY_ROTATION_SECONDS: must not be 0 if KEY_DIRECTORY is database: 31536000 is a year, and npm run keys -- rotate rotates at any time'];
      const isShort = KEY_FILE === undefined && rotation !== 0 && rotation < 2 * publication;
      return isShort ? ['KEY_ROTATION_SECONDS: must be 0 or at least twice KEY_PUBLICATION_SECONDS'] : [];
    },
    ownersFiles: ['KEY_FILE', 'KEY_SECRET_FILE'],
  }),
  listening: settingsGroup({
    rows: {
      HOST: listeningHost().default('127.0.0.1').describe('address to listen on. The image sets `0.0.0.0`; on Cloud Run, Render and Heroku that is the default, and on Fly.io `::`'),
      PORT: wholeNumber(0, 65_535).default(8080).describe('port to listen on. `0` is any free port, and then `BASE_URL` is required'),
      BASE_URL: baseUrl().optional().meta({ absent: '`http://localhost:PORT`', description: 'the URL under which callers reach the service. It is never taken from a request. [With a path](operations.md#behind-a-proxy), each public route has both paths, with and without it' }),
      TRUSTED_PROXIES: networks().optional().describe("address ranges of proxies, such as `10.0.0.0/8,fd00::/8`. Only on connections from them the client's address is read from the last 20 entries of `Forwarded` or `X-Forwarded-For`: [Behind a proxy](operations.md#behind-a-proxy)"),
      MANAGEMENT_HOST: listeningHost().default('127.0.0.1').describe('address of the management port. The image sets `0.0.0.0`; do not publish the port'),
      MANAGEMENT_PORT: wholeNumber(0, 65_535).default(8081).describe('port that serves `/livez`, `/readyz`, `/readyz/verification` and `/metrics` without authentication. `0` switches it off'),
      MANAGEMENT_ALLOWED_HOSTS: hostNames().optional().describe('names, separated by commas, by which Prometheus and operators reach the management port, such as `auth.internal`. Beside them, it answers as `MANAGEMENT_HOST`, `localhost`, `*.localhost` and by IP address; every other `Host` gets [421](monitoring.md)'),
    },
    contradictions: {
      'BASE_URL: is required, since there is no fixed port: set the URL under which callers reach the service': ({ PORT, BASE_URL }) => PORT === '0' && !BASE_URL,
    },
    doubts: {
      'BASE_URL: no caller reaches 0.0.0.0 or [::], which mean every address of this machine: write the name by which callers reach the service, and 0.0.0.0 into HOST': ({ BASE_URL = '' }) => /\/\/(0\.0\.0\.0|\[::\])([:/]|$)/.test(BASE_URL),
      'BASE_URL: ends in the path of an endpoint, which the service adds itself: write what comes before /oauth2 or /.well-known': ({ BASE_URL = '' }) => /\/(oauth2|\.well-known)(\/|$)/.test(BASE_URL),
    },
    conflicts({ PORT: port, MANAGEMENT_PORT, HOST, MANAGEMENT_HOST }) {
      const isTaken = port !== 0 && port === MANAGEMENT_PORT && overlap(HOST, MANAGEMENT_HOST);
      return isTaken ? [`PORT: ${port} is MANAGEMENT_PORT too: set one of them to another port`] : [];
    },
  }),
  shutdown: settingsGroup({ rows: {
    SHUTDOWN_GRACE_MS: wholeNumber(0, 300_000).default(5_000).describe('milliseconds after SIGTERM for which new connections are still accepted while `/readyz` fails'),
    SHUTDOWN_DRAIN_MS: wholeNumber(0, 300_000).default(10_000).describe('milliseconds that requests in flight have to finish, once no new connections are accepted'),
  } }),
  audit: settingsGroup({ rows: {
    AUDIT_FILE: text().optional().meta({ absent: 'standard output', description: 'file for audit events. It is created for its owner only, and opened again at SIGHUP' }),
    AUDIT_REQUIRED: trueOrFalse().default(false).describe('`true`: no token is answered before its line is written, and requests get 503 [while that is impossible](monitoring.md#when-a-line-cannot-be-written)'),
  } }),
  metadata: settingsGroup({
    rows: {
      PUBLIC_METADATA: trueOrFalse().default(false).meta({ standard: 'true', description: '`true` opens the key set and the metadata to all callers. They are `/oauth2/jwks` and `/.well-known/oauth-authorization-server`' }),
      METADATA_COMPATIBILITY: listOf(...METADATA_COMPATIBILITIES).optional().meta({ standard: 'oidc', description: 'clients with needs beyond the standard. `mcp` adds to the metadata what clients of the [Model Context Protocol](mcp.md) insist on, and requires `PUBLIC_METADATA=true`. `oidc` serves [a document for clients of OpenID Connect](getting-a-token.md#clients-that-want-openid-connect) at `/.well-known/openid-configuration`' }),
      METADATA_SCOPES: scopes().optional().describe('the scopes that the metadata lists as `scopes_supported`, separated by single spaces'),
    },
    contradictions: {
      'PUBLIC_METADATA: must be true if METADATA_COMPATIBILITY has mcp, since these clients fetch it without a token': (given) => given['METADATA_COMPATIBILITY']?.includes('mcp') && given['PUBLIC_METADATA'] !== 'true',
    },
    doubts: {
      'METADATA_COMPATIBILITY: oidc has no effect for clients without a token: set PUBLIC_METADATA=true': (given) => given['METADATA_COMPATIBILITY']?.includes('oidc') && given['PUBLIC_METADATA'] !== 'true',
      'METADATA_SCOPES: a comma is part of a scope: separate scopes by spaces': ({ METADATA_SCOPES }) => METADATA_SCOPES?.includes(','),
    },
  }),
};

/** All settings of the service. */
export const SETTINGS_GROUPS = { ...CORE_GROUPS, ...FEATURE_GROUPS };

const GROUPS: readonly SettingsGroup[] = Object.values(SETTINGS_GROUPS);

/** The settings with a file that only its owner may be able to write to. */
export const OWNERS_FILES = GROUPS.flatMap(({ ownersFiles = [] }) => ownersFiles);

type Groups = typeof SETTINGS_GROUPS;

/** The rows of all groups together. */
type Rows = { [Name in keyof Groups]: (rows: Groups[Name]['rows']) => void }[keyof Groups] extends (
  rows: infer All extends z.ZodRawShape,
) => void
  ? All
  : never;

/** The settings of a deployment, checked and frozen. Secrets do not print. */
export type Settings = Readonly<Omit<ValuesOf<Rows>, keyof Derived> & Derived>;

/** Settings whose default depends on something else. */
interface Derived {
  readonly BASE_URL: string;
  readonly TOKEN_ISSUER: string;
}

/** Reads the environment. Fails with every problem, by the name of its setting and never with a value. */
export function readSettings(environment: Environment): Result<Settings, readonly string[]> {
  const rows: Rows = Object.assign({}, ...GROUPS.map((group) => group.rows));
  const contradictions = Object.assign({}, ...GROUPS.map((group) => group.contradictions));
  const retired = retiredProblems(environment);
  const current = withHostOfPlatform(withoutRetired(environment));
  const read = readEnvironment({ rows, contradictions }, OWN_PREFIXES, current);
  if (!read.ok) return failure([...read.problem, ...retired]);

  const problems = [
    ...retired,
    ...GROUPS.flatMap((group) => group.conflicts?.(read.value) ?? []),
    ...tooManyKeys(read.value),
    ...reusedTooLong(read.value),
  ];
  if (problems.length > 0) return failure(problems);
  // A key from a file has no successor.
  const values = read.value.KEY_FILE === undefined ? read.value : { ...read.value, KEY_ROTATION_SECONDS: 0 };
  const BASE_URL = values.BASE_URL ?? `http://localhost:${values.PORT}`;
  return success(Object.freeze({ ...values, BASE_URL, TOKEN_ISSUER: values.TOKEN_ISSUER ?? BASE_URL }));
}

/** A ring with more rows than can be read would stop the service, and nothing would delete them. */
function tooManyKeys(values: ValuesOf<Rows>): readonly string[] {
  const { KEY_DIRECTORY: directory, KEY_ROTATION_SECONDS: rotation, TOKEN_LIFETIME_SECONDS: lifetime } = values;
  // Half of the rows is left for those that are revoked, and that a rotation by hand adds.
  const least = Math.ceil((lifetime + KEPT_SECONDS) / (KEY_ROWS_MAX / 2));
  if (directory !== 'database' || rotation === 0 || rotation >= least) return [];
  return [`KEY_ROTATION_SECONDS: must be at least ${least} with this TOKEN_LIFETIME_SECONDS`];
}

/** Half, so that each token is still valid for a while. */
function reusedTooLong(values: ValuesOf<Rows>): readonly string[] {
  if (values.TOKEN_REUSE_SECONDS <= values.TOKEN_LIFETIME_SECONDS / 2) return [];
  return [
    'TOKEN_REUSE_SECONDS: must be at most half of TOKEN_LIFETIME_SECONDS, so that each token is still valid for a while',
  ];
}

/** Whether two addresses to listen on are the same, or one of them is every address of the machine. */
function overlap(one: string, other: string): boolean {
  return one === other || [one, other].some((host) => host === '0.0.0.0' || host === '::');
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

function scopes() {
  return z
    .string()
    .refine((value) => Scope.parse(value).ok, 'must be scope tokens with single spaces between (RFC 6749 section 3.3)')
    .transform((value) => value.split(' '))
    .meta({ isList: true });
}

function keyDirectory() {
  const rule = 'must be memory or database';
  const renamed = 'must be database, as postgres is called now; KEY_SECRET_FILE is required with it';
  return z
    .enum(['memory', 'database'], { error: ({ input }) => (input === 'postgres' ? renamed : rule) })
    .meta({ values: '`memory` or `database`' });
}
