import { GRANT_NAMES } from '../../../domain/grant-type.ts';
import type { Result } from '../../../domain/result.ts';
import { ASSERTION_PARAMETERS } from '../parsing/assertion-parameters.ts';
import { type Form, readForm } from '../parsing/form.ts';
import type { Authorization, RequestHead } from '../parsing/request-head.ts';
import { type AcceptedWays, isAccepted, unsupported } from '../parsing/token-request.ts';
import { dropHead, type Exchange, sendRefusal } from '../server/exchange.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { type HttpRefusal, httpRefusal } from '../server/http-refusal.ts';

/** What an endpoint reads of a form and its head. */
export type ReadRequest<Read> = (form: Form, head: RequestHead, accepted: AcceptedWays) => Result<Read, HttpReason>;

/** A request that was read, and how its refusal is sent. */
export interface ClientRequest<Read> {
  readonly value: Read;
  /** A refusal has the challenge of the scheme that was tried (RFC 6749 section 5.2, RFC 6750 section 3). */
  refuse(refusal: HttpRefusal): void;
}

/**
 * Reads the form of a client that authenticates (RFC 6749 section 2.3): cheap checks come first. Undefined if it was
 * refused, which is answered then.
 *
 * @param secretNames parameters that belong in the body, beside those of client authentication.
 */
export async function readClientRequest<Read>(
  ctx: Exchange,
  accepted: AcceptedWays,
  read: ReadRequest<Read>,
  secretNames: readonly string[] = [],
): Promise<ClientRequest<Read> | undefined> {
  const challenge = challengeOf(ctx.state.head.authorization);
  const refuse = (refusal: HttpRefusal) => sendRefusal(ctx, challenged(refusal, challenge));
  const refused = refuseQuery(ctx.querystring, accepted, secretNames) ?? refuseAuthorization(ctx.state.head, accepted);
  if (refused !== undefined) return void refuse(refused);

  const form = await readForm(ctx);
  if (!form.ok) return void sendRefusal(ctx, httpRefusal(form.problem));

  const request = read(form.value, ctx.state.head, accepted);
  if (!request.ok) {
    const refusal = refusalFor(request.problem, accepted);
    return void sendRefusal(ctx, challenged(refusal, challenge ?? challengeForNone(request.problem, accepted)));
  }
  dropHead(ctx);
  return { value: request.value, refuse };
}

/** A client without budget waits for the next one: its refusals would cost as much as responses. */
export function delayed(refusal: HttpRefusal): HttpRefusal {
  return refusal.reason === 'introspections_exhausted' ? { ...refusal, delayMs: 1_000 } : refusal;
}

/** A query string ends up in logs and histories (RFC 6749 section 2.3.1: never in the request URI). */
function refuseQuery(
  query: string,
  { assertion, grants }: AcceptedWays,
  more: readonly string[],
): HttpRefusal | undefined {
  if (query === '') return undefined;
  const parameters = new URLSearchParams(query);
  const ofGrant = grants.includes('jwt-bearer') ? ['assertion'] : [];
  const names = [
    'client_id',
    'client_secret',
    'grant_type',
    ...(assertion ? ASSERTION_PARAMETERS : []),
    ...ofGrant,
    ...more,
  ];
  return names.some((name) => parameters.has(name)) ? httpRefusal('credentials_in_query') : undefined;
}

/** Refuses what the header decides. A body may contain a secret too, which is another error: see below. */
function refuseAuthorization({ authorization, hasBody }: RequestHead, accepted: AcceptedWays): HttpRefusal | undefined {
  switch (authorization.kind) {
    case 'absent':
      return undefined;
    case 'repeated':
      return httpRefusal('authorization_repeated');
    case 'malformed':
      return httpRefusal('authorization_malformed');
    case 'present':
      return hasBody || isAccepted(authorization, accepted) ? undefined : refusalFor(unsupported(accepted), accepted);
  }
}

/** The refusal, which names the methods or grants that are switched on where another one was tried. */
function refusalFor(reason: HttpReason, { methods, grants }: AcceptedWays): HttpRefusal {
  const refusal = httpRefusal(reason);
  if (reason === 'grant_type_unsupported')
    return { ...refusal, shown: grants.map((name) => GRANT_NAMES[name]).join(' or ') };
  return reason === 'method_unsupported' ? { ...refusal, shown: methods.join(', ') } : refusal;
}

/** What a 401 tells a client that tried to authenticate in the header: its own scheme (RFC 6749 section 5.2). */
function challengeOf(authorization: Authorization): string | undefined {
  return authorization.kind === 'present' ? `${authorization.scheme} realm="token endpoint"` : undefined;
}

/**
 * Some clients send credentials in the header only when they are asked for them (RFC 9110 section 15.5.2), such as
 * `curl --anyauth`.
 */
function challengeForNone(reason: HttpReason, { secretInHeader }: AcceptedWays): string | undefined {
  return reason === 'credentials_missing' && secretInHeader ? 'Basic realm="token endpoint"' : undefined;
}

function challenged(refusal: HttpRefusal, challenge: string | undefined): HttpRefusal {
  if (refusal.code === 'invalid_token')
    return { ...refusal, headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } };
  if (refusal.code !== 'invalid_client' || challenge === undefined) return refusal;
  return { ...refusal, headers: { 'WWW-Authenticate': challenge } };
}
