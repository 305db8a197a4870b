import { ClientRegistration, type RegistrationProblem } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { IdGenerator } from '../ports/id-generator.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';
import { describeClient } from './managed-client.ts';
import type { ClientWithSecret, SecretRequest } from './rotate-secret.ts';

export interface NewClientRequest extends SecretRequest {
  /** Generated where it is undefined. */
  readonly clientId: string | undefined;
  readonly clientName: string;
  /** Space-delimited (RFC 6749 section 3.3). */
  readonly scope: string;
}

/** Registers a client. */
export class AddClient {
  readonly #store: ClientStore;
  readonly #encoder: SecretEncoder;
  readonly #generator: SecretGenerator;
  readonly #ids: IdGenerator;

  constructor(store: ClientStore, encoder: SecretEncoder, generator: SecretGenerator, ids: IdGenerator) {
    this.#store = store;
    this.#encoder = encoder;
    this.#generator = generator;
    this.#ids = ids;
  }

  async execute(request: NewClientRequest): Promise<Result<ClientWithSecret, RegistrationProblem | 'client_id_taken'>> {
    const { clientId = this.#ids.uuid(), clientName, scope, cost } = request;
    const { secret = this.#generator.secret() } = request;
    const registration = ClientRegistration.of({
      id: 'not stored yet',
      clientId,
      clientSecret: secret,
      clientName,
      scope,
    });
    if (!registration.ok) return registration;
    const clientSecret = await this.#encoder.encode(secret, cost);
    const saved = await this.#store.save([{ clientId, clientSecret, clientName, scope }]);
    const client = describeClient(saved.ok ? saved.value.added : []);
    return client.ok ? success({ client: client.value, secret }) : failure('client_id_taken');
  }
}
