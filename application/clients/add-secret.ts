import { checkDetails, type DetailsProblem } from '../../domain/client-details.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { describeWithCredentials, hasSecretWithoutId } from './described-credentials.ts';
import { generateNamedSecret, type NamedSecretRequest, VALID_SECRETS_MAX, validSecrets } from './named-secrets.ts';
import type { ClientWithSecret, RotateSecretParts } from './rotate-secret.ts';

export type AddSecretProblem = 'client_unknown' | 'too_many_secrets' | DetailsProblem;

/** Gives a client a second secret, with an id, while its first one stays valid. Secrets that have expired are removed. */
export class AddSecret {
  readonly #parts: RotateSecretParts;

  constructor(parts: RotateSecretParts) {
    this.#parts = parts;
  }

  async execute(clientId: string, request: NamedSecretRequest): Promise<Result<ClientWithSecret, AddSecretProblem>> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const { secret, named } = await generateNamedSecret(this.#parts, request, now);
    const changed = await store.changeDetails<AddSecretProblem>(clientId, ({ clientSecret, details }) => {
      const valid = validSecrets(details.secrets, now);
      const count = valid.length + Number(hasSecretWithoutId(clientSecret));
      if (count >= VALID_SECRETS_MAX) return failure('too_many_secrets');
      const next = checkDetails({ ...details, secrets: [...valid, named] });
      return next.ok ? success({ clientSecret, details: next.value }) : next;
    });
    const described = changed.ok ? describeWithCredentials(changed.value, now) : changed;
    return described.ok ? success({ ...described.value, secret }) : described;
  }
}
