import { isUtf8 } from 'node:buffer';
import { parseJson } from '../../../domain/parse-json.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { receiveBody } from '../parsing/form.ts';
import type { Exchange } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';

/** The longest body, its most values, and how deep they may be. */
const [BODY_MAX_BYTES, VALUES_MAX, DEPTH_MAX] = [64 * 1024, 10_000, 20];

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads a body that is one JSON object (RFC 8259), or returns why it is refused. @param absent in place of no body. */
export async function readJson(ctx: Exchange, absent?: JsonObject): Promise<Result<JsonObject, HttpReason>> {
  const { hasBody, contentLength, contentTypes, contentEncodings } = ctx.state.head;
  if (!hasBody && absent !== undefined) return success(absent);
  if (contentEncodings.some((value) => value.trim().toLowerCase() !== 'identity')) {
    return failure('content_encoding_unsupported');
  }
  const isJson = contentTypes.length === 1 && JSON_TYPE.test(contentTypes[0]?.trim() ?? '');
  if (!hasBody || !isJson) return failure('document_malformed');
  if (contentLength > BODY_MAX_BYTES) return failure('document_too_large');
  const body = await receiveBody(ctx, BODY_MAX_BYTES);
  if (!body.ok) return failure(body.problem === 'content_too_large' ? 'document_too_large' : body.problem);
  const value = isUtf8(body.value) ? parseJson(body.value.toString(), VALUES_MAX, DEPTH_MAX) : undefined;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? success(value as JsonObject) : failure('document_malformed');
}
