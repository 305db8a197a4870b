// Version, cost, and 22 characters of salt with 31 of hash in BCrypt's own base 64. `$2x$` marks hashes of a broken
// encoder and never matches. Spring Security puts a prefix in front.
const BCRYPT_ENCODING = /^(?:\{bcrypt\})?(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/;
const PLAIN_PREFIX = '{noop}';

/** The accepted BCrypt costs. With a higher one, a single check blocks a thread for seconds to minutes. */
export const BCRYPT_COST_MIN = 4;
export const BCRYPT_COST_MAX = 14;

/** The BCrypt cost of a secret that a person may have chosen, by default. */
export const CHOSEN_SECRET_COST = 10;

/** BCrypt reads only the first 72 bytes and ignores the rest. */
export const SECRET_MAX_BYTES = 72;

/** The fewest characters of a secret that a person chose, unless they allow less. A generated one has 43. */
export const SECRET_MIN_CHARACTERS = 16;

type StoredSecretKind = 'bcrypt' | 'plain' | 'unusable';

/**
 * A client secret as it is stored: a BCrypt encoding, also behind `{bcrypt}`, or `{noop}` and the plain secret (in
 * memory only, for demonstrations), or something that no secret can ever match, such as a locked hash.
 *
 * Only `reveal` returns the text: it is not in JSON, inspections or template strings.
 */
export class StoredSecret {
  readonly kind: StoredSecretKind;
  /** The BCrypt cost (log2 of the rounds), 0 if the kind is not `bcrypt`. */
  readonly cost: number;
  readonly #text: string;

  private constructor(kind: StoredSecretKind, cost: number, text: string) {
    this.kind = kind;
    this.cost = cost;
    this.#text = text;
  }

  /** Parses the stored text. Never fails: refusing an unusable secret must cost as much as refusing a wrong one. */
  static parse(encoded: string): StoredSecret {
    if (encoded.startsWith(PLAIN_PREFIX)) {
      const plain = encoded.slice(PLAIN_PREFIX.length);
      return isPresentableSecret(plain)
        ? new StoredSecret('plain', 0, plain)
        : new StoredSecret('unusable', 0, encoded);
    }
    const [, encoding = '', digits] = BCRYPT_ENCODING.exec(encoded) ?? [];
    const cost = Number(digits);
    return cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX
      ? new StoredSecret('bcrypt', cost, encoding)
      : new StoredSecret('unusable', 0, encoded);
  }

  /** The BCrypt encoding, or the plain secret, without its prefix. For the comparison and nothing else. */
  reveal(): string {
    return this.#text;
  }
}

/** Whether a secret can be compared in full: 1 to 72 bytes of UTF-8, and no NUL, at which BCrypt stops. */
export function isPresentableSecret(secret: string): boolean {
  return secret !== '' && !secret.includes('\0') && new TextEncoder().encode(secret).length <= SECRET_MAX_BYTES;
}

const SECRET_ID = /^[\w~-]{1,32}$/;
const ID_OF_SECRET = /^([\w~-]{1,32})\../;

/**
 * Whether a text can be the public id of a secret. Its characters need no escaping in Basic credentials, which some
 * clients send unencoded.
 */
export function isSecretId(text: string): boolean {
  return SECRET_ID.test(text);
}

/**
 * The public id in front of a presented secret (`<id>.<the rest>`), which selects the stored secret to compare with. A
 * secret that only looks as if it had an id is compared with the client's secret without one.
 */
export function secretIdOf(presented: string): string | undefined {
  return ID_OF_SECRET.exec(presented)?.[1];
}

/** The stored secret of a client that has none, as in `/etc/shadow`: it authenticates in another way. */
export const NO_SECRET = '*';

/** Marks a locked secret, as in `/etc/shadow`: no presented secret matches it, and what stands behind it is kept. */
const LOCK = '!';
const LOCKED = /^!+(?=(?:\{bcrypt\})?\$2|\*$)/;

/** Whether a stored secret is locked, which disables its client, however it authenticates. */
export function isLocked(stored: string): boolean {
  return stored.startsWith(LOCK);
}

/** The stored secret with a lock in front. A locked secret stays as it is. */
export function lock(stored: string): string {
  return isLocked(stored) ? stored : LOCK + stored;
}

/** The stored secret without its lock. A lock with nothing behind it stays: nothing would match anyway. */
export function unlock(stored: string): string {
  return stored.replace(LOCKED, '');
}

/** The replacement for a stored secret: a locked client stays locked when its secret changes. */
export function replaceSecret(stored: string, replacement: string): string {
  return isLocked(stored) ? lock(replacement) : replacement;
}
