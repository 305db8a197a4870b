/** White space, and what editors and web pages leave where nobody sees it (categories Cc, Cf and Z of Unicode). */
const AT_THE_ENDS = /^[\p{Cc}\p{Cf}\p{Z}]|[\p{Cc}\p{Cf}\p{Z}]$/u;

const NAMES: Readonly<Record<string, string>> = {
  ' ': 'a space',
  '\t': 'a tab',
  '\n': 'a line break',
  '\r': 'a carriage return: save the file that sets it with Unix line ends',
  '\ufeff': 'a byte order mark: save the file that sets it as UTF-8 without it',
};

/**
 * What nobody sees or means at the beginning or the end of a value, in words for an operator; undefined if nothing is.
 */
export function invisibleEnd(value: string): string | undefined {
  if (/^(["']).*\1$/s.test(value)) return 'must not be in quotation marks: files for docker --env-file have none';
  const [found] = AT_THE_ENDS.exec(value) ?? [];
  if (found === undefined) return undefined;
  const code = found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `must not begin or end with ${NAMES[found] ?? `the invisible character U+${code}`}`;
}
