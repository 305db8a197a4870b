import type { IncomingMessage } from 'node:http';

/** Every value of a header field, in order. Node's `headers` keeps only the first of two Authorization, Host or Content-Type. */
export function fieldValues(request: IncomingMessage, name: string): readonly string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** The Authorization header, as far as its scheme (RFC 9110 section 11.4). */
export type Authorization =
  | { readonly kind: 'absent' }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'present'; readonly scheme: string; readonly credentials: string };

// auth-scheme [ 1*SP credentials ]; a scheme is a token of RFC 9110 section 5.6.2, here of 64 characters at most.
const AUTHORIZATION = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})(?: +(\S.*))?$/;

export function readAuthorization(request: IncomingMessage): Authorization {
  const values = fieldValues(request, 'authorization');
  const [value] = values;
  if (value === undefined) return { kind: 'absent' };
  if (values.length > 1) return { kind: 'repeated' };
  const [, scheme, credentials = ''] = AUTHORIZATION.exec(value) ?? [];
  return scheme === undefined ? { kind: 'malformed' } : { kind: 'present', scheme, credentials };
}
