/** A map that makes the value of a key when it is first asked for. */
export class LazyMap<Key, Value> {
  readonly #values = new Map<Key, Value>();
  readonly #make: (key: Key) => Value;

  constructor(make: (key: Key) => Value) {
    this.#make = make;
  }

  get(key: Key): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key);
    this.#values.set(key, made);
    return made;
  }
}
