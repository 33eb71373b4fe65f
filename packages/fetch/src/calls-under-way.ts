/** How many calls are under way in all, and who waits for the last of them. */
export class CallsUnderWay {
  #count = 0;
  #whenNone: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#whenNone?.();
  }

  /** Resolves once there are none. */
  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#whenNone = resolve));
  }
}
