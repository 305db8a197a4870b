import type { NamedSecret } from '../../domain/client-details.ts';
import type { Clock } from '../ports/clock.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';

/** Characters of the id in front of a generated secret: no two secrets of a client ever have the same. */
const SECRET_ID_LENGTH = 10;

/** A secret without an id. */
export interface SecretRequest {
  /** Generated if it is undefined. */
  readonly secret: string | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

/** A secret with an id, to generate. */
export interface NamedSecretRequest {
  /** For people; the day if it is undefined. */
  readonly name: string | undefined;
  /** Seconds since the epoch; undefined if it never expires. */
  readonly expiresAt: number | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

export interface SecretParts {
  readonly encoder: SecretEncoder;
  readonly generator: SecretGenerator;
  readonly clock: Clock;
}

/** A secret as the client presents it, and the hash that is stored. */
export async function newSecret(
  { encoder, generator }: SecretParts,
  { secret = generator.secret(), cost }: SecretRequest,
): Promise<{ readonly secret: string; readonly encoded: string }> {
  return { secret, encoded: await encoder.encode(secret, cost) };
}

/** Generates a secret whose id is not secret: `<id>.<256 random bits>`. The hash is that of the whole text. */
export async function newNamedSecret(
  { encoder, generator, clock }: SecretParts,
  { name = dayOf(clock.now()), expiresAt, cost }: NamedSecretRequest,
): Promise<{ readonly secret: string; readonly named: NamedSecret }> {
  const secret_id = generator.secret().slice(0, SECRET_ID_LENGTH);
  const secret = `${secret_id}.${generator.secret()}`;
  const encoded = await encoder.encode(secret, cost);
  return { secret, named: { secret_id, name, encoded, ...(expiresAt !== undefined && { expires_at: expiresAt }) } };
}

/** Such as 2026-11-21, in UTC. */
function dayOf(now: number): string {
  return new Date(now * 1_000).toISOString().slice(0, 10);
}
