import { recall, remember } from './local-storage.ts'
import { Notifier, useNotified } from './notifier.ts'

/** The items that a person used last in this browser: at most `max` items, the last one first. */
export class RecentList<Item> {
  readonly #key: string
  readonly #max: number
  readonly #isSame: (a: Item, b: Item) => boolean
  readonly #changes = new Notifier()

  constructor(key: string, max: number, isSame: (a: Item, b: Item) => boolean) {
    this.#key = key
    this.#max = max
    this.#isSame = isSame
  }

  add(userId: string, item: Item): void {
    this.#store(userId, [item, ...this.#without(userId, item)].slice(0, this.#max))
  }

  remove(userId: string, item: Item): void {
    this.#store(userId, this.#without(userId, item))
  }

  /** Call this when a person signs out, because others may use the browser. */
  forget(): void {
    localStorage.removeItem(this.#key)
    this.#changes.notify()
  }

  /** A hook that returns the items of a person. */
  useItems(userId: string): readonly Item[] {
    return useNotified(this.#changes, () => this.#itemsOf(userId))
  }

  #without(userId: string, item: Item): Item[] {
    return this.#itemsOf(userId).filter(each => !this.#isSame(each, item))
  }

  #store(userId: string, items: readonly Item[]): void {
    remember(this.#key, JSON.stringify({ userId, items }))
    this.#changes.notify()
  }

  #itemsOf(userId: string): readonly Item[] {
    try {
      const stored: { userId: string; items: readonly Item[] } | null = JSON.parse(recall(this.#key) ?? 'null')
      return stored?.userId === userId && Array.isArray(stored.items) ? stored.items : []
    } catch {
      return []
    }
  }
}
