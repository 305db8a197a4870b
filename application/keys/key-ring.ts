import { DependencyUnavailable } from '../ports/dependency-unavailable.ts';
import type { TrustedKey } from '../ports/key-directory.ts';
import type { KeyHandle, KeyProvider, PublicKeyJwk, SigningKey } from '../ports/key-provider.ts';
import { DirectoryKeys, type DirectoryKeysParts } from './directory-keys.ts';
import { OwnKeys, type OwnKeysParts, type SigningPeriod } from './own-keys.ts';
import { jwksOf } from './trusted-keys.ts';

export type KeyRingParts = OwnKeysParts & DirectoryKeysParts;

/** What a replica of the ring needs in order to sign and verify as the ring does. No private keys. Times in seconds since the epoch. */
export interface KeyRingState {
  /** The key that signs: from the second `from`, up to and without the second `until`. Undefined before there is one. */
  readonly signing: { readonly kid: string; readonly from: number; readonly until: number } | undefined;
  /** Every published key, of this process and of the other replicas of the service. */
  readonly trusted: readonly TrustedKey[];
  /** When the next key is published; Infinity if that is not known yet. */
  readonly nextPublication: number;
  /** When the key directory was last read; -Infinity before the first time. */
  readonly readAt: number;
}

/**
 * The keys that this process signs with, and all keys that it verifies with. They change only in `advance`, which has to
 * be called regularly.
 */
export class KeyRing implements KeyProvider {
  readonly #parts: KeyRingParts;
  readonly #own: OwnKeys;
  readonly #directory: DirectoryKeys;
  #onChange: () => void = () => {};
  #signing: SigningPeriod | undefined;
  #advancing: Promise<void> | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
    this.#own = new OwnKeys(parts);
    this.#directory = new DirectoryKeys(parts);
  }

  /**
   * Calls the listener, which must not throw, synchronously during `advance`:
   * - at a rotation, before the query to the directory. The query may take seconds, in which no replica of the ring may
   *   sign with the retired key;
   * - at the end of every `advance`, even if it fails.
   *
   * `state()` and `signingKey()` then return the new state and the new key. There is at most one listener.
   */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /**
   * Makes, rotates and publishes the keys that are due, and reads those of other replicas. Calls at the same time share
   * one run. Throws DependencyUnavailable if the directory is unavailable; call it again then.
   */
  advance(): Promise<void> {
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async signingKey(): Promise<SigningKey> {
    const problem = this.whyNotSigning();
    if (this.#signing !== undefined && problem === undefined) return this.#signing.pair;
    throw new DependencyUnavailable('signing key', new Error(problem));
  }

  /** Why no key may sign now, in words for an operator; undefined if one may. */
  whyNotSigning(): string | undefined {
    const now = this.#parts.clock.now();
    if (this.#signing === undefined) return 'no key is published yet';
    if (now < this.#signing.from) return 'the key is published, and waits until every verifier can know it';
    return now < this.#signing.until ? undefined : 'the key directory has been unavailable for too long';
  }

  async verificationKey(kid: string): Promise<KeyHandle | undefined> {
    return this.#own.find(kid) ?? this.#directory.find(kid);
  }

  async publicKeys(): Promise<readonly PublicKeyJwk[]> {
    return jwksOf(this.state().trusted);
  }

  maxAgeSeconds(): number {
    const { clock, schedule } = this.#parts;
    return schedule.maxAgeSeconds(clock.now(), this.#own.nextPublication(), this.#directory.readAt);
  }

  /** For a replica of the ring, which can sign and verify with it until the next `advance`. */
  state(): KeyRingState {
    const signing = this.#signing;
    return {
      signing: signing && { kid: signing.pair.kid, from: signing.from, until: signing.until },
      trusted: [...this.#directory.trusted(), ...this.#own.listPublished()],
      nextPublication: this.#own.nextPublication(),
      readAt: this.#directory.readAt,
    };
  }

  async #advance(): Promise<void> {
    try {
      await this.#own.makeNext();
      if (this.#own.rotate()) this.#changed();
      const now = this.#parts.clock.now();
      this.#own.published(now, await this.#directory.publish(this.#own.toPublish(now)));
    } finally {
      this.#changed();
    }
  }

  #changed(): void {
    this.#signing = this.#own.signing();
    this.#onChange();
  }
}
