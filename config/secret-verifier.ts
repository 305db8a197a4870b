import { BcryptSecretVerifier } from '../adapters/bcrypt/bcrypt-secret-verifier.ts';
import { RememberingSecretVerifier } from '../adapters/lru-cache/remembering-secret-verifier.ts';
import { PlainSecretVerifier } from '../adapters/memory/plain-secret-verifier.ts';
import type { SecretVerifier } from '../application/ports/secret-verifier.ts';
import { StoredSecret } from '../domain/stored-secret.ts';
import type { Configuration } from './configuration.ts';
import { type Get, TOKENS } from './tokens.ts';

/**
 * BCrypt, `{noop}` where registrations stand in memory, and a memory of what proved good. Every refusal costs what the
 * dearest registration costs, as far as it is known, and at least CLIENT_SECRET_COST.
 */
export function createSecretVerifier({ settings, clients }: Configuration, get: Get): SecretVerifier {
  const cost = clients.reduce(
    (highest, client) => Math.max(highest, StoredSecret.parse(client.clientSecret).cost),
    settings.CLIENT_SECRET_COST,
  );
  const bcrypt = new BcryptSecretVerifier(cost, get(TOKENS.checkQueue));
  const verifier = settings.CLIENT_REPOSITORY === 'memory' ? new PlainSecretVerifier(bcrypt) : bcrypt;
  const seconds = settings.CLIENT_SECRET_REMEMBERED_SECONDS;
  return seconds === 0 ? verifier : new RememberingSecretVerifier(verifier, get(TOKENS.clock), seconds);
}
