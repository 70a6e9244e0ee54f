/** Records what the server acknowledged for each file and compares it with the stored files. */
import { createHash } from 'node:crypto'

/** The SHA-256 of a file in hex, or null for no file. */
export type Content = string | null

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Each name has one writer at a time. */
export class Ledger {
  /** The possible contents of each name: the last acknowledged one and all later attempts without a response. */
  readonly #possible = new Map<string, Set<Content>>()
  /** Names that were changed since their last check. */
  readonly #touched = new Set<string>()
  /** The number of acknowledged changes. */
  acknowledged = 0
  /** The number of changes whose outcome is unknown. */
  open = 0

  get names(): string[] {
    return [...this.#possible.keys()]
  }

  attempt(name: string, content: Content): void {
    const possible = this.#possible.get(name) ?? new Set<Content>([null])
    possible.add(content)
    this.#possible.set(name, possible)
    this.#touched.add(name)
    this.open += 1
  }

  acknowledge(name: string, content: Content): void {
    this.#touched.add(name)
    this.#possible.set(name, new Set([content]))
    this.acknowledged += 1
    this.open -= 1
  }

  wasTouched(name: string): boolean {
    return this.#touched.has(name)
  }

  mayBe(name: string, content: Content): boolean {
    return this.#possible.get(name)?.has(content) ?? content === null
  }

  /** Records the content that was found. Returns an error sentence if it is not a possible one. */
  settle(name: string, found: Content): string | null {
    if (!this.mayBe(name, found)) {
      const names = [...(this.#possible.get(name) ?? [])]
        .map(content => content?.slice(0, 12) ?? 'nothing')
        .join(' or ')
      return `${name} holds ${found?.slice(0, 12) ?? 'nothing'} instead of ${names}`
    }
    this.#possible.set(name, new Set([found]))
    this.#touched.delete(name)
    return null
  }
}
