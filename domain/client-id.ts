/** The longest client identifier, in Unicode characters. */
export const CLIENT_ID_MAX_LENGTH = 255;

/**
 * Whether a text can be a client identifier at all: 1 to 255 Unicode characters, no control character among them.
 * Wider than RFC 6749 appendix A.1 (printable ASCII), since registrations are made elsewhere and compared byte by byte.
 */
export function isClientId(text: string): boolean {
  const length = [...text].length;
  return length >= 1 && length <= CLIENT_ID_MAX_LENGTH && !/\p{Cc}/u.test(text);
}
