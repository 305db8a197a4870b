import type { KeySchedule } from '../domain/key-schedule.ts';
import type { KeyRingState } from './key-ring-state.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Clock } from './ports/clock.ts';
import { DependencyUnavailable } from './ports/dependency-unavailable.ts';
import type { TrustedKey } from './ports/key-directory.ts';
import type { KeyFactory, KeyPair } from './ports/key-factory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from './ports/key-provider.ts';
import type { SharedKeys } from './shared-keys.ts';

/** A pair of this process: made, then published, then signing, then retired, each at a second. */
interface OwnKey {
  readonly pair: KeyPair;
  publishedAt?: number;
  signsFrom: number;
  retiredAt?: number;
}

export interface KeyRingParts {
  readonly factory: KeyFactory;
  readonly shared: SharedKeys;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/**
 * The keys of this process over time, and those of its fellow replicas. Time passes by `advance`, which somebody calls
 * every now and then; between two calls nothing changes but the age of what there is.
 */
export class KeyRing implements KeyProvider {
  readonly #parts: KeyRingParts;
  /** Oldest first; at most one behind the one that signs. */
  #own: OwnKey[] = [];
  /** When the directory last took our keys, in seconds; -Infinity before. */
  #publishedAt = -Infinity;
  #advancing: Promise<void> | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
  }

  /** Does what is due: makes, publishes, takes over, retires and forgets. One at a time; throws DependencyUnavailable where the directory is out of reach, and is to be called again. */
  advance(): Promise<void> {
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async signingKey(): Promise<SigningKey> {
    const reason = this.whyNotSigning();
    const key = this.#signing();
    if (key === undefined || reason !== undefined) {
      throw new DependencyUnavailable('signing key', new Error(reason));
    }
    return key.pair;
  }

  /** Why there is no key to sign with at the moment, for an operator, or undefined where there is one. */
  whyNotSigning(): string | undefined {
    const { clock, schedule } = this.#parts;
    const key = this.#signing();
    if (key?.publishedAt === undefined) return 'no key is published yet';
    if (clock.now() < key.signsFrom) return 'the key is published, and waits until every verifier can know it';
    return clock.now() < schedule.maySignUntil(this.#publishedAt)
      ? undefined
      : 'the key directory is out of reach for too long';
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const own = this.#trusted().find(({ pair }) => pair.kid === kid);
    return own === undefined ? this.#parts.shared.find(kid) : own.pair.publicKey;
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    const own = this.#trusted().filter(({ publishedAt }) => publishedAt !== undefined);
    const keys = new Map(
      [...this.#parts.shared.trusted(), ...own.map(({ pair }) => pair)].map(({ jwk }) => [jwk.kid, jwk]),
    );
    return [...keys.values()].sort((one, other) => (one.kid < other.kid ? -1 : 1)).map((jwk) => ({ ...jwk }));
  }

  maxAgeSeconds(): number {
    const { clock, schedule, shared } = this.#parts;
    return schedule.maxAgeSeconds(clock.now(), this.#nextPublication(), shared.learntAt);
  }

  /** All that another process of this service has to know to sign and verify as this ring does until the next `advance`. */
  state(): KeyRingState {
    const { schedule, shared } = this.#parts;
    const signing = this.#signing();
    const own = this.#trusted().filter(({ publishedAt }) => publishedAt !== undefined);
    return {
      signing: signing && {
        kid: signing.pair.kid,
        from: signing.signsFrom,
        until: schedule.maySignUntil(this.#publishedAt),
      },
      trusted: [...shared.trusted(), ...own.map((key) => this.#asTrusted(key, this.#publishedAt))],
      nextPublication: this.#nextPublication(),
      learntAt: shared.learntAt,
    };
  }

  async #advance(): Promise<void> {
    await this.#makeWhatIsDue();
    this.#takeOver();
    await this.#publish();
    this.#forget();
  }

  async #makeWhatIsDue(): Promise<void> {
    const { factory, schedule, clock } = this.#parts;
    const signing = this.#signing();
    const newest = this.#own.at(-1);
    // What is not published yet, or does not sign yet, comes first.
    if (newest !== signing) return;
    if (signing !== undefined && clock.now() < schedule.successorPublishedAt(signing.signsFrom)) return;
    this.#own.push({ pair: await factory.make(), signsFrom: Infinity });
  }

  #takeOver(): void {
    const { schedule, clock, auditLog } = this.#parts;
    const now = clock.now();
    const signing = this.#signing();
    const successor = this.#own.at(-1);
    if (signing === undefined || successor?.publishedAt === undefined || successor === signing) return;
    if (now < schedule.successorSignsAt(signing.signsFrom, successor.publishedAt)) return;
    successor.signsFrom = now;
    signing.retiredAt = now;
    auditLog.record({ event: 'key_signing', at: now, keyId: successor.pair.kid });
    auditLog.record({ event: 'key_retired', at: now, keyId: signing.pair.kid });
  }

  async #publish(): Promise<void> {
    const { schedule, shared, clock, auditLog } = this.#parts;
    const now = clock.now();
    const keys = this.#trusted().map((key) => this.#asTrusted(key, now));
    const others = await shared.publish(keys);
    this.#publishedAt = now;
    // The directory may have taken its time: nobody could know a new key before it answered.
    const known = clock.now();
    for (const key of this.#own.filter(({ publishedAt }) => publishedAt === undefined)) {
      key.publishedAt = known;
      auditLog.record({ event: 'key_published', at: known, keyId: key.pair.kid });
      if (this.#own.length > 1) continue;
      // The first key of a process signs at once where nobody can hold a set without it.
      key.signsFrom = others === 0 ? known : schedule.knownToAllAt(known);
      auditLog.record({ event: 'key_signing', at: key.signsFrom, keyId: key.pair.kid });
    }
  }

  /** A key that was published at `publishedAt`, with the second in which its last token has expired. */
  #asTrusted({ pair, retiredAt }: OwnKey, publishedAt: number): TrustedKey {
    const { schedule } = this.#parts;
    return { jwk: pair.jwk, trustedUntil: schedule.trustedUntil(retiredAt ?? schedule.maySignUntil(publishedAt)) };
  }

  #nextPublication(): number {
    const signing = this.#signing();
    const successor = this.#own.some((key) => key.signsFrom === Infinity && key.publishedAt !== undefined);
    return signing === undefined || successor ? Infinity : this.#parts.schedule.successorPublishedAt(signing.signsFrom);
  }

  #forget(): void {
    this.#own = this.#trusted();
  }

  /** The one that signs or, at the start, that will as soon as it may. */
  #signing(): OwnKey | undefined {
    return this.#own.find(({ retiredAt, signsFrom }) => retiredAt === undefined && signsFrom !== Infinity);
  }

  #trusted(): OwnKey[] {
    const { schedule, clock } = this.#parts;
    const now = clock.now();
    return this.#own.filter(({ retiredAt }) => retiredAt === undefined || now < schedule.trustedUntil(retiredAt));
  }
}
