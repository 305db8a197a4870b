import { z } from 'zod';
import { failure, type Result, success } from '../../domain/result.ts';
import {
  isLocked,
  NO_SECRET,
  SECRET_MAX_BYTES,
  SECRET_MIN_CHARACTERS,
  StoredSecret,
} from '../../domain/stored-secret.ts';

/** A rule that a field of an entry breaks, under the path of the field. Never quotes a value. */
type FieldProblem = readonly [path: string, rule: string];

/** What may stand for a secret in a file, and what the references of the file mean. */
export interface SecretRules {
  /** Whether `{noop}` and the plain secret may stand in the file. */
  readonly plain: 'accepted' | 'refused';
  /** Whether a reference may lead to a secret that is easy to guess. Absent: it may. */
  readonly short?: 'accepted' | 'refused';
  /** Why a generated secret cannot be written to this file; undefined if it can. Absent: none is generated. */
  readonly generate?: (path: string) => string | undefined;
  /** The text of a file, or of an environment variable. Fails with the reason, without the text. */
  readonly read: (reference: { readonly file: string } | { readonly env: string }) => Result<string, string>;
}

const REFERENCE = z.union([
  z.strictObject({ file: z.string().min(1) }),
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ generate: z.string().min(1) }),
]);

const NOT_A_REFERENCE =
  'must be a BCrypt encoding, {"file": PATH}, {"env": NAME} or, in clients apply, {"generate": PATH}';
const PLAIN = `must not be in the file in plain text: write {"file": PATH} or {"env": NAME}, or the output of clients hash`;
/** How the encodings of other functions begin: crypt's, passlib's, Django's, Spring's and LDAP's. */
const OTHER_HASH = /^(\$(?!2)[\w-]+\$|\{(?!bcrypt\}|noop\})[\w@.-]+\}|(pbkdf2|argon2|scrypt|s?sha\d*|md5)[\w-]*[$:])/i;
const NOT_BCRYPT = 'is a hash, and not one of BCrypt: the client needs a new secret';
/** A cut encoding, one of another cost, or the text for no secret, would become a secret itself. */
const LIKE_AN_ENCODING = /^(!*(\{bcrypt\})?\$2|\*$)/;
const NO_ENCODING = 'refers to a text that looks like a BCrypt encoding, and is none of cost 4 to 14';
const SHORT = `refers to a secret of fewer than ${SECRET_MIN_CHARACTERS} characters: choose a longer one, or add --allow-short-secret`;
const GENERATE = 'cannot be generated here: only clients apply does it';
const GENERATE_OTHER = 'cannot be generated: only the client_secret of the client can';

/** An entry whose secrets are stored texts, and the file that gets its secret if one is to be generated. */
interface EntryWithSecrets {
  readonly entry: unknown;
  readonly generateTo?: string;
}

/** Reads the secrets that an entry of a clients file refers to. What is no reference stays as it is, for the schema. */
export function withSecrets(entry: unknown, rules: SecretRules): Result<EntryWithSecrets, readonly FieldProblem[]> {
  const problems: FieldProblem[] = [];
  let generateTo: string | undefined;
  /** The object with its `client_secret`, if it has one. */
  const withSecret = (given: unknown, path: string): unknown => {
    if (!isObject(given) || !('client_secret' in given)) return given;
    const { client_secret: secret } = given;
    const field = `${path}client_secret`;
    if (typeof secret === 'string' || secret === null) {
      if (rules.plain === 'refused' && secret !== null && !isStored(secret))
        problems.push([field, OTHER_HASH.test(secret) ? NOT_BCRYPT : PLAIN]);
      return given;
    }
    const reference = REFERENCE.safeParse(secret);
    const read = reference.success ? storedText(reference.data, rules) : failure(NOT_A_REFERENCE);
    if (reference.success && 'generate' in reference.data) {
      generateTo = reference.data.generate;
      if (path !== '') problems.push([field, GENERATE_OTHER]);
    }
    if (!read.ok) problems.push([field, read.problem]);
    return { ...given, client_secret: read.ok ? read.value : NO_SECRET };
  };
  const whole = withSecret(entry, '');
  const secrets = isObject(whole) && Array.isArray(whole['secrets']) ? whole['secrets'] : undefined;
  const named = secrets?.map((secret, position) => withSecret(secret, `secrets.${position}.`));
  if (problems.length > 0) return failure(problems);
  const resolved = named === undefined ? whole : { ...(whole as object), secrets: named };
  return success({ entry: resolved, ...(generateTo !== undefined && { generateTo }) });
}

function storedText(reference: z.output<typeof REFERENCE>, rules: SecretRules): Result<string, string> {
  const { read, generate, short } = rules;
  if ('generate' in reference) {
    const problem = generate === undefined ? GENERATE : generate(reference.generate);
    return problem === undefined ? success(NO_SECRET) : failure(problem);
  }
  const text = read(reference);
  if (!text.ok) return text;
  const secret = text.value.replace(/\r?\n$/, '');
  const isEncoding = StoredSecret.parse(secret).kind === 'bcrypt';
  if (!isEncoding && LIKE_AN_ENCODING.test(secret)) return failure(NO_ENCODING);
  const bytes = Buffer.byteLength(secret);
  if (!isEncoding && bytes > SECRET_MAX_BYTES) {
    return failure(`refers to a secret of ${bytes} bytes: BCrypt reads at most ${SECRET_MAX_BYTES}`);
  }
  if (!isEncoding && short === 'refused' && [...secret].length < SECRET_MIN_CHARACTERS) return failure(SHORT);
  return success(isEncoding ? secret : `{noop}${secret}`);
}

/** Whether a text cannot be a secret itself. */
function isStored(text: string): boolean {
  return text === NO_SECRET || isLocked(text) || StoredSecret.parse(text).kind === 'bcrypt';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
