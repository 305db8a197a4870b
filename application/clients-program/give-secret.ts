import { checkDetails, type DetailsProblem, hasExpired, type NamedSecret } from '../../domain/client-details.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { replaceSecret } from '../../domain/stored-secret.ts';
import type { ChangedCredentials, ClientStore, StoredCredentials } from '../ports/client-store.ts';
import { type DescribedClient, describeWithCredentials, hasSecretWithoutId } from './describe-client.ts';
import { type NamedSecretRequest, newSecret, type SecretParts, type SecretRequest } from './new-secret.ts';

/** Valid secrets that a client may have: the one in use, and the one that replaces it. */
const VALID_SECRETS_MAX = 2;

/** A new secret instead of one that stays valid for a while. Both have an id. */
interface OverlapRequest {
  readonly keepOldSeconds: number;
  readonly cost: number;
}

/** A client and its secret, which cannot be read again: only its hash is stored. */
interface ClientWithSecret extends DescribedClient {
  readonly secret: string;
}

interface GiveSecretParts extends SecretParts {
  readonly store: ClientStore;
}

/**
 * `secret_missing`: the client authenticates in another way. `secret_without_id`: only a secret with an id can expire.
 * `too_many_secrets`: the client has two already.
 */
export type GiveSecretProblem =
  | 'client_unknown'
  | 'secret_missing'
  | 'secret_without_id'
  | 'too_many_secrets'
  | DetailsProblem;

/** A new secret, and the credentials that its client has with it. */
interface Gift {
  readonly secret: string;
  change(stored: StoredCredentials): Result<ChangedCredentials, GiveSecretProblem>;
}

/** Gives a client a new secret. A disabled client stays disabled. */
export class GiveSecret {
  readonly #parts: GiveSecretParts;

  constructor(parts: GiveSecretParts) {
    this.#parts = parts;
  }

  /**
   * A secret without an id replaces all secrets of the client: they are refused from the next request on. After an overlap,
   * the old one expires. A secret with an id stands beside the one that the client has.
   */
  async execute(
    clientId: string,
    request: SecretRequest | OverlapRequest | NamedSecretRequest,
  ): Promise<Result<ClientWithSecret, GiveSecretProblem>> {
    const { store, clock } = this.#parts;
    const { secret, change } = await this.#give(request);
    const changed = await store.changeDetails(clientId, change);
    const described = changed.ok ? describeWithCredentials(changed.value, clock.now()) : changed;
    return described.ok ? success({ ...described.value, secret }) : described;
  }

  #give(request: SecretRequest | OverlapRequest | NamedSecretRequest): Promise<Gift> {
    if ('secret' in request) return this.#instead(request);
    return 'keepOldSeconds' in request ? this.#withOverlap(request) : this.#beside(request);
  }

  async #instead(request: SecretRequest): Promise<Gift> {
    const { secret, clientSecret: encoded } = await newSecret(this.#parts, request);
    const change: Gift['change'] = ({ clientSecret, details }) => {
      const { secrets, keys, subjects } = details;
      const hasSecret = hasSecretWithoutId(clientSecret) || secrets.length > 0;
      if (!hasSecret && keys.length + subjects.length > 0) return failure('secret_missing');
      return success({ clientSecret: replaceSecret(clientSecret, encoded), details: { ...details, secrets: [] } });
    };
    return { secret, change };
  }

  async #withOverlap({ keepOldSeconds, cost }: OverlapRequest): Promise<Gift> {
    const now = this.#parts.clock.now();
    const added = await newSecret(this.#parts, { name: undefined, expiresAt: undefined, cost });
    const change: Gift['change'] = ({ clientSecret, details }) => {
      if (hasSecretWithoutId(clientSecret)) return failure('secret_without_id');
      const [old, another] = validSecrets(details.secrets, now);
      if (old === undefined) return failure('secret_missing');
      if (another !== undefined) return failure('too_many_secrets');
      const expires_at = Math.min(old.expires_at ?? Infinity, now + keepOldSeconds);
      return success({ clientSecret, details: { ...details, secrets: [{ ...old, expires_at }, ...added.secrets] } });
    };
    return { secret: added.secret, change };
  }

  /** Secrets that have expired are removed. */
  async #beside(request: NamedSecretRequest): Promise<Gift> {
    const now = this.#parts.clock.now();
    const added = await newSecret(this.#parts, request);
    const change: Gift['change'] = ({ clientSecret, details }) => {
      const valid = validSecrets(details.secrets, now);
      const count = valid.length + Number(hasSecretWithoutId(clientSecret));
      if (count >= VALID_SECRETS_MAX) return failure('too_many_secrets');
      const next = checkDetails({ ...details, secrets: [...valid, ...added.secrets] });
      return next.ok ? success({ clientSecret, details: next.value }) : next;
    };
    return { secret: added.secret, change };
  }
}

/** The secrets that are still valid. */
function validSecrets(secrets: readonly NamedSecret[], now: number): readonly NamedSecret[] {
  return secrets.filter((secret) => !hasExpired(secret, now));
}
