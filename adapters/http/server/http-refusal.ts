import { REASONS, type ReasonRow, type RefusalCode, type RefusalReason } from '../../../domain/refusal.ts';
import { HTTP_REASONS, type HttpReason } from './http-reasons.ts';

/** Header fields of every response (RFC 6749 section 5.1). */
export const RESPONSE_HEADERS = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const;

/** How a code is answered. */
export interface ErrorResponse {
  readonly status: number;
  /** Header field `Retry-After`, in seconds. */
  readonly retryAfter?: number;
  /** Field `error` of the body. */
  readonly error: string;
}

/**
 * The one table that maps a code to its status and header fields. Sources: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628
 * section 3.5, RFC 8707 section 2, RFC 6750 section 3.1, RFC 9110 section 15, RFC 6585 sections 3 and 4, RFC 7591
 * section 3.2.2.
 */
export const RESPONSES = {
  invalid_request: { status: 400, error: 'invalid_request' },
  unsupported_grant_type: { status: 400, error: 'unsupported_grant_type' },
  invalid_scope: { status: 400, error: 'invalid_scope' },
  invalid_target: { status: 400, error: 'invalid_target' },
  unsupported_response_type: { status: 400, error: 'unsupported_response_type' },
  invalid_grant: { status: 400, error: 'invalid_grant' },
  unauthorized_client: { status: 400, error: 'unauthorized_client' },
  invalid_client: { status: 401, error: 'invalid_client' },
  unauthorized: { status: 401, error: 'unauthorized' },
  invalid_token: { status: 401, error: 'invalid_token' },
  insufficient_scope: { status: 403, error: 'insufficient_scope' },
  not_found: { status: 404, error: 'not_found' },
  method_not_allowed: { status: 405, error: 'invalid_request' },
  not_acceptable: { status: 406, error: 'invalid_request' },
  request_timeout: { status: 408, error: 'invalid_request' },
  content_too_large: { status: 413, error: 'invalid_request' },
  unsupported_media_type: { status: 415, error: 'invalid_request' },
  conflict: { status: 409, error: 'conflict' },
  precondition_failed: { status: 412, error: 'precondition_failed' },
  invalid_client_metadata: { status: 422, error: 'invalid_client_metadata' },
  precondition_required: { status: 428, error: 'precondition_required' },
  misdirected_request: { status: 421, error: 'misdirected_request' },
  slow_down: { status: 429, error: 'slow_down', retryAfter: 1 },
  header_fields_too_large: { status: 431, error: 'invalid_request' },
  server_error: { status: 500, error: 'server_error' },
  temporarily_unavailable: { status: 503, error: 'temporarily_unavailable', retryAfter: 1 },
} satisfies Record<RefusalCode, ErrorResponse> & Record<string, ErrorResponse>;

/** The code of a refusal: one of the domain's, or one that exists only in HTTP. */
type ResponseCode = keyof typeof RESPONSES;

/** A reason of any refusal. */
export type AnyReason = HttpReason | RefusalReason;

/** The rows of all reasons, those of use cases first. */
export const ALL_REASONS: Readonly<Record<AnyReason, ReasonRow<ResponseCode>>> = { ...REASONS, ...HTTP_REASONS };

/** A refusal as it is answered and logged. */
export interface HttpRefusal {
  readonly code: ResponseCode;
  readonly reason: AnyReason;
  readonly clientId?: string;
  /** What the description shows for `…`. */
  readonly shown?: string;
  /** For the log. */
  readonly detail?: string;
  /** How long the response waits at least, in milliseconds. */
  readonly delayMs?: number;
  /** Header fields beyond those of every response, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export function httpRefusal(reason: HttpReason, headers?: Readonly<Record<string, string>>): HttpRefusal {
  return { code: HTTP_REASONS[reason].code, reason, ...(headers && { headers }) };
}

/** What a description must not have (RFC 6749 section 5.2). An issuer may have it, and what was asked for. */
const NOT_IN_DESCRIPTION = /[^ !#-[\]-~]/g;

/** Of what is shown in a description, in characters: anybody can ask for a scope of 16 KiB. */
const SHOWN_MAX = 300;

/** The JSON body of a refusal. */
export function refusalBody({ code, reason, shown }: HttpRefusal): {
  error: string;
  error_description?: string;
} {
  const { description } = ALL_REASONS[reason];
  if (description === undefined) return { error: RESPONSES[code].error };
  const end = shown !== undefined && shown.length > SHOWN_MAX ? '...' : '';
  const safe = shown === undefined ? '…' : shown.slice(0, SHOWN_MAX).replace(NOT_IN_DESCRIPTION, '?') + end;
  return { error: RESPONSES[code].error, error_description: description.replace('…', () => safe) };
}
