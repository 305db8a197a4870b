import type { IncomingMessage } from 'node:http';
import bodyParser from 'koa-bodyparser';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import type { Exchange } from '../server/exchange.ts';
import { type HttpRefusal, httpRefusal } from '../server/refusals.ts';
import { readFormParameters } from './form-parameters.ts';
import { fieldValues } from './header-fields.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';
const BODY_MAX_BYTES = 16 * 1024;

// koa-bodyparser reads forms with qs, which makes objects of brackets and drops what it cannot read. So it hands over
// the raw text under its limit, and form-parameters.ts reads it.
const OPTIONS = {
  enableTypes: ['text'],
  extendTypes: { text: [FORM_TYPE] },
  textLimit: `${BODY_MAX_BYTES}b`,
  // One character a byte: decoding UTF-8 is ours, since the parser's repairs what is broken and drops a byte order mark.
  encoding: 'latin1',
};
const readBytes = bodyParser(OPTIONS);
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The parameters of a form body, or why it is refused. What its header fields already show is refused before a byte is read. */
export async function readForm(
  ctx: Exchange,
  load: LoadLimit,
): Promise<Result<ReadonlyMap<string, string>, HttpRefusal>> {
  const refused = refuseByHeaderFields(ctx.req);
  if (refused !== undefined) return failure(refused);

  const text = await readBody(ctx, load);
  if (!text.ok) return text;
  const parameters = readFormParameters(text.value);
  return parameters.ok ? parameters : failure(httpRefusal(parameters.problem));
}

function refuseByHeaderFields(request: IncomingMessage): HttpRefusal | undefined {
  // The body parser would inflate the body, in native code, for anybody.
  if (fieldValues(request, 'content-encoding').some((value) => value.trim().toLowerCase() !== 'identity')) {
    return httpRefusal('content_encoding_unsupported');
  }
  // The body parser reads the header again, and not as RFC 9110 section 8.4.1 has it: without regard to case.
  delete request.headers['content-encoding'];
  const types = fieldValues(request, 'content-type');
  if (types.length !== 1 || !isFormInUtf8(types[0] ?? '')) return httpRefusal('content_type_unsupported');
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) return httpRefusal('content_too_large');
  return undefined;
}

function isFormInUtf8(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === FORM_TYPE &&
    parameters.every((parameter) => /^(?!charset[\s=*])|^charset=(?:utf-8|"utf-8")$/.test(parameter))
  );
}

async function readBody(ctx: Exchange, load: LoadLimit): Promise<Result<string, HttpRefusal>> {
  // A caller who waits for it is told to send the body only now, when nothing else is against it (RFC 9110 section 10.1.1).
  if (ctx.get('Expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
  try {
    // Whoever sends slowly costs nothing but his connection.
    await load.uncounted(() => readBytes(ctx, async () => {}));
  } catch (error) {
    if (isTooLarge(error)) return failure(httpRefusal('content_too_large'));
    throw error;
  }
  const { body } = ctx.request;
  if (typeof body === 'string') return decode(body);
  // The parser leaves alone what has no body, and a media type that it cannot read.
  return hasBody(ctx.req) ? failure(httpRefusal('content_type_unsupported')) : success('');
}

function decode(bytes: string): Result<string, HttpRefusal> {
  try {
    return success(UTF8.decode(Buffer.from(bytes, 'latin1')));
  } catch {
    return failure(httpRefusal('form_encoding_malformed'));
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'type' in error && error.type === 'entity.too.large';
}

/** RFC 9112 section 6.3: whether a request announces a body that is not empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
