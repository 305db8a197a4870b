import { z } from 'zod';
import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET, StoredSecret } from '../../domain/stored-secret.ts';

/** A rule that a field of an entry breaks, under the path of the field. Never quotes a value. */
type FieldProblem = readonly [path: string, rule: string];

/** What may stand for a secret in a file, and what the references of the file mean. */
export interface SecretRules {
  /** Whether `{noop}` and the plain secret may stand in the file. */
  readonly plain: 'accepted' | 'refused';
  /** Whether the reader can generate a secret. */
  readonly generate: 'accepted' | 'refused';
  /** The text of a file, or of an environment variable. Fails with the reason, without the text. */
  readonly read: (reference: { readonly file: string } | { readonly env: string }) => Result<string, string>;
}

const REFERENCE = z.union([
  z.strictObject({ file: z.string().min(1) }),
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ generate: z.string().min(1) }),
]);

const NOT_A_REFERENCE = 'must be a BCrypt encoding, {"file": PATH} or {"env": NAME}';
const PLAIN = `must not be in the file in plain text: write {"file": PATH} or {"env": NAME}, or the output of clients hash`;
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
      const isPlain = rules.plain === 'refused' && secret !== null && StoredSecret.parse(secret).kind === 'plain';
      if (isPlain) problems.push([field, PLAIN]);
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

function storedText(reference: z.output<typeof REFERENCE>, { read, generate }: SecretRules): Result<string, string> {
  if ('generate' in reference) return generate === 'accepted' ? success(NO_SECRET) : failure(GENERATE);
  const text = read(reference);
  if (!text.ok) return text;
  const secret = text.value.replace(/\r?\n$/, '');
  return success(StoredSecret.parse(secret).kind === 'bcrypt' ? secret : `{noop}${secret}`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
