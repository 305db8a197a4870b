import { failure, type Result, success } from '../../domain/result.ts';
import { replaceSecret } from '../../domain/stored-secret.ts';
import type { ChangedCredentials, ClientStore, StoredCredentials } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedClient, describeWithCredentials, hasSecretWithoutId } from './described-credentials.ts';
import { type GeneratorParts, generateNamedSecret, validSecrets } from './named-secrets.ts';

/** The new secret of a client. */
export interface SecretRequest {
  /** Generated if it is undefined. */
  readonly secret: string | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

/** A new secret of a client whose old one stays valid for a while. Both have an id. */
export interface OverlapRequest {
  readonly keepOldSeconds: number;
  readonly cost: number;
}

/** A client and its secret, which cannot be read again: only its hash is stored. */
export interface ClientWithSecret extends DescribedClient {
  readonly secret: string;
}

export interface RotateSecretParts extends GeneratorParts {
  readonly store: ClientStore;
  readonly clock: Clock;
}

/**
 * `secret_missing`: the client authenticates in another way. `secret_without_id`: only a secret with an id can expire.
 * `too_many_secrets`: the client has two already.
 */
export type RotateSecretProblem = 'client_unknown' | 'secret_missing' | 'secret_without_id' | 'too_many_secrets';

/** The secrets that a client has from now on. */
interface NextSecrets {
  readonly secret: string;
  change(stored: StoredCredentials): Result<ChangedCredentials, RotateSecretProblem>;
}

/** Gives a client a new secret instead of its old ones. A disabled client stays disabled. */
export class RotateSecret {
  readonly #parts: RotateSecretParts;

  constructor(parts: RotateSecretParts) {
    this.#parts = parts;
  }

  /** The old secrets are refused from the next request on, or after an overlap. */
  async execute(
    clientId: string,
    request: SecretRequest | OverlapRequest,
  ): Promise<Result<ClientWithSecret, RotateSecretProblem>> {
    const { store, clock } = this.#parts;
    const { secret, change } = await ('secret' in request ? this.#atOnce(request) : this.#withOverlap(request));
    const changed = await store.changeDetails(clientId, change);
    const described = changed.ok ? describeWithCredentials(changed.value, clock.now()) : changed;
    return described.ok ? success({ ...described.value, secret }) : described;
  }

  async #atOnce({ secret = this.#parts.generator.secret(), cost }: SecretRequest): Promise<NextSecrets> {
    const encoded = await this.#parts.encoder.encode(secret, cost);
    const change: NextSecrets['change'] = ({ clientSecret, details }) => {
      const { secrets, keys, subjects } = details;
      const hasSecret = hasSecretWithoutId(clientSecret) || secrets.length > 0;
      if (!hasSecret && keys.length + subjects.length > 0) return failure('secret_missing');
      return success({ clientSecret: replaceSecret(clientSecret, encoded), details: { ...details, secrets: [] } });
    };
    return { secret, change };
  }

  async #withOverlap({ keepOldSeconds, cost }: OverlapRequest): Promise<NextSecrets> {
    const now = this.#parts.clock.now();
    const request = { name: undefined, expiresAt: undefined, cost };
    const { secret, named } = await generateNamedSecret(this.#parts, request, now);
    const change: NextSecrets['change'] = ({ clientSecret, details }) => {
      if (hasSecretWithoutId(clientSecret)) return failure('secret_without_id');
      const [old, another] = validSecrets(details.secrets, now);
      if (old === undefined) return failure('secret_missing');
      if (another !== undefined) return failure('too_many_secrets');
      const expiresAt = Math.min(old.expiresAt ?? Infinity, now + keepOldSeconds);
      return success({ clientSecret, details: { ...details, secrets: [{ ...old, expiresAt }, named] } });
    };
    return { secret, change };
  }
}
