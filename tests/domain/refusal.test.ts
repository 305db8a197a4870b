import { describe, expect, it } from '@jest/globals';
import { type RefusalReason, refused } from '../../domain/refusal.ts';

/** Some reasons, by what the caller gets to know of them. */
const REASONS: Readonly<Record<string, readonly RefusalReason[]>> = {
  invalid_client: [
    'client_unknown',
    'registration_broken',
    'stored_secret_unusable',
    'presented_secret_unusable',
    'secret_wrong',
  ],
  slow_down: ['attempts_exhausted'],
  invalid_scope: ['scope_malformed', 'scope_not_registered'],
  invalid_token: [
    'token_malformed',
    'token_algorithm_refused',
    'token_key_unknown',
    'token_signature_wrong',
    'token_claims_malformed',
    'token_issuer_foreign',
    'token_audience_foreign',
    'token_expired',
    'token_not_yet_valid',
  ],
  insufficient_scope: ['scope_insufficient'],
};

describe('refusal', () => {
  it.each(Object.entries(REASONS).flatMap(([code, reasons]) => reasons.map((reason) => [reason, code] as const)))(
    'tells the caller of %s only %s',
    (reason, code) => {
      expect(refused(reason).problem).toEqual({ code, reason });
    },
  );

  it('names the client for the log, if there is one', () => {
    const { ok, problem } = refused('secret_wrong', 'c');
    expect(ok).toBe(false);
    expect(problem).toEqual({ code: 'invalid_client', reason: 'secret_wrong', clientId: 'c' });
    expect(refused('secret_wrong').problem).not.toHaveProperty('clientId');
  });
});
