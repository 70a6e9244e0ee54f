/** Redacts secrets from the log until the result is disposed of. */
export interface Redactor {
  hold(...secrets: readonly unknown[]): Disposable
}

/** The secrets in use, by owner. New secrets of an owner replace the old ones. */
export class RedactedSecrets {
  readonly #redaction: Redactor
  readonly #redactions = new Map<string, Disposable>()

  constructor(redaction: Redactor) {
    this.#redaction = redaction
  }

  put(owner: string, ...secrets: readonly unknown[]): void {
    const redaction = this.#redaction.hold(...secrets)
    this.release(owner)
    this.#redactions.set(owner, redaction)
  }

  release(owner: string): void {
    this.#redactions.get(owner)?.[Symbol.dispose]()
    this.#redactions.delete(owner)
  }
}
