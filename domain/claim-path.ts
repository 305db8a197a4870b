/** A path is at most this long, in characters. */
const CLAIM_PATH_MAX = 512;

const JSON_POINTER = /^(?:\/(?:[^/~]|~[01])*)+$/;

/**
 * Whether a text is a claim path: a JSON pointer (RFC 6901) such as `/repository_id`, `/kubernetes.io/namespace` or
 * `/https:~1~1sts.amazonaws.com~1/aws_account`. In names, `~1` is a slash and `~0` for a tilde; a dot is a dot.
 */
export function isClaimPath(text: string): boolean {
  return text.length <= CLAIM_PATH_MAX && JSON_POINTER.test(text);
}

/**
 * The claim at that path; undefined if there is none. Every step is a field of an object that the token itself has:
 * elements of arrays have no path, and neither have fields that every object inherits.
 */
export function claimAt(claims: unknown, path: string): unknown {
  let value = claims;
  for (const step of path.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

/**
 * The paths of the conditions that the claims do not meet. A condition is met by exactly this text: a number, a boolean
 * or a list that would print the same is another value.
 */
export function unmetConditions(conditions: Readonly<Record<string, string>>, claims: unknown): readonly string[] {
  return Object.entries(conditions)
    .filter(([path, text]) => claimAt(claims, path) !== text)
    .map(([path]) => path);
}
