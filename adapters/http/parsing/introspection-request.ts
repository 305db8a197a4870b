import type { IntrospectionRequest } from '../../../application/introspect-token.ts';
import type { RevocationRequest } from '../../../application/revoke-token.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/http-reasons.ts';
import { ASSERTION_PARAMETERS } from './assertion-parameters.ts';
import type { Form } from './form.ts';
import type { RequestHead } from './request-head.ts';
import { type AcceptedWays, isBearer, readClientCredentials } from './token-request.ts';

/** An introspection request (RFC 7662 section 2.1) without its caller. `token_type_hint` changes nothing. */
export type SentIntrospection = Omit<IntrospectionRequest, 'caller'>;

/** A revocation request as it was sent (RFC 7009 section 2.1), without its caller. */
export type SentRevocation = Omit<RevocationRequest, 'caller'>;

/** The client authenticates as at the token endpoint. */
export function readRevocation(
  form: Form,
  head: RequestHead,
  accepted: AcceptedWays,
): Result<SentRevocation, HttpReason> {
  const credentials = readClientCredentials(form, head, accepted);
  if (!credentials.ok) return credentials;
  const token = form.parameters.get('token') || undefined;
  return token === undefined ? failure('token_parameter_missing') : success({ token, credentials: credentials.value });
}

/** The client authenticates as at the token endpoint, or sends an access token of its own. */
export function readIntrospection(
  form: Form,
  head: RequestHead,
  accepted: AcceptedWays,
): Result<SentIntrospection, HttpReason> {
  const token = form.parameters.get('token') || undefined;
  const { authorization } = head;
  if (authorization.kind === 'present' && isBearer(authorization)) {
    const inBody = ['client_secret', ...ASSERTION_PARAMETERS].some((name) => form.parameters.get(name));
    if (inBody) return failure('credentials_repeated');
    if (token === undefined) return failure('token_parameter_missing');
    return success({ token, by: { bearerToken: authorization.credentials } });
  }
  const credentials = readClientCredentials(form, head, accepted);
  if (!credentials.ok) return credentials;
  if (token === undefined) return failure('token_parameter_missing');
  return success({ token, by: { credentials: credentials.value } });
}
