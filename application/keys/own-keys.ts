import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { AuditLog, KeyEvent } from '../ports/audit-log.ts';
import type { MonotonicClock } from '../ports/clock.ts';
import type { KeyFactory, KeyHandle, KeyPair } from '../ports/key-provider.ts';
import type { KeyPeriod } from '../ports/telemetry.ts';
import type { Publication } from './directory-keys.ts';
import type { TrustedKey } from './trusted-keys.ts';

/** A key, and when it may sign: from the second `from`, up to and without the second `until`. */
export interface SigningPeriod {
  readonly pair: KeyPair;
  readonly from: number;
  readonly until: number;
}

type SigningKeyPair = Pick<SigningPeriod, 'pair' | 'from'>;

/** The key that will sign next; its publication is Infinity until the directory has it. */
interface NextKeyPair {
  readonly pair: KeyPair;
  readonly publishedAt: number;
}

export interface OwnKeysParts {
  readonly factory: KeyFactory;
  readonly schedule: KeySchedule;
  readonly clock: MonotonicClock;
  readonly auditLog: AuditLog;
}

/**
 * The keys that this process made. Each key is made, published, used to sign, and retired, unless it is revoked. Every
 * step happens here, and all but the first are recorded in the audit log. Times in seconds of the monotonic clock.
 */
export class OwnKeys {
  readonly #parts: OwnKeysParts;
  #next: NextKeyPair | undefined;
  /** The key that signs, or that is published and will be the first to sign. */
  #signing: SigningKeyPair | undefined;
  #retired: readonly { readonly pair: KeyPair; readonly retiredAt: number; readonly trustedUntil: number }[] = [];
  /** When the directory last accepted the keys. */
  #publishedAt = -Infinity;
  /** The id of the last key that was revoked. */
  #revoked: string | undefined;

  constructor(parts: OwnKeysParts) {
    this.#parts = parts;
  }

  /** The id of the last of these keys that was revoked, if any. */
  get revoked(): string | undefined {
    return this.#revoked;
  }

