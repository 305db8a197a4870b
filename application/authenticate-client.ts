import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, type RefusalReason, refusal } from '../domain/refusal.ts';
import { failure, type Result, success } from '../domain/result.ts';
import type { Caller } from './ports/caller.ts';
import type { ClientCredentials } from './ports/client-credentials.ts';
import type { ClientLookup, ClientRepository } from './ports/client-repository.ts';
import type { SecretVerdict, SecretVerifier } from './ports/secret-verifier.ts';

const REASON_OF_VERDICT: Record<Exclude<SecretVerdict, 'match'>, RefusalReason> = {
  mismatch: 'secret_wrong',
  unusable_stored: 'stored_secret_unusable',
  unusable_presented: 'presented_secret_unusable',
  attempts_exhausted: 'attempts_exhausted',
};

/** Client authentication by id and secret (RFC 6749 section 2.3.1), without telling an unknown client from a wrong secret. */
export class AuthenticateClient {
  readonly #clients: ClientRepository;
  readonly #secrets: SecretVerifier;

  constructor(clients: ClientRepository, secrets: SecretVerifier) {
    this.#clients = clients;
    this.#secrets = secrets;
  }

  /**
   * The registration that the credentials prove, or a refusal: `invalid_client`, or `slow_down` after too many. Every refusal does the same work:
   * one look-up and one secret check, whether or not there is a registration to check against.
   * Throws what the repository throws.
   */
  async execute(credentials: ClientCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { clientId } = credentials;
    const lookup = await this.#clients.findByClientId(clientId);
    const registration = lookup.kind === 'found' ? lookup.registration : undefined;
    const verdict = await this.#secrets.verify(credentials, registration?.clientSecret, caller);

    if (verdict === 'attempts_exhausted') return failure(refusal(REASON_OF_VERDICT[verdict], registration?.clientId));
    if (registration === undefined) return failure(refusalWithoutRegistration(lookup, clientId));
    return verdict === 'match'
      ? success(registration)
      : failure(refusal(REASON_OF_VERDICT[verdict], registration.clientId));
  }
}

function refusalWithoutRegistration(lookup: ClientLookup, clientId: string): Refusal {
  return lookup.kind === 'broken' ? refusal('registration_broken', clientId) : refusal('client_unknown');
}
