import { z } from 'zod';

// The kinds of settings. Each parses the text of an environment variable; its problem states the rule, never the value.

export function text() {
  return z.string('must be set').refine((value) => value.trim() === value, 'must not begin or end with a space');
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(...choices: Choices) {
  return z.enum(choices, `must be ${choices.join(' or ')}`);
}

export function trueOrFalse() {
  return oneOf('true', 'false').transform((value) => value === 'true');
}

export function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z
    .string(rule)
    .regex(/^(0|[1-9]\d{0,8})$/, { error: rule, abort: true })
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule);
}

/** A URL to send requests to; without a password, because it may be logged. */
export function httpUrl() {
  return z.string('must be set').refine(isHttpUrl, 'must be an http or https URL without user and fragment');
}

export function isHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    ['http:', 'https:'].includes(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[#\s]/.test(value)
  );
}
