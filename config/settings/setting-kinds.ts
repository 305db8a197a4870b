import { isIP } from 'node:net';
import { z } from 'zod';
import type { Network } from '../../adapters/http/parsing/client-address.ts';

// The kinds of settings. Each parses the text of an environment variable; its problem states the rule, never the value.
// `values` is what pages and help texts say of the values that are allowed; `isList`, whether `none` is one of them.

export function text() {
  return z.string('must be set');
}

/** Where a program listens. */
export function listeningHost() {
  const rule =
    'must be an IP address or a host name alone: no http://, no port (that is a separate setting), ' +
    'IPv6 without brackets; 0.0.0.0 or :: is every address';
  return z.string().refine((value) => isIP(value) !== 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(value), rule);
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]) {
  const rule = choices.join(' or ');
  return z
    .enum(choices, { error: ({ input }) => (input === undefined ? `must be set, to ${rule}` : `must be ${rule}`) })
    .meta({ values: anyOf(choices) });
}

function anyOf(choices: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(choices.map((choice) => `\`${choice}\``));
}

/** The parts of a list, separated by commas, without the spaces around them. */
function partsOf(value: string): readonly string[] {
  return value.split(',').map((part) => part.trim());
}

/** Some of these choices, each at most once, separated by commas. */
export function listOf<const Choices extends readonly [string, ...string[]]>(...choices: Choices) {
  return z
    .string()
    .refine(
      (value) => partsOf(value).every((part, index, parts) => choices.includes(part) && parts.indexOf(part) === index),
      `must be a list, separated by commas, of ${choices.join(' ')}, each at most once`,
    )
    .transform((value): readonly Choices[number][] => partsOf(value))
    .meta({ values: `one or more of ${anyOf(choices)}, separated by commas`, isList: true });
}

/** Separated by commas. */
export function hostNames() {
  const isName = (name: string) => /^[\w-]+(\.[\w-]+)*$/.test(name);
  return z
    .string()
    .refine((value) => partsOf(value).every(isName), 'must be host names without ports, separated by commas')
    .transform(partsOf)
    .meta({ isList: true });
}

export function trueOrFalse() {
  return oneOf('true', 'false').transform((value) => value === 'true');
}

export function wholeNumber(least: number, most: number) {
  const values = `${least} to ${most}`;
  const rule = `must be a whole number from ${values}`;
  return z
    .string(rule)
    .regex(/^(0|[1-9]\d{0,8})$/, { error: rule, abort: true })
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule)
    .meta({ values });
}

/**
 * Ranges of addresses, separated by commas. An address alone is a range of one; a range of all addresses is a mistake.
 */
export function networks() {
  const read = (value: string) => partsOf(value).map(readNetwork);
  return z
    .string()
    .refine((value) => !read(value).includes(undefined), {
      error: ({ input }) =>
        `must be address ranges such as 10.0.0.0/8,fd00::/8, none of /0: entry ${read(String(input)).indexOf(undefined) + 1} is not`,
    })
    .transform((value) => read(value).filter((network) => network !== undefined))
    .meta({ isList: true });
}

function readNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...others] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || address.includes('%') || others.length > 0) return undefined;
  const prefixBits = prefix === undefined ? bits : /^[1-9]\d{0,2}$/.test(prefix) ? Number(prefix) : 0;
  return prefixBits >= 1 && prefixBits <= bits ? { address, prefixBits } : undefined;
}
