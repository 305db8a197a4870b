import { type ClientClaims, NO_CLAIMS, ruleOfClaims } from './client-claims.ts';
import { ruleOfGrants } from './grant-type.ts';
import { ruleOfLifetime } from './token-lifetime.ts';
import { hasUnprintable } from './unprintable.ts';

/**
 * The simple fields of a client, each one value. They have these names and values in the column `details`, in clients
 * files and in `--json`. Everything that handles clients takes them from {@link CLIENT_FIELDS}.
 */
export interface ClientFields {
  /** At the root of the payload of each token. */
  readonly claims: ClientClaims;
  /** The longest lifetime of the client's tokens, in seconds; null: as long as the deployment's. */
  readonly token_lifetime_seconds: number | null;
  /** The grants that the client may use, short or in full (RFC 7591 section 2); null: all that are switched on. */
  readonly grant_types: readonly string[] | null;
  /** What it serves as a resource server: it may ask about tokens for one of these; null: only about its own. */
  readonly audiences: readonly string[] | null;
  /** Whose file has the client, such as a team; null: nobody's. */
  readonly owner: string | null;
}

/** What the audit log says of them. */
export interface RecordedFields extends Omit<ClientFields, 'claims'> {
  /** Names only: a value may be about a person. */
  readonly claims: readonly string[];
}

export type ClientFieldName = keyof ClientFields;

interface ClientField<Value, Recorded> {
  /** Of a client that says nothing about it. */
  readonly empty: Value;
  /** The rule that a value breaks, if it breaks one: a file or a row may have anything. Never quotes the value. */
  ruleOf(value: unknown): string | undefined;
  recorded(value: Value): Recorded;
}

/** A row for each field. The order is that of files and output. */
export const CLIENT_FIELDS: {
  readonly [Name in ClientFieldName]: ClientField<ClientFields[Name], RecordedFields[Name]>;
} = {
  claims: {
    empty: NO_CLAIMS,
    ruleOf: ruleOfClaims,
    recorded: (claims) => Object.keys(Object(claims)),
  },
  token_lifetime_seconds: {
    empty: null,
    ruleOf: ruleOfLifetime,
    recorded: (seconds) => seconds,
  },
  grant_types: { empty: null, ruleOf: ruleOfGrants, recorded: (grants) => grants },
  audiences: { empty: null, ruleOf: ruleOfAudiences, recorded: (audiences) => audiences },
  owner: { empty: null, ruleOf: ruleOfOwner, recorded: (owner) => owner },
};

const [AUDIENCES_MAX, AUDIENCE_MAX_LENGTH] = [50, 2_000];

function ruleOfAudiences(audiences: unknown): string | undefined {
  if (audiences === null) return undefined;
  const isText = (one: unknown) =>
    typeof one === 'string' && one !== '' && one.length <= AUDIENCE_MAX_LENGTH && !hasUnprintable(one);
  const isGood = Array.isArray(audiences) && audiences.length > 0 && audiences.length <= AUDIENCES_MAX;
  if (isGood && audiences.every(isText) && new Set(audiences).size === audiences.length) return undefined;
  return `must be an array of 1 to ${AUDIENCES_MAX} different texts`;
}

const OWNER_MAX_LENGTH = 255;

/** The rule that the name of an owner breaks, if it breaks one; null: nobody's. */
export function ruleOfOwner(owner: unknown): string | undefined {
  if (owner === null) return undefined;
  const isName = typeof owner === 'string' && owner !== '' && owner.length <= OWNER_MAX_LENGTH;
  if (isName && owner.isWellFormed() && !/\p{Cc}/u.test(owner) && !hasUnprintable(owner)) return undefined;
  return `must have 1 to ${OWNER_MAX_LENGTH} characters that can be seen`;
}

export const CLIENT_FIELD_NAMES = Object.keys(CLIENT_FIELDS) as readonly ClientFieldName[];

/** The fields that say something about the tokens of a client. */
export type TokenFieldName = Exclude<ClientFieldName, 'owner'>;

export const TOKEN_FIELD_NAMES = CLIENT_FIELD_NAMES.filter((name): name is TokenFieldName => name !== 'owner');

/** What is made of each field, under its name. */
export function eachField<Made>(make: (name: ClientFieldName) => Made): { readonly [Name in ClientFieldName]: Made } {
  return Object.fromEntries(CLIENT_FIELD_NAMES.map((name) => [name, make(name)])) as Record<ClientFieldName, Made>;
}

export const NO_FIELDS = eachField((name) => CLIENT_FIELDS[name].empty) as ClientFields;

/** The simple fields alone. */
export function simpleFieldsOf(client: ClientFields): ClientFields {
  return eachField((name) => client[name]) as ClientFields;
}

/** What the audit log says of the simple fields. */
export function recordedFieldsOf(client: ClientFields): RecordedFields {
  const recorded = <Name extends ClientFieldName>(name: Name) => CLIENT_FIELDS[name].recorded(client[name]);
  return eachField(recorded) as unknown as RecordedFields;
}
