import { type Result, success } from '../../domain/result.ts';
import { replaceSecret } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

/** The new secret of a client. */
export interface SecretRequest {
  /** Generated if it is undefined. */
  readonly secret: string | undefined;
  /** BCrypt cost, 4 to 14. */
  readonly cost: number;
}

/** A client and its secret, which cannot be read again: only its hash is stored. */
export interface ClientWithSecret {
  readonly client: ManagedClient;
  readonly secret: string;
}

export interface RotateSecretParts {
  readonly store: ClientStore;
  readonly encoder: SecretEncoder;
  readonly generator: SecretGenerator;
}

/** Gives a client a new secret. The old one is refused from the next request on; a disabled client stays disabled. */
export class RotateSecret {
  readonly #parts: RotateSecretParts;

  constructor(parts: RotateSecretParts) {
    this.#parts = parts;
  }

  async execute(clientId: string, request: SecretRequest): Promise<Result<ClientWithSecret, 'client_unknown'>> {
    const { store, encoder, generator } = this.#parts;
    const { secret = generator.secret(), cost } = request;
    const encoded = await encoder.encode(secret, cost);
    const { clients } = await store.changeSecret(clientId, (stored) => replaceSecret(stored, encoded));
    const client = describeClient(clients);
    return client.ok ? success({ client: client.value, secret }) : client;
  }
}
