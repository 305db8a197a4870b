import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, type RefusalReason, refusal } from '../domain/refusal.ts';
import { failure, type Result, success } from '../domain/result.ts';
import type { StoredSecret } from '../domain/stored-secret.ts';
import type { Caller } from './ports/caller.ts';
import type { ClientCredentials } from './ports/client-credentials.ts';
import type { ClientRepository } from './ports/client-repository.ts';
import type { SecretVerdict, SecretVerifier } from './ports/secret-verifier.ts';
import type { SlotRequest, VerificationSlots } from './ports/verification-slots.ts';
import type { CachedVerification, VerifiedSecrets } from './ports/verified-secrets.ts';

const REASON_OF_VERDICT = {
  mismatch: 'secret_wrong',
  unusable_stored: 'stored_secret_unusable',
  unusable_presented: 'presented_secret_unusable',
  attempts_exhausted: 'attempts_exhausted',
} as const satisfies Record<string, RefusalReason>;

/** A renewal runs in the background, where no caller can disconnect. */
const NEVER_ABORTED = new AbortController().signal;

export interface AuthenticateClientParts {
  readonly clients: ClientRepository;
  readonly verifiedSecrets: VerifiedSecrets;
  readonly slots: VerificationSlots;
  readonly secrets: SecretVerifier;
}

/** Client authentication by id and secret (RFC 6749 section 2.3.1). The caller cannot tell an unknown client from a wrong secret. */
export class AuthenticateClient {
  readonly #parts: AuthenticateClientParts;
  /** The clients whose cached secret is being verified again: at most one renewal for each at a time. */
  readonly #renewing = new Set<string>();

  constructor(parts: AuthenticateClientParts) {
    this.#parts = parts;
  }

  /**
   * The registration that the credentials authenticate, or a refusal: `invalid_client`, or `slow_down` after too many
   * failed attempts. Every `invalid_client` does the same work, with or without a registration: one look-up and one
   * verification. `slow_down` does no verification. Throws what the ports throw.
   */
  async execute(credentials: ClientCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { clientId, clientSecret } = credentials;
    const { clients, verifiedSecrets } = this.#parts;

    const lookup = await clients.findByClientId(clientId);
    const registration = lookup.kind === 'found' ? lookup.registration : undefined;
    const stored = registration?.clientSecret;

    const cached = verifiedSecrets.lookUp({ clientId, clientSecret, stored, address: caller.address });
    if (registration !== undefined) {
      const state = cached.state();
      if (state === 'expiring') void this.#renew(credentials, stored, cached, caller);
      if (state !== 'absent') return success(registration);
    }

    const verdict = await this.#verifyInSlot(credentials, stored, cached, { caller, purpose: 'attempt' });
    if (verdict === 'attempts_exhausted') return refuse('attempts_exhausted', registration?.clientId);
    if (lookup.kind === 'broken') return refuse('registration_broken', clientId);
    if (registration === undefined) return refuse('client_unknown');
    return verdict === 'match' ? success(registration) : refuse(REASON_OF_VERDICT[verdict], registration.clientId);
  }

  /** Throttling and verification, for an attempt and for a renewal alike. */
  async #verifyInSlot(
    { clientId, clientSecret }: ClientCredentials,
    stored: StoredSecret | undefined,
    cached: CachedVerification,
    { caller, purpose }: Pick<SlotRequest, 'caller' | 'purpose'>,
  ): Promise<SecretVerdict | 'attempts_exhausted'> {
    const { slots, secrets } = this.#parts;
    const request = { clientId, registered: stored !== undefined, cost: secrets.costOf(stored), caller, purpose };
    const slot = await slots.acquire(request);
    if (slot === 'attempts_exhausted') {
      cached.distrustCaller();
      return slot;
    }
    // While this request waited for its slot, another one of the same client may have verified the secret.
    if (stored !== undefined && cached.state() === 'fresh') return slot.settle('match');
    let verdict: SecretVerdict;
    try {
      verdict = await secrets.verify(clientSecret, stored);
    } catch (fault) {
      slot.release();
      throw fault;
    }
    if (verdict === 'match') cached.add();
    return slot.settle(verdict);
  }

  /** Verifies a cached secret again before it expires, so that a client in steady use never waits for a slot. */
  async #renew(
    credentials: ClientCredentials,
    stored: StoredSecret | undefined,
    cached: CachedVerification,
    { address }: Caller,
  ): Promise<void> {
    const { clientId } = credentials;
    if (this.#renewing.has(clientId)) return;
    this.#renewing.add(clientId);
    try {
      const caller = { address, disconnected: NEVER_ABORTED };
      await this.#verifyInSlot(credentials, stored, cached, { caller, purpose: 'renewal' });
    } catch {
      // No slot was free. The next request of this client tries again, or waits for a verification once the entry expires.
    } finally {
      this.#renewing.delete(clientId);
    }
  }
}

function refuse(reason: RefusalReason, clientId?: string): Result<never, Refusal> {
  return failure(refusal(reason, clientId));
}
