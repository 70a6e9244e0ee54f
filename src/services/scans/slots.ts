/** The scans that run at the same time. A sender who is slow gives way to those who find no free slot. */
import type { SlotOwners } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'

type ScanLevel = keyof SlotOwners | 'all'

/** Scans of this process at once. Each is a connection to clamd. */
const usualLimits = { credential: 80, links: 80, member: 120, all: 200 }
/** Bytes per second below which a sender is slow. */
const leastRate = 16 * 1024
/** Milliseconds that a sender may be late, however much it has sent before. */
const maxCredit = 10_000

export class ScanSlots {
  readonly #slots: Slots<keyof SlotOwners>
  readonly #clock: () => number
  readonly #taken = new Set<ScanSlot>()

  /** @param clock returns milliseconds */
  constructor(limits: Readonly<Record<ScanLevel, number>> = usualLimits, clock = () => performance.now()) {
    this.#slots = new Slots(limits)
    this.#clock = clock
  }

  /**
   * Takes a slot until the result is disposed of. If there is none, ends the slowest sender of those who share the limit.
   * @param giveWay ends the upload; null if nobody sends the bytes now
   * @throws UNAVAILABLE
   */
  take(owners: SlotOwners, giveWay: (() => void) | null): ScanSlot {
    const full: ScanLevel[] = []
    const take = () =>
      this.#slots.take(owners, level => {
        full.push(level)
        return tooMany()
      })
    try {
      return this.#hold(take(), owners, giveWay)
    } catch (error) {
      const [level] = full
      const slowest = level && this.#slowest(level, owners)
      if (!slowest) throw error
      slowest[Symbol.dispose]()
      slowest.giveWay?.()
      return this.#hold(take(), owners, giveWay)
    }
  }

  #hold(slot: Disposable, owners: SlotOwners, giveWay: (() => void) | null): ScanSlot {
    const scan = new ScanSlot({ owners, giveWay, clock: this.#clock }, () => {
      slot[Symbol.dispose]()
      this.#taken.delete(scan)
    })
    this.#taken.add(scan)
    return scan
  }

  #slowest(level: ScanLevel, owners: SlotOwners): ScanSlot | null {
    const late = [...this.#taken]
      .filter(scan => scan.giveWay && (level === 'all' || scan.owners[level] === owners[level]))
      .map(scan => ({ scan, credit: scan.credit() }))
      .filter(({ credit }) => credit <= 0)
    return late.toSorted((a, b) => a.credit - b.credit)[0]?.scan ?? null
  }
}

interface ScanSlotOptions {
  owners: SlotOwners
  giveWay: (() => void) | null
  clock: () => number
}

/** Only the time in which the server waits for bytes counts for their sender, and not that of the scanner or of the back end. */
export class ScanSlot implements Disposable {
  readonly owners: SlotOwners
  readonly giveWay: (() => void) | null
  readonly #clock: () => number
  readonly #free: () => void
  #credit = maxCredit
  /** When the server began to wait for the sender; null while it works on what has arrived. */
  #waitsSince: number | null = null

  constructor({ owners, giveWay, clock }: ScanSlotOptions, free: () => void) {
    this.owners = owners
    this.giveWay = giveWay
    this.#clock = clock
    this.#free = free
  }

  /** Call it when all that has arrived was passed on, and more is to come. */
  awaitBytes(): void {
    this.#waitsSince ??= this.#clock()
  }

  /** Ends the time of waiting. Early bytes allow no later pause that is longer than the first one may be. */
  add(bytes: number): void {
    this.#credit = Math.min(maxCredit, Math.max(0, this.credit()) + (bytes * 1000) / leastRate)
    this.#waitsSince = null
  }

  /** Returns the milliseconds that the server may still wait for the sender: none if the sender is slow. */
  credit(): number {
    return this.#credit - (this.#waitsSince === null ? 0 : this.#clock() - this.#waitsSince)
  }

  [Symbol.dispose](): void {
    this.#free()
  }
}

function tooMany(): AppError {
  return new AppError('UNAVAILABLE', 'Too many files are being scanned: try again in a few seconds.', {
    retryAfterMs: 1000,
  })
}

/** The error of an upload that gives way. */
export function tooSlow(): AppError {
  const message =
    'The file arrived so slowly that others waited for the virus scanner: it was not stored. Try again later.'
  return new AppError('UNAVAILABLE', message, { retryAfterMs: 60_000 })
}
