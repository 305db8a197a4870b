import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { KeyFactory } from '../ports/key-factory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from '../ports/key-provider.ts';
import type { DirectoryKeys } from './directory-keys.ts';
import type { KeyRingState } from './key-ring-state.ts';
import { OwnKeys } from './own-keys.ts';

export interface KeyRingParts {
  readonly factory: KeyFactory;
  readonly shared: DirectoryKeys;
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
  readonly #own: OwnKeys;
  /** When the directory last took our keys, in seconds; -Infinity before. */
  #publishedAt = -Infinity;
  #advancing: Promise<void> | undefined;
  #onChange: () => void = () => {};

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#own = new OwnKeys(parts.schedule, parts.clock);
  }

  /** Does what is due: makes, publishes, takes over, retires and forgets. One at a time; throws DependencyUnavailable where the directory is out of reach, and is to be called again. */
  advance(): Promise<void> {
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined;
      this.#onChange();
    });
    return this.#advancing;
  }

  /**
   * Calls the listener, which must not throw, whenever the state may have changed: when a key has taken over, before the
   * directory is asked, and at the end of each `advance`. There is one listener at most.
   */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  async signingKey(): Promise<SigningKey> {
    const reason = this.whyNotSigning();
    const key = this.#own.signing();
    if (key === undefined || reason !== undefined) {
      throw new DependencyUnavailable('signing key', new Error(reason));
    }
    return key.pair;
  }

  /** Why there is no key to sign with at the moment, for an operator, or undefined where there is one. */
  whyNotSigning(): string | undefined {
    const { clock, schedule } = this.#parts;
    const key = this.#own.signing();
    if (key?.publishedAt === undefined) return 'no key is published yet';
    if (clock.now() < key.signsFrom) return 'the key is published, and waits until every verifier can know it';
    return clock.now() < schedule.maySignUntil(this.#publishedAt)
      ? undefined
      : 'the key directory is out of reach for too long';
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    const own = this.#own.trusted().find(({ pair }) => pair.kid === kid);
    return own === undefined ? this.#parts.shared.find(kid) : own.pair.publicKey;
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    const own = this.#own.published();
    const keys = new Map(
      [...this.#parts.shared.trusted(), ...own.map(({ pair }) => pair)].map(({ jwk }) => [jwk.kid, jwk]),
    );
    return [...keys.values()].sort((one, other) => (one.kid < other.kid ? -1 : 1)).map((jwk) => ({ ...jwk }));
  }

  maxAgeSeconds(): number {
    const { clock, schedule, shared } = this.#parts;
    return schedule.maxAgeSeconds(clock.now(), this.#own.nextPublication(), shared.learntAt);
  }

  /** All that another process of this service has to know to sign and verify as this ring does until the next `advance`. */
  state(): KeyRingState {
    const { schedule, shared } = this.#parts;
    const signing = this.#own.signing();
    return {
      signing: signing && {
        kid: signing.pair.kid,
        from: signing.signsFrom,
        until: schedule.maySignUntil(this.#publishedAt),
      },
      trusted: [...shared.trusted(), ...this.#own.told(this.#own.published(), this.#publishedAt)],
      nextPublication: this.#own.nextPublication(),
      learntAt: shared.learntAt,
    };
  }

  async #advance(): Promise<void> {
    const { factory } = this.#parts;
    if (this.#own.isNextDue()) this.#own.add(await factory.make());
    this.#takeOver();
    await this.#publish();
    this.#own.forget();
  }

  #takeOver(): void {
    const { auditLog } = this.#parts;
    const changed = this.#own.takeOver();
    if (changed === undefined) return;
    const { successor, retired } = changed;
    const at = successor.signsFrom;
    auditLog.record({ event: 'key_signing', at, keyId: successor.pair.kid });
    auditLog.record({ event: 'key_retired', at, keyId: retired.pair.kid });
    this.#onChange();
  }

  async #publish(): Promise<void> {
    const { schedule, shared, clock, auditLog } = this.#parts;
    const now = clock.now();
    const keys = this.#own.trusted();
    const others = await shared.publish(this.#own.told(keys, now));
    this.#publishedAt = now;
    // The directory may have taken its time: nobody could know a new key before it answered.
    const known = clock.now();
    for (const key of keys.filter(({ publishedAt }) => publishedAt === undefined)) {
      key.publishedAt = known;
      auditLog.record({ event: 'key_published', at: known, keyId: key.pair.kid });
      if (keys.length > 1) continue;
      // The first key of a process signs at once where nobody can hold a set without it.
      key.signsFrom = others === 0 ? known : schedule.knownToAllAt(known);
      auditLog.record({ event: 'key_signing', at: key.signsFrom, keyId: key.pair.kid });
    }
  }
}
