import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, type RefusalReason, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import { type StoredSecret, secretIdOf } from '../domain/stored-secret.ts';
import type { Attempts } from './ports/attempts.ts';
import type { Caller, Connected } from './ports/caller.ts';
import type { ClientAuthentication, SecretCredentials } from './ports/client-credentials.ts';
import type { ClientRepository, ClientSecret } from './ports/client-repository.ts';
import type { SecretVerdict, SecretVerifier } from './ports/secret-verifier.ts';
import { SlotsExhausted, type VerificationSlots } from './ports/verification-slots.ts';
import type { VerifiedSecrets } from './ports/verified-secrets.ts';
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
}

/** A presented secret, with the id in front of it, if there is one, and its digest in the cache. */
interface PresentedSecret extends SecretCredentials {
  readonly secretId: string | undefined;
  readonly digest: string;
}

/** Whom an attempt authenticates. */
interface Authenticated {
  readonly client: Result<ClientRegistration, Refusal>;
  /** Whether it began before this request, by the same credentials in another one. */
  readonly isEarlier: boolean;
}

/** What a verification found out. */
interface Verification {
  readonly verdict: SecretVerdict;
  /** The stored secret, and whether it is that of the client. */
  readonly found: ClientSecret;
  /** Whether it was one too many, so that its refusal is `attempts_exhausted`. */
  readonly isBeyond: boolean;
}

/**
 * Client authentication by id and secret (RFC 6749 section 2.3.1). The caller cannot tell an unknown client from a
 * wrong secret.
 *
 * | step | ends with | goes on |
 * |---|---|---|
 * | attempts left? | `slow_down`; nothing was compared or looked up | the digest is looked up in the cache |
 * | cached | one look-up; still the stored secret: the client | not cached, or another secret is stored |
 * | shared attempt | the outcome of the one that runs with the same id, secret and network | it begins one, which counts as failed |
 * | look-up of the secret, slot, verification | a match is cached and taken off; a fault is taken off | |
 * | registration | read after a match, with the same secret: the client; otherwise a refusal | joined an earlier attempt and refused: once more |
 *
 * What holds, with its test in tests/application/authentication.test.ts: an `invalid_client` costs one look-up and one
 * verification, whether or not the client is registered ("verifies the secret of an unknown client against that of
 * another one, which never matches"), and a further look-up only if the secret is right, or was ("reads the
 * registration only after its secret is verified, …"); and no secret is compared without an attempt ("refuses with
 * slow_down if no attempts are left at this network, whatever the secret, …").
 */
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
   * Without attempts left, a secret is not compared with anything and nothing is looked up. A secret that was never
   * right does the same work, with or without a registration: one look-up of a secret, then one verification in a slot.
   */
  async execute(credentials: SecretCredentials, caller: Caller): Promise<Result<ClientRegistration, Refusal>> {
    const { client, isEarlier } = await this.#authenticate(credentials, caller);
    // What is stored may have changed since an earlier attempt began. No second one is earlier.
    return client.ok || !isEarlier ? client : (await this.#authenticate(credentials, caller)).client;
  }

  async #authenticate(credentials: SecretCredentials, caller: Caller): Promise<Authenticated> {
    const { attempts, clients, verifiedSecrets } = this.#parts;
    const { clientId, clientSecret } = credentials;
    const { network } = caller;
    if (!attempts.areLeft(clientId, network)) return { client: refused('attempts_exhausted'), isEarlier: false };

    const [secretId, digest] = [secretIdOf(clientSecret), verifiedSecrets.digestOf(credentials)];
    if (verifiedSecrets.has(digest)) {
      const lookup = await clients.findByClientId(clientId, secretId);
      if (lookup.kind === 'found' && verifiedSecrets.isVerified(digest, lookup.registration.clientSecret)) {
        return { client: success(lookup.registration), isEarlier: false };
      }
    }

    const presented: PresentedSecret = { clientId, clientSecret, secretId, digest };
    const { outcome, isOwn } = await caller.waitUncounted(
      () => this.#attempts.join(`${network} ${digest}`, caller, (sharing) => this.#verify(presented, sharing)),
      ({ outcome }) => isMatch(outcome),
    );
    return { client: await this.#clientOf(presented, outcome), isEarlier: !isOwn };
  }

  /**
   * Looks the secret up, then verifies it in a slot. The attempt counts as failed unless its secret is right or a fault
   * kept it from being compared.
   */
  async #verify(
    { clientId, clientSecret, secretId, digest }: PresentedSecret,
    caller: Connected,
  ): Promise<Verification> {
    const { clients, attempts, verifiedSecrets, slots, secrets } = this.#parts;
    const { isBeyond, takeOff } = attempts.count(clientId, caller.network);
    const keptFromComparison = (fault: unknown): never => {
      takeOff();
      throw fault;
    };
    let found: ClientSecret | undefined;
    const find = async () => {
      found = await clients.findSecret(clientId, secretId).catch(keptFromComparison);
      return found;
    };
    const verify = async (): Promise<Verification> => {
      const compared = found ?? (await find());
      const { secret, isRegistered } = compared;
      // While this attempt waited, one from another network may have verified the secret.
      const isVerified = verifiedSecrets.isVerified(digest, secret);
      const verdict = isVerified
        ? 'match'
        : await secrets.verify(clientSecret, secret, isRegistered).catch(keptFromComparison);
      if (verdict === 'match') {
        takeOff();
        verifiedSecrets.add(digest, secret);
      }
      return { verdict, found: compared, isBeyond };
    };
    const isRegistered = async () => (await find()).isRegistered;
    const request = { clientId, cost: secrets.cost, caller, isRegistered };
    return slots.run(request, verify, isMatch).catch((fault) => {
      if (fault instanceof SlotsExhausted && found?.isRegistered) fault.clientId = clientId;
      throw fault;
    });
  }

  /** Read only now, since a long registration takes longer. It may have changed since its secret was looked up. */
  async #clientOf(
    { clientId, secretId }: PresentedSecret,
    { verdict, found: { secret: stored, isRegistered }, isBeyond }: Verification,
  ): Promise<Result<ClientRegistration, Refusal>> {
    if (isBeyond && verdict !== 'match') return refused('attempts_exhausted', isRegistered ? clientId : undefined);
    if (!isRegistered) return refused('client_unknown');
    if (verdict !== 'match') return refused(REASON_OF_VERDICT[verdict], clientId);
    const lookup = await this.#parts.clients.findByClientId(clientId, secretId);
    if (lookup.kind === 'broken') return refused('registration_broken', clientId);
    if (lookup.kind === 'unknown') return refused('client_unknown');
    return isSame(lookup.registration.clientSecret, stored)
      ? success(lookup.registration)
      : refused('secret_wrong', clientId);
  }
}

function isMatch({ verdict }: Verification): boolean {
  return verdict === 'match';
}

function isSame(one: StoredSecret, other: StoredSecret): boolean {
  return one.kind === other.kind && one.reveal() === other.reveal();
}
