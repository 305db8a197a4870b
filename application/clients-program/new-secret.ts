import type { NamedSecret, SecretMarks } from '../../domain/client-details.ts';
import { BCRYPT_COST_MIN, CHOSEN_SECRET_COST, NO_SECRET } from '../../domain/stored-secret.ts';
import type { Clock } from '../ports/clock.ts';
import type { EncodeSecret, GenerateSecret } from '../ports/new-secrets.ts';

/** Characters of the id in front of a generated secret: no two secrets of a client ever have the same. */
const SECRET_ID_LENGTH = 10;

/** The BCrypt cost of a generated secret: stretching adds nothing to 256 random bits, which nobody can guess. */
const GENERATED_COST = BCRYPT_COST_MIN;

/** A secret without an id. */
export interface SecretRequest extends CostRequest {
  /** Generated if it is undefined. */
  readonly secret: string | undefined;
}

interface CostRequest {
  /** BCrypt cost, 4 to 14; by default the least for a generated secret, {@link CHOSEN_SECRET_COST} for others. */
  readonly cost: number | undefined;
}

/** A secret with an id, to generate. */
export interface NamedSecretRequest extends CostRequest {
  /** For people; the day if it is undefined. */
  readonly name?: string | undefined;
  /** Seconds since the epoch; undefined if it never expires. */
  readonly expiresAt?: number | undefined;
  /** How long the valid secret that it replaces stays valid; undefined if it replaces none. */
  readonly keepOldSeconds?: number | undefined;
}

export interface SecretParts {
  readonly encodeSecret: EncodeSecret;
  readonly generateSecret: GenerateSecret;
  readonly clock: Clock;
}

/** A new secret as the client presents it, and what is stored of it. */
interface NewSecret {
  readonly secret: string;
  /** The secret without an id: a hash, or NO_SECRET. */
  readonly clientSecret: string;
  /** What the details say of the secret without an id. */
  readonly marks?: SecretMarks;
  /** The one with an id, if it has one. */
  readonly secrets: readonly NamedSecret[];
}

/** The id of a secret is not secret: `<id>.<256 random bits>`. The hash is that of the whole text. */
export async function newSecret(
  { encodeSecret, generateSecret, clock }: SecretParts,
  request: SecretRequest | NamedSecretRequest,
): Promise<NewSecret> {
  if ('secret' in request) {
    const cost = request.cost ?? (request.secret === undefined ? GENERATED_COST : CHOSEN_SECRET_COST);
    const { secret = generateSecret() } = request;
    const marks = request.secret === undefined ? { marks: { generated: true } as const } : {};
    return { secret, clientSecret: await encodeSecret(secret, cost), ...marks, secrets: [] };
  }
  const { name = dayOf(clock.now()), expiresAt, cost = GENERATED_COST } = request;
  const secret_id = generateSecret().slice(0, SECRET_ID_LENGTH);
  const secret = `${secret_id}.${generateSecret()}`;
  const end = expiresAt === undefined ? {} : { expires_at: expiresAt };
  const client_secret = await encodeSecret(secret, cost);
  const named = { secret_id, name, client_secret, ...end, generated: true } as const;
  return { secret, clientSecret: NO_SECRET, secrets: [named] };
}

/** Such as 2026-11-21, in UTC. */
function dayOf(now: number): string {
  return new Date(now * 1_000).toISOString().slice(0, 10);
}
