import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, type RefusalReason, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import { type StoredSecret, secretIdOf } from '../domain/stored-secret.ts';
import type { Caller } from './ports/caller.ts';
import type { ClientAuthentication, SecretCredentials } from './ports/client-credentials.ts';
import type { ClientRepository } from './ports/client-repository.ts';
import type { SecretVerdict, SecretVerifier } from './ports/secret-verifier.ts';
import type { SlotRequest, VerificationSlots } from './ports/verification-slots.ts';
import type { CachedVerification, PresentedSecret, VerifiedSecrets } from './ports/verified-secrets.ts';

const REASON_OF_VERDICT = {
  mismatch: 'secret_wrong',
  unusable_stored: 'stored_secret_unusable',
  unusable_presented: 'presented_secret_unusable',
} as const satisfies Record<Exclude<SecretVerdict, 'match'>, RefusalReason>;

/** A renewal runs in the background, where no caller can disconnect. */
const NEVER_ABORTED = new AbortController().signal;

export interface AuthenticateBySecretParts {
  readonly clients: ClientRepository;
  readonly verifiedSecrets: VerifiedSecrets;
  readonly slots: VerificationSlots;
  readonly secrets: SecretVerifier;
}

/** What an attempt in a slot found out. */
interface Attempt {
  readonly verdict: SecretVerdict | 'attempts_exhausted';
  /** The stored secret, if it was looked up and there is one. */
  readonly stored: StoredSecret | undefined;
}

/** Client authentication by id and secret (RFC 6749 section 2.3.1). The caller cannot tell an unknown client from a wrong secret. */
export class AuthenticateBySecret implements ClientAuthentication<SecretCredentials> {
  readonly #parts: AuthenticateBySecretParts;
  /** The clients whose cached secret is being verified again: at most one renewal for each at a time. */
  readonly #renewing = new Set<string>();

  constructor(parts: AuthenticateBySecretParts) {
    this.#parts = parts;
  }

  /**
   * The registration that the credentials authenticate, or a refusal: `invalid_client`, or `slow_down` after too many
   * failed attempts. Throws what the ports throw.
   *
   * Until the FIFO queue is full, a request without a cache hit is not looked up before it has a slot. In the overflow queue it
   * is, because there only a right secret is answered early.
   * Every `invalid_client` does the same work, with or without a registration: one look-up of a secret and one verification.
   */
  async execute(credentials: SecretCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { clients, verifiedSecrets, slots } = this.#parts;
    const { clientId, clientSecret } = credentials;
    const presented: PresentedSecret = { clientId, clientSecret, secretId: secretIdOf(clientSecret) };

    const cached = verifiedSecrets.lookUp(presented);
    if (cached.state() !== 'absent' && slots.hasAttemptsLeft(clientId, caller.network)) {
      const registration = await this.#findVerified(presented, cached, caller);
      if (registration !== undefined) return success(registration);
    }

    const { verdict, stored } = await this.#attempt(presented, cached, { caller, purpose: 'attempt' });
    if (verdict === 'attempts_exhausted') return refused(verdict, stored && clientId);
    if (stored === undefined) return refused('client_unknown');
    if (verdict !== 'match') return refused(REASON_OF_VERDICT[verdict], clientId);
    const lookup = await clients.findByClientId(clientId, presented.secretId);
    if (lookup.kind === 'broken') return refused('registration_broken', clientId);
    // The registration may have changed since its secret was looked up.
    if (lookup.kind === 'unknown') return refused('client_unknown');
    return isSame(lookup.registration.clientSecret, stored)
      ? success(lookup.registration)
      : refused('secret_wrong', clientId);
  }

  /** The registration, if the cached secret was verified against its stored secret. */
  async #findVerified(
    presented: PresentedSecret,
    cached: CachedVerification,
    caller: Caller,
  ): Promise<ClientRegistration | undefined> {
    const lookup = await this.#parts.clients.findByClientId(presented.clientId, presented.secretId);
    if (lookup.kind !== 'found' || !cached.isFor(lookup.registration.clientSecret)) return undefined;
    if (cached.state() === 'expiring') void this.#renew(presented, cached, caller);
    return lookup.registration;
  }

  /** Acquires a slot, looks the secret up and verifies it, for an attempt and for a renewal alike. */
  async #attempt(
    { clientId, clientSecret, secretId }: PresentedSecret,
    cached: CachedVerification,
    { caller, purpose }: Pick<SlotRequest, 'caller' | 'purpose'>,
  ): Promise<Attempt> {
    const { clients, slots, secrets } = this.#parts;
    let lookup: Promise<StoredSecret | undefined> | undefined;
    const findSecret = () => {
      lookup ??= clients.findSecret(clientId, secretId);
      return lookup;
    };
    const isRegistered = async () => (await findSecret()) !== undefined;

    const slot = await slots.acquire({ clientId, cost: secrets.cost, caller, purpose, isRegistered });
    if (slot === 'attempts_exhausted') return { verdict: slot, stored: undefined };
    let stored: StoredSecret | undefined;
    let verdict: SecretVerdict;
    try {
      stored = await findSecret();
      // While this request waited for its slot, another one of the same client may have verified the secret.
      const isVerified = stored !== undefined && cached.state() === 'fresh' && cached.isFor(stored);
      verdict = isVerified ? 'match' : await secrets.verify(clientSecret, stored);
      if (verdict === 'match' && stored !== undefined && !isVerified) cached.add(stored);
    } catch (fault) {
      slot.release();
      throw fault;
    }
    return { verdict: await slot.settle(verdict), stored };
  }

  /** Verifies a cached secret again before it expires, so that a client in steady use never waits for a slot. */
  async #renew(presented: PresentedSecret, cached: CachedVerification, { network }: Caller): Promise<void> {
    const { clientId } = presented;
    if (this.#renewing.has(clientId)) return;
    this.#renewing.add(clientId);
    try {
      const caller = { network, disconnected: NEVER_ABORTED };
      await this.#attempt(presented, cached, { caller, purpose: 'renewal' });
    } catch {
      // No slot was free. The next request of this client tries again, or waits for a verification once the entry expires.
    } finally {
      this.#renewing.delete(clientId);
    }
  }
}

function isSame(one: StoredSecret, other: StoredSecret): boolean {
  return one.kind === other.kind && one.reveal() === other.reveal();
}
