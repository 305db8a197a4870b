/** A setting that never prints: it appears in no string, no JSON and no inspection. Only `reveal` returns it. */
export class SecretText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return this.toString();
  }
}
