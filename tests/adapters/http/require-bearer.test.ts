import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readRequestHead } from '../../../adapters/http/parsing/request-head.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import { requireBearer } from '../../../adapters/http/server/require-bearer.ts';
import { AuthorizeRequest } from '../../../application/authorize-request.ts';
import { failure } from '../../../domain/result.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

// RFC 9110 section 5.6.2 and RFC 6750 section 2.1, written again and in another way than in the code.
const TOKEN_CHARACTERS = new Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const B64_CHARACTERS = new Set('-._~+/0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
const consistsOf = (text: string, characters: ReadonlySet<string>) => [...text].every((one) => characters.has(one));

/** What RFC 6750 says of the fields of a request. */
function expectedOf(fields: readonly string[]): { readonly token: string } | number {
  if (fields.length === 0) return 401;
  if (fields.length > 1) return 400;
  const [field = ''] = fields;
  const space = field.indexOf(' ');
  const scheme = space === -1 ? field : field.slice(0, space);
  const credentials = space === -1 ? '' : field.slice(space).replace(/^ +/, '');
  const isScheme = scheme !== '' && scheme.length <= 64 && consistsOf(scheme, TOKEN_CHARACTERS);
  if (!isScheme || (space !== -1 && (credentials === '' || /^\s/.test(credentials)))) return 400;
  if (/[\n\r\u2028\u2029]/.test(credentials)) return 400;
  if (scheme.toLowerCase() !== 'bearer') return 401;
  const unpadded = credentials.replace(/=+$/, '');
  return unpadded !== '' && consistsOf(unpadded, B64_CHARACTERS) ? { token: credentials } : 400;
}

/** Runs the reader on these Authorization fields: the status of its refusal, or the token that it passes on. */
async function read(fields: readonly string[]): Promise<{ readonly token: string } | number> {
  const rawHeaders = ['Host', 'x', ...fields.flatMap((field) => ['Authorization', field])];
  const head = readRequestHead({ rawHeaders, headers: {}, httpVersion: '1.1', url: '/' } as unknown as IncomingMessage);
  if (!head.ok) throw new Error(head.problem);
  let presented: string | undefined;
  const verifier = {
    async verify(token: string) {
      presented = token;
      return failure('token_malformed' as const);
    },
  };
  const sent: Record<string, unknown> = {};
  const ctx = { state: { head: head.value }, status: 0, body: {}, set: (more: object) => Object.assign(sent, more) };
  const authorize = new AuthorizeRequest(verifier, new FixedClock(), { issuer: 'http://issuer.test' });
  expect(await requireBearer(ctx as unknown as Exchange, authorize)).toBe(false);
  expect(String(sent['WWW-Authenticate'])).toMatch(/^Bearer( error="(invalid_request|invalid_token)")?$/);
  return presented === undefined ? ctx.status : { token: presented };
}

const credentials = fc.string({
  unit: fc.constantFrom('a', 'Z', '0', '-', '.', '=', '+', '/', ' ', '\t', ',', '"', 'é'),
  maxLength: 12,
});
const scheme = fc.constantFrom('Bearer', 'bearer', 'BEARER', 'Bearer:', 'BearerX', 'Basic', '', '(x)', 'S'.repeat(65));
const field = fc.oneof(
  fc.tuple(scheme, fc.constantFrom(' ', '  ', '\t', ''), credentials).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 30 }),
);

describe('requireBearer', () => {
  it('reads every Authorization field as RFC 6750 says, never throws, and passes on no other token', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 2 }), async (fields) => {
        expect(await read(fields)).toEqual(expectedOf(fields));
      }),
      { numRuns: 1_000 },
    );
  });

  it('passes on every token of RFC 6750 unchanged', async () => {
    const b64 = fc.tuple(
      fc.string({ unit: fc.constantFrom(...B64_CHARACTERS), minLength: 1, maxLength: 200 }),
      fc.constantFrom('', '=', '=='),
    );
    await fc.assert(
      fc.asyncProperty(b64, async (parts) => {
        const token = parts.join('');
        expect(await read([`Bearer ${token}`])).toEqual({ token });
      }),
    );
  });
});
