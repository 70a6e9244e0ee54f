import { AppError } from '../errors.ts'

/** A slot in the queue, which a request has from its arrival until its response. */
export interface QueueSlot extends Disposable {
  /**
   * Begins a piece of work if it is the turn of the slot, and returns whether it did. A slot runs one piece of work at a time.
   * @throws RATE_LIMITED if another owner took the slot, or if it was disposed of
   */
  begin(): boolean
  /** Begins a piece of work when the slot gets its turn. @throws as `begin`, and the signal's reason */
  wait(signal?: AbortSignal): Promise<void>
  /** Ends the piece of work that has begun, if there is one. */
  end(): void
  /** Runs the work when the slot gets its turn. @throws as `begin`, the reason of the signal of `enter`, and what `work` throws */
  run<T>(work: () => Promise<T>): Promise<T>
}

interface QueueBounds {
  /** The number of pieces of work that run at once. */
  running: number
  /** The same for one owner. Default: as many as for all. */
  runningOfOwner?: number
  slots: number
  slotsOfOwner: number
  /** The beginnings of the sentences for an owner with too many slots, and for too many slots of all owners. */
  refusals: { owner: string; all: string }
}

const retryAfterMs = 5000

interface Holder {
  /** Settles the wait for a turn; null while not waiting. */
  wait: PromiseWithResolvers<void> | null
  isRunning: boolean
  isLost: boolean
}

interface QueueOwner {
  holders: Set<Holder>
  waiting: Holder[]
  running: number
}

/**
 * Runs a bounded number of pieces of work at once, and lets the owners of the rest take turns, so that one owner delays another by
 * at most one piece. Waiting requests are bounded, too: each request has a slot, and each owner a number of them. When all slots are
 * taken, a new owner takes the latest slot of the owner with the most. `Limiter` has no owners, and with `Slots` nothing waits.
 */
export class FairQueue {
  readonly #bounds: Required<QueueBounds>
  readonly #owners = new Map<string, QueueOwner>()
  /** The owners that wait for a turn. The next one is first. */
  readonly #waiting = new Set<QueueOwner>()
  #slots = 0
  #running = 0

  constructor(bounds: QueueBounds) {
    this.#bounds = { runningOfOwner: bounds.running, ...bounds }
  }

  /** Runs one piece of work when its owner gets a turn. @throws RATE_LIMITED, the signal's reason, and what `work` throws */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    using slot = this.enter(name, signal)
    return await slot.run(work)
  }

  /** Takes a slot for several pieces of work, one after the other. @throws RATE_LIMITED, the signal's reason */
  enter(name: string, signal?: AbortSignal): QueueSlot {
    signal?.throwIfAborted()
    const { slots, slotsOfOwner, refusals } = this.#bounds
    const own = this.#owners.get(name)?.holders.size ?? 0
    if (own >= slotsOfOwner) throw tooMany(refusals.owner)
    if (this.#slots >= slots && !this.#takeFromLargest(own + 1)) throw tooMany(refusals.all)
    const owner = this.#owners.get(name) ?? { holders: new Set(), waiting: [], running: 0 }
    this.#owners.set(name, owner)
    const holder: Holder = { wait: null, isRunning: false, isLost: false }
    owner.holders.add(holder)
    this.#slots += 1
    const begin = () => this.#begin(owner, holder)
    const wait = (waiting?: AbortSignal) => this.#turn(owner, holder, waiting)
    const end = () => this.#end(owner, holder)
    return {
      begin,
      wait,
      end,
      async run(work) {
        signal?.throwIfAborted()
        if (!begin()) await wait(signal)
        try {
          return await work()
        } finally {
          end()
        }
      },
      [Symbol.dispose]: () => {
        holder.isLost = true
        if (holder.wait) this.#leave(owner, holder, tooMany(this.#bounds.refusals.owner))
        end()
        this.#remove(name, owner, holder)
      },
    }
  }

  #begin(owner: QueueOwner, holder: Holder): boolean {
    if (holder.isLost) throw tooMany(this.#bounds.refusals.all)
    if (this.#running >= this.#bounds.running || owner.running >= this.#bounds.runningOfOwner) return false
    this.#start(owner, holder)
    return true
  }

  #start(owner: QueueOwner, holder: Holder): void {
    this.#running += 1
    owner.running += 1
    holder.isRunning = true
  }

  #end(owner: QueueOwner, holder: Holder): void {
    if (!holder.isRunning) return
    holder.isRunning = false
    owner.running -= 1
    this.#running -= 1
    this.#startNext()
  }

  async #turn(owner: QueueOwner, holder: Holder, signal?: AbortSignal): Promise<void> {
    if (holder.isLost) throw tooMany(this.#bounds.refusals.all)
    signal?.throwIfAborted()
    const wait = Promise.withResolvers<void>()
    holder.wait = wait
    owner.waiting.push(holder)
    this.#waiting.add(owner)
    const leave = () => this.#leave(owner, holder, signal?.reason)
    signal?.addEventListener('abort', leave)
    try {
      await wait.promise
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Gives the turn to the next owner that may have one more. */
  #startNext(): void {
    for (const owner of this.#waiting) {
      if (owner.running >= this.#bounds.runningOfOwner) continue
      const holder = owner.waiting.shift()
      // The owner goes to the end of the line.
      this.#waiting.delete(owner)
      if (owner.waiting.length > 0) this.#waiting.add(owner)
      if (!holder?.wait) continue
      this.#start(owner, holder)
      holder.wait.resolve()
      holder.wait = null
      return
    }
  }

  /** Ends the wait of a holder, if it is waiting. */
  #leave(owner: QueueOwner, holder: Holder, reason: unknown): void {
    if (!holder.wait) return
    owner.waiting = owner.waiting.filter(other => other !== holder)
    if (owner.waiting.length === 0) this.#waiting.delete(owner)
    holder.wait.reject(reason)
    holder.wait = null
  }

  /** Takes a slot that is not running from the largest owner, if that has more than `slots`. Returns whether it did. */
  #takeFromLargest(slots: number): boolean {
    const [largest] = [...this.#owners].toSorted(([, a], [, b]) => b.holders.size - a.holders.size)
    if (!largest || largest[1].holders.size <= slots) return false
    const [name, owner] = largest
    const holder = [...owner.holders].findLast(({ isRunning }) => !isRunning)
    if (!holder) return false
    holder.isLost = true
    this.#remove(name, owner, holder)
    this.#leave(owner, holder, tooMany(this.#bounds.refusals.all))
    return true
  }

  #remove(name: string, owner: QueueOwner, holder: Holder): void {
    if (!owner.holders.delete(holder)) return
    this.#slots -= 1
    if (owner.holders.size === 0) this.#owners.delete(name)
  }
}

function tooMany(what: string): AppError {
  return new AppError('RATE_LIMITED', `${what}: try again in a few seconds.`, { retryAfterMs })
}
