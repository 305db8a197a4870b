import { ClientRegistration, type RegistrationProblem } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { IdGenerator } from '../ports/id-generator.ts';
import { describeClient } from './managed-client.ts';
import type { ClientWithSecret, RotateSecretParts, SecretRequest } from './rotate-secret.ts';

export interface NewClientRequest extends SecretRequest {
  /** Generated if it is undefined. */
  readonly clientId: string | undefined;
  readonly clientName: string;
  /** Space-delimited (RFC 6749 section 3.3). */
  readonly scope: string;
}

export interface AddClientParts extends RotateSecretParts {
  readonly ids: IdGenerator;
}

/** Registers a client. */
export class AddClient {
  readonly #parts: AddClientParts;

  constructor(parts: AddClientParts) {
    this.#parts = parts;
  }

  async execute(request: NewClientRequest): Promise<Result<ClientWithSecret, RegistrationProblem | 'client_id_taken'>> {
    const { store, encoder, generator, ids } = this.#parts;
    const { clientId = ids.uuid(), clientName, scope, secret = generator.secret(), cost } = request;
    const fields = { id: 'not stored yet', clientId, clientSecret: secret, clientName, scope };
    const registration = ClientRegistration.of(fields);
    if (!registration.ok) return registration;
    const clientSecret = await encoder.encode(secret, cost);
    const added = await store.add({ clientId, clientSecret, clientName, scope });
    const client = describeClient(added === undefined ? [] : [added]);
    return client.ok ? success({ client: client.value, secret }) : failure('client_id_taken');
  }
}
