/** The scans that run at the same time. A sender who is slow gives way to those who find no free slot. */
import type { SlotOwners } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'

type ScanLevel = keyof SlotOwners | 'all'

/** Scans of this process at once. Each is a connection to clamd. */
const usualLimits = { credential: 80, links: 80, member: 120, all: 200 }
/** Bytes per second below which a sender is slow, and milliseconds before anybody judges. */
const [leastRate, firstTime] = [16 * 1024, 10_000]

export class ScanSlots {
  readonly #slots: Slots<keyof SlotOwners>
  readonly #taken = new Set<ScanSlot>()

  constructor(limits: Readonly<Record<ScanLevel, number>> = usualLimits) {
    this.#slots = new Slots(limits)
  }

  /**
   * Takes a slot until the result is disposed of. If there is none, ends the slowest sender of those who share the limit.
   * @param giveWay ends the upload and frees its slot; null if nobody sends the bytes now
   * @throws UNAVAILABLE
   */
  take(owners: SlotOwners, giveWay: (() => void) | null, now = performance.now()): ScanSlot {
    const full: ScanLevel[] = []
    const take = () =>
      this.#slots.take(owners, level => {
        full.push(level)
        return tooMany()
      })
    const taken = (slot: Disposable) => {
      const scan = new ScanSlot({ owners, giveWay, since: now }, () => {
        slot[Symbol.dispose]()
        this.#taken.delete(scan)
      })
      this.#taken.add(scan)
      return scan
    }
    try {
      return taken(take())
    } catch (error) {
      const [level] = full
      const slowest = level && this.#slowest(level, owners, now)
      if (!slowest) throw error
      slowest.giveWay?.()
      return taken(take())
    }
  }

  #slowest(level: ScanLevel, owners: SlotOwners, now: number): ScanSlot | null {
    const slow = [...this.#taken].filter(
      scan => (level === 'all' || scan.owners[level] === owners[level]) && scan.giveWay && scan.isSlow(now),
    )
    return slow.toSorted((a, b) => a.rate(now) - b.rate(now))[0] ?? null
  }
}

export class ScanSlot implements Disposable {
  readonly owners: SlotOwners
  readonly giveWay: (() => void) | null
  readonly #since: number
  readonly #free: () => void
  #bytes = 0
  #isComplete = false

  constructor(
    { owners, giveWay, since }: { owners: SlotOwners; giveWay: (() => void) | null; since: number },
    free: () => void,
  ) {
    this.owners = owners
    this.giveWay = giveWay
    this.#since = since
    this.#free = free
  }

  /** Counts bytes that have arrived. */
  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Call it after the last byte. From then on the scanner takes the time, and not the sender. */
  complete(): void {
    this.#isComplete = true
  }

  /** Returns bytes per second. */
  rate(now: number): number {
    return (this.#bytes * 1000) / (now - this.#since)
  }

  isSlow(now: number): boolean {
    return !this.#isComplete && now - this.#since >= firstTime && this.rate(now) < leastRate
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
