import { failure, type Result, success } from '../../domain/result.ts';
import { NO_SECRET, replaceSecret } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedClient, describeWithCredentials, hasSecretWithoutId } from './described-credentials.ts';

export type RemoveSecretProblem = 'client_unknown' | 'secret_unknown';

/** Removes one secret of a client: it is refused from the next request on. The last one may be removed too. */
export class RemoveSecret {
  readonly #store: ClientStore;
  readonly #clock: Clock;

  constructor(store: ClientStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @param secretId undefined for the secret without an id. */
  async execute(clientId: string, secretId: string | undefined): Promise<Result<DescribedClient, RemoveSecretProblem>> {
    const changed = await this.#store.changeDetails<RemoveSecretProblem>(clientId, ({ clientSecret, details }) => {
      if (secretId === undefined) {
        if (!hasSecretWithoutId(clientSecret)) return failure('secret_unknown');
        return success({ clientSecret: replaceSecret(clientSecret, NO_SECRET), details });
      }
      const secrets = details.secrets.filter((secret) => secret.secretId !== secretId);
      if (secrets.length === details.secrets.length) return failure('secret_unknown');
      return success({ clientSecret, details: { ...details, secrets } });
    });
    return changed.ok ? describeWithCredentials(changed.value, this.#clock.now()) : changed;
  }
}
