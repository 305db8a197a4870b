import type { KeySchedule } from '../../domain/key-schedule.ts';
import type { Clock } from '../ports/clock.ts';
import type { TrustedKey } from '../ports/key-directory.ts';
import type { KeyPair } from '../ports/key-factory.ts';

/** A pair of this process: made, then published, then signing, then retired, each at a second. */
export interface OwnKey {
  readonly pair: KeyPair;
  publishedAt?: number;
  signsFrom: number;
  retiredAt?: number;
}

/** The keys that this process made, each at its point of the way. */
export class OwnKeys {
  readonly #schedule: KeySchedule;
  readonly #clock: Clock;
  /** Oldest first; at most one behind the one that signs. */
  #keys: OwnKey[] = [];

  constructor(schedule: KeySchedule, clock: Clock) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** The one that signs or, at the start, that will as soon as it may. */
  signing(): OwnKey | undefined {
    return this.#keys.find(({ retiredAt, signsFrom }) => retiredAt === undefined && signsFrom !== Infinity);
  }

  /** Those that sign, will sign, or have signed tokens that may be alive. */
  trusted(): readonly OwnKey[] {
    const now = this.#clock.now();
    return this.#keys.filter(
      ({ retiredAt }) => retiredAt === undefined || now < this.#schedule.trustedUntil(retiredAt),
    );
  }

  published(): readonly OwnKey[] {
    return this.trusted().filter(({ publishedAt }) => publishedAt !== undefined);
  }

  /** Whether it is time to make the next: the first, or a successor. What is not published yet, or does not sign yet, comes first. */
  isNextDue(): boolean {
    const signing = this.signing();
    if (this.#keys.at(-1) !== signing) return false;
    return signing === undefined || this.#clock.now() >= this.#schedule.successorPublishedAt(signing.signsFrom);
  }

  add(pair: KeyPair): void {
    this.#keys.push({ pair, signsFrom: Infinity });
  }

  /** Lets a successor sign whose time has come. Answers the two, or undefined where nothing changed. */
  takeOver(): { readonly successor: OwnKey; readonly retired: OwnKey } | undefined {
    const now = this.#clock.now();
    const signing = this.signing();
    const successor = this.#keys.at(-1);
    if (signing === undefined || successor?.publishedAt === undefined || successor === signing) return undefined;
    if (now < this.#schedule.successorSignsAt(signing.signsFrom, successor.publishedAt)) return undefined;
    successor.signsFrom = now;
    signing.retiredAt = now;
    return { successor, retired: signing };
  }

  /** When the next key is published; Infinity where that is not known. */
  nextPublication(): number {
    const signing = this.signing();
    const successor = this.#keys.some((key) => key.signsFrom === Infinity && key.publishedAt !== undefined);
    return signing === undefined || successor ? Infinity : this.#schedule.successorPublishedAt(signing.signsFrom);
  }

  /** These keys as they are told to others, by a word that is spoken at `at`. */
  told(keys: readonly OwnKey[], at: number): readonly TrustedKey[] {
    return keys.map(({ pair: { jwk }, retiredAt }) => ({
      jwk,
      trustedUntil: this.#schedule.trustedUntil(retiredAt ?? this.#schedule.maySignUntil(at)),
    }));
  }

  forget(): void {
    this.#keys = [...this.trusted()];
  }
}
