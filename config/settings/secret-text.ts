/** A setting that nobody may see printed: it is in no string, no JSON and no inspection, and leaves by `reveal` alone. */
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