  /**
   * Makes the first key, or the next one: when it is time to publish it, or at once if the current one is not by the
   * algorithm to sign with. A next key that is not by it never signed, and is dropped.
   */
  async makeNext(hasOlderPeers: boolean): Promise<void> {
    const { factory, schedule, clock } = this.#parts;
    const [current, { preferred, withOlderPeers }] = [this.#signing, factory.algorithms];
    const algorithm = hasOlderPeers ? withOlderPeers : preferred;
    if (this.#next?.pair.alg === algorithm) return;
    const isFirst = current === undefined || current.pair.alg !== algorithm;
    if (!isFirst && this.#next === undefined && clock.now() < schedule.successorPublishedAt(current.from)) return;
    this.#next = { pair: await factory.make(algorithm), publishedAt: Infinity };
  }

  /** Lets the next key sign, and retires its predecessor, when it is time. Returns whether it did. */
  rotate(): boolean {
    const { schedule, clock } = this.#parts;
    const [current, next, now] = [this.#signing, this.#next, clock.now()];
    if (!current || !next || now < this.#successorSignsAt(current, next)) return false;
    // Rounded up, since a token may be issued until the end of this second.
    const trustedUntil = schedule.trustedUntil(Math.ceil(clock.seconds()));
    this.#retired = [...this.#trusted(), { pair: current.pair, retiredAt: now, trustedUntil }];
    this.#signing = { pair: next.pair, from: now };
    this.#next = undefined;
    this.#record('key_signing', next.pair.kid, now);
    this.#record('key_retired', current.pair.kid, now);
    return true;
  }

  /** The keys to publish at `now`, each with the time until which it is to be trusted. */
  toPublish(now: number): readonly TrustedKey[] {
    const { schedule } = this.#parts;
    const trustedUntil = schedule.trustedUntil(schedule.maySignUntil(now));
    const active = [this.#signing, this.#next].filter((key) => key !== undefined);
    const keys = [...this.#trusted(), ...active.map(({ pair }) => ({ pair, trustedUntil }))];
    return keys.map(({ pair, trustedUntil }) => ({ jwk: pair.jwk, trustedUntil }));
  }

  /**
   * Notes that the directory has accepted the keys of a query at `queriedAt`, except for the revoked ones. The first key of a
   * process signs at once if the directory holds no keys of other processes, since no verifier can have a key set without it.
   */
  published(queriedAt: number, { others, revoked, missedSeconds }: Publication): void {
    const { schedule, clock } = this.#parts;
    // The query may have taken seconds, and no replica could read a new key before its end. Rounded up, since the seconds of
    // another replica begin at other moments.
    const [now, publishedAt] = [clock.now(), Math.ceil(clock.seconds())];
    const isAfterLease = schedule.maySignUntil(this.#publishedAt) <= queriedAt + Math.max(0, missedSeconds);
    this.#publishedAt = queriedAt;
    this.#drop(new Set(revoked), now);
    const [signing, next] = [this.#signing, this.#next];
    // Other processes may have forgotten the keys of a process that was away for so long.
    const isNew = isAfterLease || next?.publishedAt === Infinity;
    if (next && isNew) {
      this.#next = { pair: next.pair, publishedAt };
      this.#record('key_published', next.pair.kid, now);
    }
    const first = signing === undefined ? next : isAfterLease ? signing : undefined;
    if (first === undefined) return;
    if (signing === undefined) this.#next = undefined;
    const signsAtOnce = others === 0 && this.#revoked === undefined;
    this.#signing = { pair: first.pair, from: signsAtOnce ? now : schedule.knownToAllAt(publishedAt) };
    this.#record('key_signing', first.pair.kid, this.#signing.from);
  }

  /** Undefined before a key is published. */
  signing(): SigningPeriod | undefined {
    return this.#signing && { ...this.#signing, until: this.#parts.schedule.maySignUntil(this.#publishedAt) };
  }

  /** The public key with this id, if it is published and trusted now. */
  find(kid: string): KeyHandle | undefined {
    const keys = [this.#signing, this.#publishedNext(), ...this.#trusted()];
    return keys.find((key) => key?.pair.kid === kid)?.pair.publicKey;
  }

  /** The published keys, with the times that the directory has. */
  listPublished(): readonly TrustedKey[] {
    const unpublished = this.#publishedNext() === undefined ? this.#next?.pair.kid : undefined;
    return this.toPublish(this.#publishedAt).filter(({ jwk }) => jwk.kid !== unpublished);
  }

  /** The state of each published key, with its times in seconds of the monotonic clock; Infinity for ever. */
  periods(): readonly KeyPeriod[] {
    const [signing, next, until] = [this.#signing, this.#publishedNext(), this.nextRotation()];
    const period = ({ kid, alg }: KeyPair, more: Omit<KeyPeriod, 'kid' | 'alg'>) => ({ kid, alg, ...more });
    const retired = this.#trusted().map(({ pair, retiredAt, trustedUntil }) =>
      period(pair, { state: 'retired', from: retiredAt, until: trustedUntil }),
    );
    if (signing === undefined) return retired;
    const { pair, from } = signing;
    const isWaiting = this.#parts.clock.now() < from;
    return [
      ...retired,
      period(pair, isWaiting ? { state: 'published', from: null, until: from } : { state: 'signing', from, until }),
      ...(next === undefined ? [] : [period(next.pair, { state: 'published', from: next.publishedAt, until })]),
    ];
  }

  /** When the next key is published; Infinity if that is not known yet. */
  nextPublication(): number {
    if (this.#signing === undefined || this.#publishedNext() !== undefined) return Infinity;
    return this.#parts.schedule.successorPublishedAt(this.#signing.from);
  }

  /** When the next key is due to sign, in the past if it is late; Infinity without rotation, or before there is a key. */
  nextRotation(): number {
    if (this.#signing === undefined) return Infinity;
    return this.#successorSignsAt(this.#signing, this.#publishedNext());
  }

  /** A successor with another algorithm does not wait for the rotation. */
  #successorSignsAt(current: SigningKeyPair, next: NextKeyPair | undefined): number {
    const { schedule } = this.#parts;
    if (next && next.pair.alg !== current.pair.alg) return schedule.knownToAllAt(next.publishedAt);
    return schedule.successorSignsAt(current.from, next?.publishedAt ?? -Infinity);
  }

  /** Drops revoked keys. The next key takes the place of a revoked one that signs, as soon as every verifier can know it. */
  #drop(revoked: ReadonlySet<string>, now: number): void {
    const isLeft = (key: { readonly pair: KeyPair } | undefined) => key !== undefined && !revoked.has(key.pair.kid);
    for (const kid of revoked) {
      // The key of a file comes back, and is refused again, each time.
      if (kid !== this.#revoked) this.#record('key_revoked', kid, now);
      this.#revoked = kid;
    }
    this.#retired = this.#retired.filter(isLeft);
    const next = isLeft(this.#next) ? this.#next : undefined;
    this.#next = next;
    if (this.#signing === undefined || isLeft(this.#signing)) return;
    this.#signing = undefined;
    if (next === undefined || next.publishedAt === Infinity) return;
    this.#signing = { pair: next.pair, from: Math.max(now, this.#parts.schedule.knownToAllAt(next.publishedAt)) };
    this.#next = undefined;
    this.#record('key_signing', next.pair.kid, this.#signing.from);
  }

  #publishedNext() {
    return this.#next?.publishedAt === Infinity ? undefined : this.#next;
  }

  /** The retired keys whose last token has not expired. */
  #trusted() {
    const now = this.#parts.clock.now();
    return this.#retired.filter(({ trustedUntil }) => now < trustedUntil);
  }

  /** @param at in seconds of the monotonic clock; the log has the time of day. */
  #record(event: KeyEvent['event'], keyId: string, at: number): void {
    const { clock, auditLog } = this.#parts;
    void auditLog.record({ event, at: Math.floor(clock.wallSeconds() + at - clock.now()), key_id: keyId });
  }
}
