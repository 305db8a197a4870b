// RFC 3986 section 4.3: scheme ":" and the rest, in the characters of section 2, and no fragment.
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;

const MAX_LENGTH = 2_000;

/** Whether a text can name a resource: an absolute URI without a fragment (RFC 8707 section 2). */
export function isResourceIndicator(text: string): boolean {
  return text.length <= MAX_LENGTH && ABSOLUTE_URI.test(text);
}
