import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { TrustedKey } from '../ports/key-directory.ts';
import type { KeyFactory, KeyPair } from '../ports/key-factory.ts';
import type { KeyHandle } from '../ports/key-provider.ts';

/** A key, and when it may sign: from the second `from`, up to and without the second `until`. */
export interface SigningPeriod {
  readonly pair: KeyPair;
  readonly from: number;
  readonly until: number;
}

export interface OwnKeysParts {
  readonly factory: KeyFactory;
  readonly schedule: KeySchedule;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/**
 * The keys that this process made. Each key is made, published, used to sign, and retired. Every step happens here, and
 * the last three are recorded in the audit log. Times in seconds since the epoch.
 */
export class OwnKeys {
  readonly #parts: OwnKeysParts;
  /** The key that will sign next; its publication is Infinity until the directory has it. */
  #next: { readonly pair: KeyPair; readonly publishedAt: number } | undefined;
  /** The key that signs, or that is published and will be the first to sign. */
  #signing: { readonly pair: KeyPair; readonly from: number } | undefined;
  #retired: readonly { readonly pair: KeyPair; readonly trustedUntil: number }[] = [];
  /** When the directory last accepted the keys. */
  #publishedAt = -Infinity;

  constructor(parts: OwnKeysParts) {
    this.#parts = parts;
  }

  /** Makes the first key, or the next one when it is time to publish it. */
  async makeNext(): Promise<void> {
    const { factory, schedule, clock } = this.#parts;
    if (this.#next !== undefined) return;
    if (this.#signing && clock.now() < schedule.successorPublishedAt(this.#signing.from)) return;
    this.#next = { pair: await factory.make(), publishedAt: Infinity };
  }

  /** Lets the next key sign, and retires its predecessor, when it is time. Returns whether it did. */
  rotate(): boolean {
    const { schedule, clock, auditLog } = this.#parts;
    const [current, next, now] = [this.#signing, this.#next, clock.now()];
    if (!current || !next || now < schedule.successorSignsAt(current.from, next.publishedAt)) return false;
    this.#retired = [...this.#trusted(), { pair: current.pair, trustedUntil: schedule.trustedUntil(now) }];
    this.#signing = { pair: next.pair, from: now };
    this.#next = undefined;
    auditLog.record({ event: 'key_signing', at: now, keyId: next.pair.kid });
    auditLog.record({ event: 'key_retired', at: now, keyId: current.pair.kid });
    return true;
  }

  /** The keys to publish at `now`, each with the time until which it is to be trusted. */
  toPublish(now: number): readonly TrustedKey[] {
    const { schedule } = this.#parts;
    const trustedUntil = schedule.trustedUntil(schedule.maySignUntil(now));
    const active = [this.#signing, this.#next].filter((key) => key !== undefined);
    const keys = [...this.#trusted(), ...active.map(({ pair }) => ({ pair, trustedUntil }))];
    return keys.map(({ pair, ...key }) => ({ jwk: pair.jwk, ...key }));
  }

  /**
   * Notes that the directory has accepted the keys of a query at `queriedAt`, and holds this many keys of other processes.
   * The first key of a process signs at once if there are none, since no verifier can have a key set without it.
   */
  published(queriedAt: number, others: number): void {
    const { schedule, clock, auditLog } = this.#parts;
    this.#publishedAt = queriedAt;
    if (this.#next?.publishedAt !== Infinity) return;
    const { pair } = this.#next;
    // The query may have taken seconds, and no replica could read a new key before its end.
    const publishedAt = clock.now();
    auditLog.record({ event: 'key_published', at: publishedAt, keyId: pair.kid });
    if (this.#signing !== undefined) {
      this.#next = { pair, publishedAt };
    } else {
      const from = others === 0 ? publishedAt : schedule.knownToAllAt(publishedAt);
      this.#next = undefined;
      this.#signing = { pair, from };
      auditLog.record({ event: 'key_signing', at: from, keyId: pair.kid });
    }
  }

  /** Undefined before a key is published. */
  signing(): SigningPeriod | undefined {
    return this.#signing && { ...this.#signing, until: this.#parts.schedule.maySignUntil(this.#publishedAt) };
  }

  /** The public key with this id, if it is trusted now. */
  find(kid: string): KeyHandle | undefined {
    const keys = [this.#signing, this.#next, ...this.#trusted()];
    return keys.find((key) => key?.pair.kid === kid)?.pair.publicKey;
  }

  /** The published keys, with the times that the directory has. */
  listPublished(): readonly TrustedKey[] {
    const unpublished = this.#next?.publishedAt === Infinity ? this.#next.pair.kid : undefined;
    return this.toPublish(this.#publishedAt).filter(({ jwk }) => jwk.kid !== unpublished);
  }

  /** When the next key is published; Infinity if that is not known yet. */
  nextPublication(): number {
    const isPublished = this.#next !== undefined && this.#next.publishedAt !== Infinity;
    if (this.#signing === undefined || isPublished) return Infinity;
    return this.#parts.schedule.successorPublishedAt(this.#signing.from);
  }

  /** The retired keys whose last token has not expired. */
  #trusted() {
    const now = this.#parts.clock.now();
    return this.#retired.filter(({ trustedUntil }) => now < trustedUntil);
  }
}
