import type { AppError } from '../errors.ts'
import { Counts } from './counts.ts'

/**
 * Bounds what runs at the same time in this process, and refuses the rest at once: a number of slots for each owner, and a number
 * for all owners together. A slot can have several owners of different levels, such as an API key and its member, and counts for
 * each of them. `Limiter` and `FairQueue` let the rest wait instead.
 */
export class Slots<Level extends string> {
  readonly #limits: Readonly<Record<Level | 'all', number>>
  /** The taken slots of each owner. */
  readonly #taken = new Counts<string>()

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
    return this.#hold([...keys.values()])
  }

  /** Takes a slot as `take` does. Returns null if there is none. */
  tryTake(owners: Readonly<Partial<Record<Level, string>>>): Disposable | null {
    const keys = this.#keysOf(owners)
    return this.#full(keys) ? null : this.#hold([...keys.values()])
  }

  #keysOf(owners: Readonly<Partial<Record<Level, string>>>): Map<Level | 'all', string> {
    const entries = Object.entries({ ...owners, all: '' }) as [Level | 'all', string | undefined][]
    return new Map(entries.flatMap(([level, owner]) => (owner === undefined ? [] : [[level, `${level} ${owner}`]])))
  }

  #full(keys: ReadonlyMap<Level | 'all', string>): Level | 'all' | null {
    for (const [level, key] of keys) if (this.#taken.get(key) >= this.#limits[level]) return level
    return null
  }

  #hold(keys: readonly string[]): Disposable {
    const held = keys.map(key => this.#taken.hold(key))
    return {
      [Symbol.dispose]: () => {
        for (const each of held) each[Symbol.dispose]()
      },
    }
  }
}
