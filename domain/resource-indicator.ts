// RFC 3986 section 4.3: scheme ":" and the rest, in the characters of section 2, and no fragment.
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;

const MAX_LENGTH = 2_000;

/** Whether a text can name a resource: an absolute URI without a fragment (RFC 8707 section 2). */
export function isResourceIndicator(text: string): boolean {
  return text.length <= MAX_LENGTH && ABSOLUTE_URI.test(text);
}

/** A resource with the scopes of the tokens for it, in the fields of a clients file. */
export interface ScopedResource {
  readonly resource: string;
  /** Space-delimited. Tokens for this resource have no others, whatever scopes the registration has. */
  readonly scope: string;
}

/** A resource that a client may name. One without scopes of its own has those of the registration. */
export type RegisteredResource = string | ScopedResource;

export function uriOf(registered: RegisteredResource): string {
  return typeof registered === 'string' ? registered : registered.resource;
}

/** An authority without a path, and the `/` that may follow it (RFC 3986 section 6.2.3). */
const BARE_ORIGIN = /^([A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?]+)\/?$/;

/**
 * The registered resources that a request names, each once and in its registered spelling; undefined if one of them is
 * not registered. They are compared character by character, except that `https://api.example.com` and
 * `https://api.example.com/` are the same: many clients send the second where the first was meant.
 */
export function selectResources(
  registered: readonly RegisteredResource[],
  requested: readonly string[],
): readonly RegisteredResource[] | undefined {
  const selected = new Set<RegisteredResource>();
  for (const resource of requested) {
    const found =
      registered.find((one) => uriOf(one) === resource) ?? registered.find((one) => isSameOrigin(uriOf(one), resource));
    if (found === undefined) return undefined;
    selected.add(found);
  }
  return [...selected];
}

function isSameOrigin(one: string, other: string): boolean {
  const origin = BARE_ORIGIN.exec(one)?.[1];
  return origin !== undefined && origin === BARE_ORIGIN.exec(other)?.[1];
}
