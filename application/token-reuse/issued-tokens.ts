import { TOKEN_LENGTH_MAX } from '../../domain/access-token-claims.ts';
import type { ClaimValue } from '../../domain/client-claims.ts';
import type { ClientRegistration } from '../../domain/client-registration.ts';
import type { RegisteredResource } from '../../domain/resource-indicator.ts';
import { Scope } from '../../domain/scope.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';
import type { Grant, IssuedToken, TokenReuse } from '../issue-token.ts';
import type { KeyProvider } from '../ports/key-provider.ts';

/** About 1.5 KB each by default: 15 MB. */
export const ISSUED_TOKENS_MAX = 10_000;

interface Entry {
  readonly registration: ClientRegistration;
  /** The key that signed the token. */
  readonly kid: string;
  readonly issued: IssuedToken;
}

interface IssuedTokensParts {
  readonly keys: Pick<KeyProvider, 'signingKey'>;
  /** For how long a token is issued again. */
  readonly seconds: number;
  readonly max?: number;
}

/**
 * The tokens of the last seconds, in this process. One is issued again only while the registration is as it was, and its key is the one that
 * signs: a change of the client, a rotation and a revocation end it at the next request.
 */
export class IssuedTokens implements TokenReuse {
  readonly max: number;
  readonly #parts: IssuedTokensParts;
  /** The oldest token first, which is evicted first. */
  readonly #entries = new Map<string, Entry>();

  constructor(parts: IssuedTokensParts) {
    this.#parts = parts;
    this.max = parts.max ?? ISSUED_TOKENS_MAX;
  }

  get size(): number {
    return this.#entries.size;
  }

  async issue(grant: Grant, now: number, sign: () => Promise<IssuedToken>): Promise<IssuedToken> {
    const { keys, seconds } = this.#parts;
    const { registration, ...request } = grant;
    const scopes = request.scope.split(' ').toSorted();
    const key = JSON.stringify([registration.clientId, { ...request, scope: scopes }]);
    const { kid } = await keys.signingKey();
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.kid === kid && isSame(entry.registration, registration)) {
      const { claims } = entry.issued;
      // A clock that was set back must not make a token live longer.
      if (claims.iat <= now && now < claims.iat + Math.min(seconds, (claims.exp - claims.iat) / 2)) {
        return { ...entry.issued, expiresInSeconds: claims.exp - now, isReused: true };
      }
    }
    const issued = await sign();
    // The key of the token is known for certain only if it did not change meanwhile.
    if ((await keys.signingKey()).kid === kid && issued.accessToken.length <= TOKEN_LENGTH_MAX) {
      // Copied: a scope is a part of the body of its request, and would keep all of it in memory, with the secret.
      this.#keep(key, { registration, kid, issued: JSON.parse(JSON.stringify(issued)) }, now);
    }
    return issued;
  }

  #keep(key: string, entry: Entry, now: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const [oldest, { issued }] of this.#entries) {
      if (this.#entries.size <= this.max && now < issued.claims.iat + this.#parts.seconds) break;
      this.#entries.delete(oldest);
    }
  }
}

/** Whether every field of the registration is as it was. */
function isSame(one: ClientRegistration, other: ClientRegistration): boolean {
  const fields = Object.keys(one) as (keyof ClientRegistration)[];
  return one === other || fields.every((field) => textOf(one[field]) === textOf(other[field]));
}

/** The type leaves out other classes, whose content is not in their JSON. */
function textOf(value: StoredSecret | Scope | readonly RegisteredResource[] | ClaimValue): string {
  if (value instanceof StoredSecret) return value.reveal();
  return value instanceof Scope ? value.toString() : JSON.stringify(value);
}
