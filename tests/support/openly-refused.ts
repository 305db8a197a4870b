import { expect } from '@jest/globals';
import type { RefusalReason } from '../../domain/refusal.ts';
import type { HttpResponse } from './http.ts';

/** The reasons that an assertion shows itself, and what their description has to say. All others have none. */
export const OPENLY_REFUSED: Readonly<Partial<Record<RefusalReason, RegExp>>> = {
  assertion_malformed:
    /^the assertion is malformed: (it|its header|its second part|[a-z\d]{3,4}|crit and b64) (is|are|begins) /,
  assertion_type_refused: /typ .* has to be JWT, or absent$/,
  assertion_algorithm_refused: /alg .* has to be one of (\w+, )*ES(256|384)/,
  assertion_issuer_untrusted: /iss .* has to be (the client_id|an issuer)/,
  assertion_client_contradictory: /client_id has to be sub of the assertion/,
  assertion_audience_wrong: /aud .* has to be http:\/\/issuer\.test and nothing else$/,
  assertion_expired: /sign one right before each request/,
  assertion_not_yet_valid: /correct the clock by the header Date/,
  assertion_lifetime_too_long: /exp .* has to be no more than (300|3600) seconds ahead$/,
  assertion_too_old: /iat .* has to be no more than 3600 seconds ago/,
};

/** An assertion that is refused for this reason: with the fix if the assertion shows it, otherwise without a word. */
export function expectRefusedAssertion(response: HttpResponse, reason: string): void {
  const fix = OPENLY_REFUSED[reason as RefusalReason];
  expect(response.status).toBe(401);
  if (fix === undefined) expect(response.text).toBe('{"error":"invalid_client"}');
  else expect(response.json()).toEqual({ error: 'invalid_client', error_description: expect.stringMatching(fix) });
}
