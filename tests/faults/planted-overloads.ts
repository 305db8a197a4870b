import { runAt } from '../support/run-at.ts';

/**
 * Types of the arguments of planted functions and operators: those of our columns, of the catalog, and their relatives.
 */
const TYPES = [
  'text',
  'varchar',
  'bpchar',
  'name',
  '"char"',
  'bool',
  'int2',
  'int4',
  'int8',
  'numeric',
  'float8',
  'json',
]
  .concat(['jsonb', 'oid', 'regclass', 'regrole', 'regnamespace', 'timestamptz', 'bytea', 'text[]', 'name[]', 'int8[]'])
  .concat(['aclitem', 'public.evil']);
const POLYMORPHIC = [
  ['anyelement', 'anyelement'],
  ['anyarray', 'anyarray'],
  ['anycompatible', 'anycompatible'],
  ['anyelement', 'anyarray'],
] as const;
const PAIRS = [...TYPES.flatMap((left) => TYPES.map((right) => [left, right] as const)), ...POLYMORPHIC];

/** Those of functions with two arguments, with three or four, and of casts to a type of the attacker. */
const FEWER_TYPES = [
  'text',
  'varchar',
  'name',
  'bool',
  'int2',
  'int4',
  'int8',
  'numeric',
  'json',
  'oid',
  'regclass',
  'text[]',
];
const FEWEST_TYPES = ['text', 'int8', 'bool'];
const CAST_TYPES = ['text', 'varchar', 'name', 'int4', 'int8', 'oid', 'regclass', 'json'];
const ARGUMENTS_MAX = 8;

/** Every list of arguments that a planted function has. */
const SIGNATURES = [
  '',
  ...TYPES,
  ...['anyelement', 'anyarray', 'variadic varchar[]', 'variadic anycompatiblearray'],
  ...FEWER_TYPES.flatMap((left) => FEWER_TYPES.map((right) => `${left}, ${right}`)),
  ...POLYMORPHIC.map((types) => types.join(', ')),
  ...[3, 4].flatMap((count) => listsOf(count)),
  ...FEWER_TYPES.flatMap((type) =>
    Array.from({ length: ARGUMENTS_MAX - 2 }, (_, more) =>
      Array<string>(more + 3)
        .fill(type)
        .join(', '),
    ),
  ),
].filter((signature, index, all) => all.indexOf(signature) === index);

const BODY = 'returns bool language sql as $$ select null::bool $$';

/** DDL statements of one transaction. */
const BATCH = 500;

/** Operators without a symbol of their own in a statement. */
const HIDDEN_OPERATORS = ['=', '<>', '<', '>', '<=', '>=', '~~', '!~~', '||', '-', '+'];

/** Every function, operator and type of the catalog whose name occurs in one of the statements. */
export async function namesIn(url: string, statements: readonly string[]) {
  const text = statements.join(' ');
  const words = [...new Set(text.match(/\w+/g)?.map((word) => word.toLowerCase()))];
  const symbols = [...new Set([...HIDDEN_OPERATORS, ...(text.match(/[-+*/<>=~!@#%^&|`?]+/g) ?? [])])];
  const find = async (table: string, prefix: string, names: readonly string[]) => {
    const rows = await runAt(
      url,
      `select distinct ${prefix}name as name from pg_catalog.${table}
        where ${prefix}name = any ($1::name[]) and ${prefix}namespace = 'pg_catalog'::regnamespace`,
      [names],
    );
    return rows.map(({ name }) => String(name));
  };
  return {
    functions: await find('pg_proc', 'pro', words),
    operators: await find('pg_operator', 'opr', symbols),
    types: await find('pg_type', 'typ', words),
  };
}

/**
 * Plants overloads of these names in the schema `public`, as a role that may create there and nothing else. Nobody else
 * may execute them, so that a statement that resolves a name to one fails, also one that finds no row.
 */
export async function plantOverloads(url: string, names: Awaited<ReturnType<typeof namesIn>>): Promise<void> {
  const statements = [
    'alter default privileges revoke execute on functions from public',
    'create type public.evil as (t text)',
    ...CAST_TYPES.flatMap((type) => [
      `create function public.to_evil(${type}) ${BODY.replaceAll('bool', 'public.evil')}`,
      `create cast (${type} as public.evil) with function public.to_evil(${type}) as implicit`,
    ]),
    ...PAIRS.flatMap(([left, right]) => [
      `create function public.planted(${left}, ${right}) ${BODY}`,
      ...names.operators.map(
        (operator) =>
          `create operator public.${operator} (leftarg = ${left}, rightarg = ${right}, function = public.planted)`,
      ),
    ]),
    ...names.functions.flatMap((name) =>
      SIGNATURES.map((signature) => `create function public."${name}"(${signature}) ${BODY}`),
    ),
    ...names.types.map((name) => `create domain public."${name}" as pg_catalog.text check (false)`),
    'create collation public."C" from pg_catalog.ucs_basic',
  ];
  for (let start = 0; start < statements.length; start += BATCH) {
    await runAt(url, statements.slice(start, start + BATCH).join(';'));
  }
}

/** Every list of so many of the fewest types. */
function listsOf(count: number): readonly string[] {
  if (count === 1) return FEWEST_TYPES;
  return listsOf(count - 1).flatMap((types) => FEWEST_TYPES.map((type) => `${types}, ${type}`));
}
