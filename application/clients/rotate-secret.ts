import { type Result, success } from '../../domain/result.ts';
import { replaceSecret } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

/** The new secret of a client. */
export interface SecretRequest {
  /** Generated where it is undefined. */
  readonly secret: string | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

/** A client and its secret, which cannot be read again: only its hash is stored. */
export interface ClientWithSecret {
  readonly client: ManagedClient;
  readonly secret: string;
}

/** Gives a client a new secret. The old one is refused from the next request on; a disabled client stays disabled. */
export class RotateSecret {
  readonly #store: ClientStore;
  readonly #encoder: SecretEncoder;
  readonly #generator: SecretGenerator;

  constructor(store: ClientStore, encoder: SecretEncoder, generator: SecretGenerator) {
    this.#store = store;
    this.#encoder = encoder;
    this.#generator = generator;
  }

  async execute(clientId: string, request: SecretRequest): Promise<Result<ClientWithSecret, 'client_unknown'>> {
    const secret = request.secret ?? this.#generator.secret();
    const encoded = await this.#encoder.encode(secret, request.cost);
    const { clients } = await this.#store.changeSecret(clientId, (stored) => replaceSecret(stored, encoded));
    const client = describeClient(clients);
    return client.ok ? success({ client: client.value, secret }) : client;
  }
}
