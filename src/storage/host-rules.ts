/** The work that the host does around the calls of adapters that ask for it with their traits. */
import { finished, Readable } from 'node:stream'
import { orAborted, StorageError, type StorageProvider } from '../../adapters/contract.ts'
import { withNameRules } from '../../adapters/name-rules.ts'
import { withMethods } from '../../adapters/with-methods.ts'
import { startDeadline } from '../lib/timeout.ts'

/** Admits a bounded number of transfers at once, in the order of their arrival. */
class Lane {
  #free: number
  readonly #waiting = new Set<() => void>()
  readonly #timeout: number
  readonly #busy: () => Error

  /**
   * @param timeout milliseconds for which a transfer waits
   * @param busy makes the error after that time
   */
  constructor(max: number, timeout: number, busy: () => Error) {
    this.#free = max
    this.#timeout = timeout
    this.#busy = busy
  }

  /** Resolves, once there is room, with the function that makes room again. @throws the error of `busy`; the signal's reason */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(signal)
    let isIn = true
    return () => {
      if (isIn) this.#leave()
      isIn = false
    }
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(signal)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    using deadline = startDeadline(this.#timeout, this.#busy, signal)
    try {
      await orAborted(promise, deadline.signal)
    } catch (error) {
      // The turn may have come together with the abort.
      if (!this.#waiting.delete(resolve)) this.#leave()
      throw error
    }
  }

  #leave(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#free += 1
  }
}

/** Milliseconds for which a transfer waits for others to end. */
export const usualLaneTimeout = 30_000
/** Milliseconds. */
const retryAfterMs = 5_000

/**
 * @param warn writes a line to the log
 * @param laneTimeout milliseconds
 */
export function withHostRules(
  provider: StorageProvider,
  warn: (message: string) => void,
  laneTimeout = usualLaneTimeout,
): StorageProvider {
  const { maxReads, maxWrites } = provider.traits
  const changes: Partial<StorageProvider> = {
    ...(maxReads !== undefined && readsInTurn(provider, laneOf(maxReads, 'downloads', laneTimeout))),
    ...(maxWrites !== undefined && writesInTurn(provider, laneOf(maxWrites, 'uploads', laneTimeout))),
  }
  const inTurn = Object.keys(changes).length === 0 ? provider : withMethods(provider, changes)
  return withNameRules(inTurn, warn)
}

function laneOf(max: number, what: string, timeout: number): Lane {
  const message = `This storage allows ${max} ${what} at once, and none has ended for ${timeout / 1000} seconds: try again later.`
  return new Lane(max, timeout, () => new StorageError('UNAVAILABLE', message, { retryAfterMs }))
}

function readsInTurn(provider: StorageProvider, lane: Lane): Partial<StorageProvider> {
  return {
    async read(path, options) {
      const leave = await lane.enter(options.signal)
      try {
        const result = await provider.read(path, options)
        if (result?.body instanceof Readable) finished(result.body, { writable: false }, leave)
        else leave()
        return result
      } catch (error) {
        leave()
        throw error
      }
    },
  }
}

function writesInTurn(provider: StorageProvider, lane: Lane): Partial<StorageProvider> {
  const send = <T>(body: Readable, signal: AbortSignal, work: () => Promise<T>) =>
    lane.run(signal, work).catch(error => {
      body.destroy()
      throw error
    })
  const { copy, copySmall, resumable } = provider
  const parts = resumable?.parts
  return {
    write: (path, body, options) => send(body, options.signal, () => provider.write(path, body, options)),
    ...(copy && {
      copy: (from, to, options) => lane.run(options.signal, () => copy.call(provider, from, to, options)),
    }),
    ...(copySmall && {
      copySmall: (from, to, names, options) =>
        lane.run(options.signal, () => copySmall.call(provider, from, to, names, options)),
    }),
    ...(resumable && {
      resumable: withMethods(resumable, {
        append: (state, body, options) => send(body, options.signal, () => resumable.append(state, body, options)),
        complete: (state, body, options) => send(body, options.signal, () => resumable.complete(state, body, options)),
        ...(parts && {
          parts: withMethods(parts, {
            put: (state, body, options) => send(body, options.signal, () => parts.put(state, body, options)),
          }),
        }),
      }),
    }),
  }
}
