import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { IssuerKeySet, IssuerKeys } from '../../../application/ports/issuer-keys.ts';

/** The key sets of the trusted issuers as they were last received: at most one for each issuer of the file. */
export class IssuerKeyCache implements IssuerKeys {
  #sets: ReadonlyMap<string, IssuerKeySet>;

  constructor(sets: ReadonlyMap<string, IssuerKeySet> = new Map()) {
    this.#sets = sets;
  }

  /** Replaces all sets. An issuer without one is unavailable. */
  replace(sets: ReadonlyMap<string, IssuerKeySet>): void {
    this.#sets = sets;
  }

  keysOf(issuer: string): IssuerKeySet {
    const set = this.#sets.get(issuer);
    if (set === undefined) throw new DependencyUnavailable(`key set of ${issuer}`, new Error('no key set'));
    return set;
  }
}
