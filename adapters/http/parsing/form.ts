import bodyParser from 'koa-bodyparser';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import type { Exchange } from '../server/exchange.ts';
import type { HttpReason } from '../server/refusals.ts';
import type { RequestHead } from './request-head.ts';

/** The parameters of a form, by name. */
export type Form = ReadonlyMap<string, string>;

const FORM_TYPE = 'application/x-www-form-urlencoded';
const BODY_MAX_BYTES = 16 * 1024;
const PARAMETERS_MAX = 50;

// koa-bodyparser parses forms with qs, which turns brackets into objects and drops what it cannot parse. Here it only
// reads the raw text, up to the limit, and parseForm parses it.
const OPTIONS = {
  enableTypes: ['text'],
  extendTypes: { text: [FORM_TYPE] },
  textLimit: `${BODY_MAX_BYTES}b`,
  // One character per byte: the parser's own UTF-8 decoding repairs invalid bytes and drops a byte order mark.
  encoding: 'latin1',
};
const readBytes = bodyParser(OPTIONS);
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a form body, or returns why it is refused. What the header fields rule out is refused before the body is read. */
export async function readForm(ctx: Exchange, load: LoadLimit): Promise<Result<Form, HttpReason>> {
  const refused = refuseByHead(ctx.state.head);
  if (refused !== undefined) return failure(refused);

  // The body parser would check this field again, and case-sensitively, unlike RFC 9110 section 8.4.1.
  delete ctx.req.headers['content-encoding'];
  // A client that waits for it is asked for the body only now (RFC 9110 section 10.1.1).
  if (ctx.get('Expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
  try {
    // A slow upload occupies its connection and nothing else.
    await load.uncounted(() => readBytes(ctx, async () => {}));
  } catch (error) {
    if (isTooLarge(error)) return failure('content_too_large');
    throw error;
  }
  const { body } = ctx.request;
  if (typeof body === 'string') return decodeForm(body);
  // The body parser skips a request without a body, and a media type that it cannot read.
  return ctx.state.head.hasBody ? failure('content_type_unsupported') : parseForm('');
}

function refuseByHead({ contentEncodings, contentTypes, contentLength }: RequestHead): HttpReason | undefined {
  // The body parser would decompress the body, in native code, for unauthenticated clients.
  if (contentEncodings.some((value) => value.trim().toLowerCase() !== 'identity'))
    return 'content_encoding_unsupported';
  const [contentType = '', ...others] = contentTypes;
  if (others.length > 0 || !isFormInUtf8(contentType)) return 'content_type_unsupported';
  return contentLength > BODY_MAX_BYTES ? 'content_too_large' : undefined;
}

function isFormInUtf8(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === FORM_TYPE &&
    parameters.every((parameter) => /^(?!charset[\s=*])|^charset=(?:utf-8|"utf-8")$/.test(parameter))
  );
}

function decodeForm(bytes: string): Result<Form, HttpReason> {
  try {
    return parseForm(UTF8.decode(Buffer.from(bytes, 'latin1')));
  } catch {
    return failure('form_encoding_malformed');
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'entity.too.large';
}

/**
 * Parses application/x-www-form-urlencoded (WHATWG URL section 5.1) into a flat map. Broken percent-encoding, bytes that
 * are not UTF-8 and repeated names are refused instead of repaired: otherwise two parsers of one request could see
 * different credentials. Brackets and dots in a name have no meaning.
 */
export function parseForm(text: string): Result<Form, HttpReason> {
  const pairs = text.split('&').filter((pair) => pair !== '');
  if (pairs.length > PARAMETERS_MAX) return failure('parameters_too_many');

  const form = new Map<string, string>();
  for (const pair of pairs) {
    const separator = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const name = decodeComponent(pair.slice(0, separator));
    const value = decodeComponent(pair.slice(separator + 1));
    if (name === undefined || value === undefined) return failure('form_encoding_malformed');
    if (form.has(name)) return failure('parameter_repeated');
    form.set(name, value);
  }
  return success(form);
}

function decodeComponent(encoded: string): string | undefined {
  if (!/[%+]/.test(encoded)) return encoded;
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
