import type { NamedSecret } from '../../domain/client-details.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';

/** Valid secrets that a client may have: the one in use, and the one that replaces it. */
export const VALID_SECRETS_MAX = 2;

/** Characters of the id in front of a generated secret: no two secrets of a client ever have the same. */
const SECRET_ID_LENGTH = 10;

/** A secret with an id, to generate. */
export interface NamedSecretRequest {
  /** For people; the day if it is undefined. */
  readonly name: string | undefined;
  /** Seconds since the epoch; undefined if it never expires. */
  readonly expiresAt: number | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

/** A generated secret with an id: as the client presents it, and as it is stored. */
export interface GeneratedSecret {
  readonly secret: string;
  readonly named: NamedSecret;
}

export interface GeneratorParts {
  readonly encoder: SecretEncoder;
  readonly generator: SecretGenerator;
}

/** Generates a secret whose id is not secret: `<id>.<256 random bits>`. The hash is that of the whole text. */
export async function generateNamedSecret(
  { encoder, generator }: GeneratorParts,
  { name, expiresAt, cost }: NamedSecretRequest,
  now: number,
): Promise<GeneratedSecret> {
  const secretId = generator.secret().slice(0, SECRET_ID_LENGTH);
  const secret = `${secretId}.${generator.secret()}`;
  const encoded = await encoder.encode(secret, cost);
  const named = { secretId, name: name ?? dayOf(now), encoded, ...(expiresAt !== undefined && { expiresAt }) };
  return { secret, named };
}

/** The secrets that are still valid. */
export function validSecrets(secrets: readonly NamedSecret[], now: number): readonly NamedSecret[] {
  return secrets.filter(({ expiresAt = Infinity }) => expiresAt > now);
}

/** Such as 2026-11-21, in UTC. */
function dayOf(now: number): string {
  return new Date(now * 1_000).toISOString().slice(0, 10);
}
