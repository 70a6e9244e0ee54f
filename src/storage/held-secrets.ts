/** Redacts secrets from the log until the result is disposed of. */
export interface Redactor {
  hold(...secrets: readonly unknown[]): Disposable
}

/** The secrets in use, by their owner: new ones replace old ones. */
export class HeldSecrets {
  readonly #redaction: Redactor
  readonly #held = new Map<string, Disposable>()

  constructor(redaction: Redactor) {
    this.#redaction = redaction
  }

  put(owner: string, ...secrets: readonly unknown[]): void {
    const held = this.#redaction.hold(...secrets)
    this.release(owner)
    this.#held.set(owner, held)
  }

  release(owner: string): void {
    this.#held.get(owner)?.[Symbol.dispose]()
    this.#held.delete(owner)
  }
}
