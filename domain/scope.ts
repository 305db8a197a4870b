import { failure, type Result, success } from './result.ts';

// RFC 6749 section 3.3: scope = scope-token *( SP scope-token ); scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
const SCOPE_GRAMMAR = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/;

/** A set of scope tokens (RFC 6749 section 3.3): never empty, case-sensitive, without order. */
export class Scope {
  readonly #tokens: ReadonlySet<string>;

  private constructor(tokens: ReadonlySet<string>) {
    this.#tokens = tokens;
  }

  /** Parses the RFC's space-delimited list. What does not match its grammar, such as an empty text, is `malformed`. */
  static parse(text: string): Result<Scope, 'malformed'> {
    return SCOPE_GRAMMAR.test(text) ? success(new Scope(new Set(text.split(' ')))) : failure('malformed');
  }

  /** The first token that the other one does not have. */
  firstBeyond(other: Scope): string | undefined {
    return this.toArray().find((token) => !other.#tokens.has(token));
  }

  /** The tokens, in the order of their first appearance in the text. */
  toArray(): readonly string[] {
    return [...this.#tokens];
  }

  /** The space-delimited form of RFC 6749 section 3.3. */
  toString(): string {
    return this.toArray().join(' ');
  }
}
