import { InvalidArgumentError, Option } from 'commander';
import { NO_CLAIMS } from '../../../domain/client-claims.ts';
import { CLIENT_FIELD_NAMES, type ClientFieldName, type ClientFields } from '../../../domain/client-fields.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import type { Rows } from '../text-table.ts';

interface CommandLineField<Value> {
  /** What sets it in `add` and `update`; undefined if these cannot. The domain checks the value. */
  readonly option: { readonly flags: string; readonly about: string; parse(text: string): Value } | undefined;
  /** The rows of `show`, with their names; none if it says nothing. */
  rows(value: Value): Rows;
}

const FIELDS: { readonly [Name in ClientFieldName]: CommandLineField<ClientFields[Name]> } = {
  claims: {
    option: {
      flags: '--token-claims <json>',
      about: "claims of its tokens, as a JSON object; '' for none",
      parse: parseClaims,
    },
    rows: (claims) =>
      Object.entries(Object(claims)).map(([name, value]) => ['claim', `${name}: ${JSON.stringify(value)}`]),
  },
  token_lifetime_seconds: {
    option: {
      flags: '--token-lifetime <seconds>',
      about: 'how long its tokens are valid at most; 0: as long as others',
      parse: parseLifetime,
    },
    rows: (seconds) => (seconds === null ? [] : [['lifetime of tokens', `at most ${seconds} s`]]),
  },
  grant_types: {
    option: {
      flags: '--grant-types <names>',
      about: "grants that it may use, such as client_credentials,jwt-bearer; '' for all",
      parse: (names) => (names === '' ? null : names.split(',')),
    },
    rows: (grants) => (grants === null ? [] : [['grants', grants.join(', ')]]),
  },
  audiences: {
    option: {
      flags: '--audiences <list>',
      about: "audiences that it serves and may introspect, separated by commas; '' for none",
      parse: (list) => (list === '' ? null : list.split(',')),
    },
    rows: (audiences) => (audiences === null ? [] : [['audiences', audiences.join(', ')]]),
  },
  owner: {
    option: undefined,
    rows: (owner) => (owner === null ? [] : [['owner', owner]]),
  },
};

/** A value is in an array, since commander takes null for none. */
const OPTIONS = CLIENT_FIELD_NAMES.flatMap((name) => {
  const { option } = FIELDS[name];
  if (option === undefined) return [];
  return [{ name, option: new Option(option.flags, option.about).argParser((text) => [option.parse(text)]) }];
});

/** The options that set a field. */
export const FIELD_OPTIONS = OPTIONS.map(({ option }) => option);

/** The fields that the options of a command set. */
export function fieldsGiven(options: object): Partial<ClientFields> {
  const given = OPTIONS.map(({ name, option }) => [name, Reflect.get(options, option.attributeName())?.[0]]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** What people see of the fields. */
export function rowsOfFields(client: ClientFields): Rows {
  const rowsOf = <Name extends ClientFieldName>(name: Name) => FIELDS[name].rows(client[name]);
  return CLIENT_FIELD_NAMES.flatMap(rowsOf);
}

function parseClaims(text: string): ClientFields['claims'] {
  const claims = text === '' ? NO_CLAIMS : parseJson(text);
  if (claims !== undefined) return claims as ClientFields['claims'];
  throw new InvalidArgumentError('It must be a JSON object that names nothing twice, such as {"tenant":"acme"}.');
}

function parseLifetime(text: string): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text) || null;
  throw new InvalidArgumentError('It must be a whole number of seconds: 600 is 10 minutes.');
}
