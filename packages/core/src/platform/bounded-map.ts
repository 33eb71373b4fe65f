/** A map of so many entries and no more: a new one pushes the oldest out. What is set again is the newest. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#most) this.delete(this.keys().next().value as Key);
    return this;
  }
}
