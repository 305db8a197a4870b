import { BcryptSecretVerifier } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import { RememberingSecretVerifier } from '../adapters/secrets/cached-secret-verifier.ts';
import { PlainSecretVerifier } from '../adapters/secrets/plain-secret-verifier.ts';
import { QueuedSecretVerifier } from '../adapters/secrets/queued-secret-verifier.ts';
import { RecordingSecretVerifier } from '../adapters/secrets/recording-secret-verifier.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import type { Configuration } from './settings/configuration.ts';
import { type Get, TOKENS } from './tokens.ts';

/**
 * A memory of what proved good; `{noop}` where registrations stand in memory; and BCrypt, in turns. Every refusal costs
 * what the dearest registration costs, as far as it is known, and at least CLIENT_SECRET_COST.
 */
export function createSecretVerifier({ settings, clients }: Configuration, get: Get): SecretVerifier {
  const cost = clients.reduce(
    (highest, client) => Math.max(highest, StoredSecret.parse(client.clientSecret).cost),
    settings.CLIENT_SECRET_COST,
  );
  const inTurns = (verifier: SecretVerifier) =>
    new QueuedSecretVerifier(verifier, get(TOKENS.checkTurns), cost, get(TOKENS.loadLimit).uncounted);
  const withPlain = (verifier: SecretVerifier) =>
    settings.CLIENT_REPOSITORY === 'memory' ? new PlainSecretVerifier(verifier) : verifier;

  const bcrypt = new BcryptSecretVerifier(cost);
  if (settings.CLIENT_SECRET_REMEMBERED_SECONDS === 0) return withPlain(inTurns(bcrypt));
  const remembered = get(TOKENS.rememberedSecrets);
  const recording = new RecordingSecretVerifier(bcrypt, remembered);
  return new RememberingSecretVerifier(withPlain(inTurns(recording)), remembered);
}
