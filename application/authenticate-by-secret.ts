import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, type RefusalReason, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import { type StoredSecret, secretIdOf } from '../domain/stored-secret.ts';
import type { Attempts } from './ports/attempts.ts';
import type { Caller, WaitUncounted } from './ports/caller.ts';
import type { ClientAuthentication, SecretCredentials } from './ports/client-credentials.ts';
import type { ClientRepository } from './ports/client-repository.ts';
import type { SecretVerdict, SecretVerifier } from './ports/secret-verifier.ts';
import type { VerificationSlots } from './ports/verification-slots.ts';
import type { CachedVerification, PresentedSecret, VerifiedSecrets } from './ports/verified-secrets.ts';
import { SharedAttempts } from './shared-attempts.ts';

const REASON_OF_VERDICT = {
  mismatch: 'secret_wrong',
  unusable_stored: 'stored_secret_unusable',
  unusable_presented: 'presented_secret_unusable',
} as const satisfies Record<Exclude<SecretVerdict, 'match'>, RefusalReason>;

export interface AuthenticateBySecretParts {
  readonly clients: Pick<ClientRepository, 'findByClientId' | 'findSecret'>;
  readonly attempts: Attempts;
  readonly verifiedSecrets: VerifiedSecrets;
  readonly slots: VerificationSlots;
  readonly secrets: SecretVerifier;
  readonly waitUncounted: WaitUncounted;
}

/** What an attempt found out. */
interface Verification {
  readonly verdict: SecretVerdict;
  /** The stored secret, if there is one. */
  readonly stored: StoredSecret | undefined;
  /** Whether it was one too many, so that its refusal is `attempts_exhausted`. */
  readonly isBeyond: boolean;
}

/** Client authentication by id and secret (RFC 6749 section 2.3.1). The caller cannot tell an unknown client from a wrong secret. */
export class AuthenticateBySecret implements ClientAuthentication<SecretCredentials> {
  readonly #parts: AuthenticateBySecretParts;
  readonly #attempts = new SharedAttempts<Verification>();

  constructor(parts: AuthenticateBySecretParts) {
    this.#parts = parts;
  }

  /**
   * The registration that the credentials authenticate, or a refusal: `invalid_client`, or `slow_down` after too many
   * failed attempts. Throws what the ports throw.
   *
   * Without attempts left, a secret is not compared with anything and nothing is looked up. Every `invalid_client` does the same
   * work, with or without a registration: one look-up of a secret, then one verification in a slot.
   */
  async execute(credentials: SecretCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { attempts, verifiedSecrets, waitUncounted } = this.#parts;
    const { clientId, clientSecret } = credentials;
    const { network } = caller;
    const presented: PresentedSecret = { clientId, clientSecret, secretId: secretIdOf(clientSecret) };
    let cached: CachedVerification | undefined;
    for (let hasWaited = false; ; hasWaited = true) {
      if (!attempts.areLeft(clientId, network)) return refused('attempts_exhausted');
      cached ??= verifiedSecrets.lookUp(presented);
      const registration = cached.isPresent() ? await this.#findVerified(presented, cached) : undefined;
      if (registration !== undefined) return success(registration);

      const key = `${network} ${cached.digest}`;
      const verify = this.#verify.bind(this, presented, cached);
      const { outcome, isOwn } = await waitUncounted(
        caller,
        () => this.#attempts.join(key, caller, verify),
        (shared) => shared.outcome.verdict === 'match',
      );
      const client = await this.#clientOf(presented, outcome);
      // What is stored may have changed since the attempt began, if it began before this request. The second one did not.
      if (client.ok || isOwn || hasWaited) return client;
    }
  }

  /** The registration, if the cached secret was verified against its stored secret. */
  async #findVerified(
    { clientId, secretId }: PresentedSecret,
    cached: CachedVerification,
  ): Promise<ClientRegistration | undefined> {
    const lookup = await this.#parts.clients.findByClientId(clientId, secretId);
    return lookup.kind === 'found' && cached.isFor(lookup.registration.clientSecret) ? lookup.registration : undefined;
  }

  /** Looks the secret up, then verifies it in a slot. The attempt counts as failed unless its secret is right or a fault kept it from being compared. */
  async #verify(
    { clientId, clientSecret, secretId }: PresentedSecret,
    cached: CachedVerification,
    caller: Caller,
  ): Promise<Verification> {
    const { clients, attempts, slots, secrets } = this.#parts;
    const { isBeyond, takeOff } = attempts.count(clientId, caller.network);
    let stored: StoredSecret | undefined;
    const isRegistered = async () => {
      stored = await clients.findSecret(clientId, secretId).catch((fault) => {
        takeOff();
        throw fault;
      });
      return stored !== undefined;
    };
    const slot = await slots.acquire({ clientId, cost: secrets.cost, caller, isRegistered });
    let verdict: SecretVerdict;
    try {
      // While this attempt waited, one from another network may have verified the secret.
      const isVerified = stored !== undefined && cached.isFor(stored);
      verdict = isVerified ? 'match' : await secrets.verify(clientSecret, stored);
    } catch (fault) {
      slot.release();
      takeOff();
      throw fault;
    }
    if (verdict === 'match' && stored !== undefined) {
      takeOff();
      cached.add(stored);
    }
    return { verdict: await slot.settle(verdict), stored, isBeyond };
  }

  /** The registration may have changed since its secret was looked up, and is read only now: a long one takes longer. */
  async #clientOf(
    { clientId, secretId }: PresentedSecret,
    { verdict, stored, isBeyond }: Verification,
  ): Promise<Result<ClientRegistration, Refusal>> {
    if (isBeyond && verdict !== 'match') return refused('attempts_exhausted', stored && clientId);
    if (stored === undefined) return refused('client_unknown');
    if (verdict !== 'match') return refused(REASON_OF_VERDICT[verdict], clientId);
    const lookup = await this.#parts.clients.findByClientId(clientId, secretId);
    if (lookup.kind === 'broken') return refused('registration_broken', clientId);
    if (lookup.kind === 'unknown') return refused('client_unknown');
    return isSame(lookup.registration.clientSecret, stored)
      ? success(lookup.registration)
      : refused('secret_wrong', clientId);
  }
}

function isSame(one: StoredSecret, other: StoredSecret): boolean {
  return one.kind === other.kind && one.reveal() === other.reveal();
}
