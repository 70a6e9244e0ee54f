import { AppError } from '../errors.ts'

/** A slot in the queue, which a request has from its arrival until its response. */
export interface QueueSlot extends Disposable {
  /**
   * Runs the work when the slot gets its turn. A slot runs one piece of work at a time.
   * @throws RATE_LIMITED if another network took the slot, the signal's reason, and what `work` throws
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

export interface QueueBounds {
  /** The number of pieces of work that run at once. */
  running: number
  slots: number
  slotsOfNetwork: number
}

const retryAfterMs = 5000

interface Holder {
  /** Settles the wait for a turn; null while not waiting. */
  wait: PromiseWithResolvers<void> | null
  isRunning: boolean
  isLost: boolean
}

/**
 * Runs work in turns. Each turn goes to the next network, so one network delays another by at most one turn. The number of
 * slots per network is bounded. When all slots are taken, a new network takes the latest slot of the network with the most.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #holders = new Map<string, Set<Holder>>()
  /** The holders that wait for a turn, by network. The next network is first. */
  readonly #waiting = new Map<string, Holder[]>()
  #slots = 0
  #running = 0

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
  }

  /** @throws RATE_LIMITED, the signal's reason */
  enter(network: string, signal?: AbortSignal): QueueSlot {
    signal?.throwIfAborted()
    const own = this.#holders.get(network)?.size ?? 0
    if (own >= this.#bounds.slotsOfNetwork) throw tooMany('Too many people are signing in from this address')
    if (this.#slots >= this.#bounds.slots && !this.#takeFromLargest(own + 1)) throw tooManyInAll()
    const holder: Holder = { wait: null, isRunning: false, isLost: false }
    this.#add(network, holder)
    return {
      run: work => this.#run(network, holder, work, signal),
      [Symbol.dispose]: () => this.#remove(network, holder),
    }
  }

  async #run<T>(network: string, holder: Holder, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (holder.isLost) throw tooManyInAll()
    signal?.throwIfAborted()
    if (this.#running < this.#bounds.running) this.#running += 1
    else await this.#turn(network, holder, signal)
    holder.isRunning = true
    try {
      return await work()
    } finally {
      holder.isRunning = false
      this.#next()
    }
  }

  async #turn(network: string, holder: Holder, signal?: AbortSignal): Promise<void> {
    const wait = Promise.withResolvers<void>()
    holder.wait = wait
    const queue = this.#waiting.get(network) ?? []
    queue.push(holder)
    this.#waiting.set(network, queue)
    const leave = () => this.#leave(network, holder, signal?.reason)
    signal?.addEventListener('abort', leave)
    try {
      await wait.promise
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Gives the turn to the next network. */
  #next(): void {
    for (const [network, queue] of this.#waiting) {
      const holder = queue.shift()
      // The network goes to the end of the line.
      this.#waiting.delete(network)
      if (queue.length > 0) this.#waiting.set(network, queue)
      holder?.wait?.resolve()
      if (holder) holder.wait = null
      return
    }
    this.#running -= 1
  }

  /** Ends the wait of a holder, if it is waiting. */
  #leave(network: string, holder: Holder, reason: unknown): void {
    if (!holder.wait) return
    const others = this.#waiting.get(network)?.filter(other => other !== holder) ?? []
    if (others.length > 0) this.#waiting.set(network, others)
    else this.#waiting.delete(network)
    holder.wait.reject(reason)
    holder.wait = null
  }

  /** Takes a slot that is not running from the largest network, if that has more than `slots`. Returns whether it did. */
  #takeFromLargest(slots: number): boolean {
    const [largest] = [...this.#holders].toSorted(([, a], [, b]) => b.size - a.size)
    if (!largest || largest[1].size <= slots) return false
    const [network, holders] = largest
    const holder = [...holders].findLast(({ isRunning }) => !isRunning)
    if (!holder) return false
    holder.isLost = true
    this.#remove(network, holder)
    this.#leave(network, holder, tooManyInAll())
    return true
  }

  #add(network: string, holder: Holder): void {
    const holders = this.#holders.get(network) ?? new Set()
    this.#holders.set(network, holders.add(holder))
    this.#slots += 1
  }

  #remove(network: string, holder: Holder): void {
    const holders = this.#holders.get(network)
    if (!holders?.delete(holder)) return
    this.#slots -= 1
    if (holders.size === 0) this.#holders.delete(network)
  }
}

function tooManyInAll(): AppError {
  return tooMany('Too many people are signing in right now')
}

function tooMany(what: string): AppError {
  return new AppError('RATE_LIMITED', `${what}: try again in a few seconds.`, { retryAfterMs })
}
