import type { AppError } from '../errors.ts'

/**
 * Bounds what runs at the same time in this process: a number of slots for each owner, and a number for all owners together. A slot
 * can have several owners of different levels, such as an API key and its member, and counts for each of them.
 */
export class Slots<Level extends string> {
  readonly #limits: Readonly<Record<Level | 'all', number>>
  /** The taken slots of each owner that has any. */
  readonly #taken = new Map<string, number>()

  /** @param limits slots of each owner of a level, and of all owners together */
  constructor(limits: Readonly<Record<Level | 'all', number>>) {
    this.#limits = limits
  }

  /**
   * Takes a slot until the result is disposed of, once or several times.
   * @param refusal returns the error for an owner that has all slots of its level, or for `all`
   * @throws what `refusal` returns
   */
  take(
    owners: Readonly<Partial<Record<Level, string>>>,
    refusal: (level: Level | 'all', limit: number) => AppError,
  ): Disposable {
    const keys = this.#keysOf(owners)
    const full = this.#full(keys)
    if (full) throw refusal(full, this.#limits[full])
    return this.#add([...keys.values()])
  }

  /** Takes a slot as `take` does. Returns null if there is none. */
  tryTake(owners: Readonly<Partial<Record<Level, string>>>): Disposable | null {
    const keys = this.#keysOf(owners)
    return this.#full(keys) ? null : this.#add([...keys.values()])
  }

  #keysOf(owners: Readonly<Partial<Record<Level, string>>>): Map<Level | 'all', string> {
    const entries = Object.entries({ ...owners, all: '' }) as [Level | 'all', string | undefined][]
    return new Map(entries.flatMap(([level, owner]) => (owner === undefined ? [] : [[level, `${level} ${owner}`]])))
  }

  #full(keys: ReadonlyMap<Level | 'all', string>): Level | 'all' | null {
    for (const [level, key] of keys) if ((this.#taken.get(key) ?? 0) >= this.#limits[level]) return level
    return null
  }

  #add(keys: string[]): Disposable {
    for (const key of keys) this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1)
    return {
      [Symbol.dispose]: () => {
        for (const key of keys.splice(0)) {
          const others = (this.#taken.get(key) ?? 1) - 1
          if (others === 0) this.#taken.delete(key)
          else this.#taken.set(key, others)
        }
      },
    }
  }
}
