import type { AppError } from '../errors.ts'

/**
 * Bounds what runs at the same time in this process: a number of slots for each owner, and a number for all owners together. A slot
 * can have several owners of different levels, such as an API key and its member, and counts for each of them.
 */
export class Slots<Level extends string> {
  readonly #limits: Readonly<Record<Level | 'all', number>>
  readonly #refusal: (level: Level | 'all', limit: number) => AppError
  /** The taken slots of each owner that has any. */
  readonly #taken = new Map<string, number>()

  /**
   * @param limits slots of each owner of a level, and of all owners together
   * @param refusal returns the error for an owner that has all slots of its level, or for `all`
   */
  constructor(
    limits: Readonly<Record<Level | 'all', number>>,
    refusal: (level: Level | 'all', limit: number) => AppError,
  ) {
    this.#limits = limits
    this.#refusal = refusal
  }

  /** Takes a slot until the result is disposed of, once or several times. @throws what `refusal` returns */
  take(owners: Readonly<Partial<Record<Level, string>>>): Disposable {
    const counted = { ...owners, all: '' } as Partial<Record<Level | 'all', string>>
    const keys: string[] = []
    for (const [level, owner] of Object.entries(counted) as [Level | 'all', string | undefined][]) {
      if (owner === undefined) continue
      const key = `${level} ${owner}`
      if (this.#takenOf(key) >= this.#limits[level]) throw this.#refusal(level, this.#limits[level])
      keys.push(key)
    }
    for (const key of keys) this.#taken.set(key, this.#takenOf(key) + 1)
    return {
      [Symbol.dispose]: () => {
        for (const key of keys.splice(0)) {
          const others = this.#takenOf(key) - 1
          if (others === 0) this.#taken.delete(key)
          else this.#taken.set(key, others)
        }
      },
    }
  }

  #takenOf(key: string): number {
    return this.#taken.get(key) ?? 0
  }
}
