import type { FederatedSubject } from '../client-details.ts';
import type { AssertionAlgorithm } from '../public-jwk.ts';
import { type IssuerPreset, weaknessOf } from './issuer-preset.ts';
import { SPIFFE_SCHEME, trustDomainOf } from './spiffe-id.ts';

/** Somebody who signs identities of workloads, and whose word the operator takes for it. */
export interface TrustedIssuer {
  /** The claim `iss`, character by character; of a SPIFFE trust domain its ID, such as `spiffe://example.org`. */
  readonly issuer: string;
  /** What `aud` has to be. */
  readonly audience: string;
  readonly algorithms: readonly AssertionAlgorithm[];
  readonly preset: IssuerPreset;
}

/** The part of an assertion that says who issued it. */
interface Issued {
  readonly iss?: string | undefined;
  readonly sub: string;
}

/** All trusted issuers. There is no other way to one: an issuer is never discovered. */
export class TrustedIssuers {
  readonly #byName: ReadonlyMap<string, TrustedIssuer>;

  constructor(issuers: readonly TrustedIssuer[]) {
    this.#byName = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
  }

  /**
   * The issuer that has to have signed an assertion, if it is trusted. A JWT-SVID may have any `iss` or none: its
   * subject says which trust domain has to have signed it. So does the type `jwt-spiffe`, whatever `iss` is.
   */
  find(type: 'jwt-bearer' | 'jwt-spiffe', { iss, sub }: Issued): TrustedIssuer | undefined {
    const named = type === 'jwt-bearer' && iss !== undefined ? this.#byName.get(iss) : undefined;
    if (named !== undefined && !named.issuer.startsWith(SPIFFE_SCHEME)) return named;
    const trustDomain = trustDomainOf(sub);
    return trustDomain === undefined ? undefined : this.#byName.get(SPIFFE_SCHEME + trustDomain);
  }

  /** Why no assertion can match this rule; undefined if one can. The same check when a rule is read, added and used. */
  problemOf(rule: FederatedSubject): string | undefined {
    const issuer = this.#byName.get(rule.issuer);
    return issuer === undefined ? 'issuer is not a trusted issuer' : weaknessOf(issuer.preset, rule);
  }
}
