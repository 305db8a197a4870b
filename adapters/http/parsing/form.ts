import type { IncomingMessage } from 'node:http';
import { failure, type Result, success } from '../../../domain/result.ts';
import { endOfPass } from '../admission/end-of-pass.ts';
import { dropHead, type Exchange } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { areTooLarge, type RequestHead } from './request-head.ts';

/** What a form contains. */
export interface Form {
  /** The parameters by name, except `resource`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Every value of `resource`, in order: the one parameter that may come more than once (RFC 8707 section 2). */
  readonly resources: readonly string[];
}

/** The value of a parameter; undefined if it is absent or empty. */
export type ReadParameter = (name: string) => string | undefined;

const FORM_TYPE = 'application/x-www-form-urlencoded';
const FORM_PARAMETER = /^(?!charset[\s=*])|^charset=("?)(?:utf-?8|us-ascii|iso-8859-1)\1$/;
/** The longest body of a form. */
export const BODY_MAX_BYTES = 16 * 1024;
const PARAMETERS_MAX = 50;
const RESOURCE = 'resource';
const NOTHING = Buffer.alloc(0);

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a form body, or returns why it is refused. What the header fields rule out is refused before the body is read,
 * and then only the Authorization is kept of them. A request whose body arrives later than its header fields is not
 * counted meanwhile, and has to be admitted again.
 */
export async function readForm(ctx: Exchange): Promise<Result<Form, HttpReason>> {
  const refused = refuseByHead(ctx.state.head);
  if (refused !== undefined) return failure(refused);

  const { hasBody, contentTypes } = ctx.state.head;
  if (!hasBody) return parseForm('');

  // Such charsets mean the same bytes as UTF-8 in ASCII only.
  const isAscii = contentTypes[0] !== FORM_TYPE && /charset="?(?:us|iso)-/i.test(contentTypes[0] ?? '');
  const body = await receiveBody(ctx, BODY_MAX_BYTES);
  if (!body.ok) return body;
  const form = decodeForm(body.value);
  if (!isAscii || !form.ok) return form;
  const texts = [...form.value.parameters, form.value.resources].join();
  return /[\u0080-\uffff]/.test(texts) ? failure('content_type_unsupported') : form;
}

/**
 * Receives a body of at most so many bytes, which the request has. Its header fields are dropped meanwhile, all but the
 * Authorization.
 */
export async function receiveBody(
  ctx: Exchange,
  maxBytes: number,
): Promise<Result<Buffer, 'content_too_large' | 'header_fields_too_large' | 'overloaded'>> {
  const { load, head } = ctx.state;
  const { contentLength } = head;
  // A client that waits for it is asked for the body only now (RFC 9110 section 10.1.1).
  if (ctx.get('Expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
  // A slow upload occupies its connection and nothing else. Most bodies come with the header fields, and have arrived
  // by now.
  const isUpload = ctx.req.readableLength < (contentLength || Number.POSITIVE_INFINITY);
  if (isUpload) load.leave(ctx.state);
  dropHead(ctx, ctx.state.head.authorization);
  const body = await readBody(ctx.req, contentLength || maxBytes);
  if (body === undefined) return failure('content_too_large');
  if (areTooLarge(ctx.req.rawTrailers)) return failure('header_fields_too_large');
  await endOfPass();
  if (isUpload && !load.enter(ctx.state)) return failure('overloaded');
  return success(body);
}

function refuseByHead({ contentEncodings, contentTypes, contentLength }: RequestHead): HttpReason | undefined {
  // Decompression is native code that a small body can keep busy, and nobody is authenticated yet.
  if (contentEncodings.some((value) => value.trim().toLowerCase() !== 'identity'))
    return 'content_encoding_unsupported';
  const [contentType = '', ...others] = contentTypes;
  if (others.length > 0) return 'content_type_repeated';
  if (!isForm(contentType)) return 'content_type_unsupported';
  return contentLength > BODY_MAX_BYTES ? 'content_too_large' : undefined;
}

function isForm(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return type === FORM_TYPE && parameters.every((parameter) => FORM_PARAMETER.test(parameter));
}

/**
 * Reads a body, or resolves with undefined as soon as it is longer than `maxBytes`; the rest is then discarded as it
 * arrives. Rejects if the request ends early. Most bodies come in one piece. Others are copied into one buffer, which
 * grows with what arrives: a chunk of one byte needs over a hundred, and a declared length costs the sender nothing.
 */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const endedEarly = () => reject(new Error('the request ended before its body'));
    if (request.destroyed) return endedEarly();
    let body: Buffer = NOTHING;
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      const begin = length;
      length += chunk.length;
      if (length > maxBytes) {
        body = NOTHING;
        return resolve(undefined);
      }
      if (begin === 0) {
        body = chunk;
        return;
      }
      if (length > body.length) body = Buffer.concat([body], Math.min(maxBytes, 2 * length));
      chunk.copy(body, begin);
    });
    request.once('end', () => {
      resolve(body.subarray(0, length));
      // The request keeps its listeners, and with them this buffer, while its secret waits for a verification.
      body = NOTHING;
    });
    request.once('error', reject);
    request.once('close', () => {
      // Every request closes. An error for each, with its stack, takes longer to make than the form takes to parse.
      if (!request.readableEnded) endedEarly();
    });
  });
}

function decodeForm(body: Buffer): Result<Form, HttpReason> {
  try {
    const text = UTF8.decode(body);
    // It would belong to the last parameter, of which a refusal would say something that the caller cannot see.
    return text.endsWith('\n') ? failure('form_ends_with_line_break') : parseForm(text);
  } catch {
    return failure('form_encoding_malformed');
  }
}

/**
 * Parses application/x-www-form-urlencoded (WHATWG URL section 5.1) into flat values. Broken percent-encoding, bytes
 * that are not UTF-8 and repeated names (except `resource`) are refused instead of repaired: otherwise two parsers of
 * one request could see different credentials. Brackets and dots in a name have no meaning.
 */
export function parseForm(text: string): Result<Form, HttpReason> {
  const pairs = text.split('&').filter((pair) => pair !== '');
  if (pairs.length > PARAMETERS_MAX) return failure('parameters_too_many');

  const parameters = new Map<string, string>();
  const resources: string[] = [];
  for (const pair of pairs) {
    const separator = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const name = decodeComponent(pair.slice(0, separator));
    const value = decodeComponent(pair.slice(separator + 1));
    if (name === undefined || value === undefined) return failure('form_encoding_malformed');
    if (name === RESOURCE) resources.push(value);
    else if (parameters.has(name)) return failure(name === 'audience' ? 'audience_repeated' : 'parameter_repeated');
    else parameters.set(name, value);
  }
  return success({ parameters, resources });
}

function decodeComponent(encoded: string): string | undefined {
  if (!/[%+]/.test(encoded)) return encoded;
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
