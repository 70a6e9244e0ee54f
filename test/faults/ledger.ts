/** What clients were told of each file, held against what is there afterwards. */
import { createHash } from 'node:crypto'

/** The sha-256 of a file in hex; null: no file. */
export type Content = string | null

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** One writer at a time on each name. */
export class Ledger {
  /** What may be there: what was acknowledged, and what was asked for after that without an answer. */
  readonly #possible = new Map<string, Set<Content>>()
  /** Names that were written to since they were last looked at. */
  readonly #touched = new Set<string>()
  /** Changes that were acknowledged. */
  acknowledged = 0
  /** Changes that got no answer, or one that leaves open what happened. */
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

  /** What is there is what stays; a sentence where it is nothing that may be there. */
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
