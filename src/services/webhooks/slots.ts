/** The requests of one server: receivers that fail or do not respond never use up those of the others. */
import type { Allowance } from '../../db/webhooks/due.ts'

/** Requests of one server at once. */
export const maxAtOnce = 16
/** The maximum of one webhook. It has one until its receiver has accepted a message, and after a failure. */
export const maxOfWebhook = 4
/** The maximum of all webhooks together whose latest attempt failed. */
export const maxOfFailing = 8
/** Milliseconds from a failure to the next attempt of the same webhook. */
export const pause = 1000
/** Webhooks that are remembered. A webhook that is forgotten counts as a new one. */
const maxKnown = 1000

/** What a claim may take. */
export interface Wanted {
  limit: number
  /** What each of these webhooks may get. The first ones are preferred. */
  allowances: readonly Allowance[]
  /** The maximum of each other webhook, which comes before them. */
  others: number
}

export class WebhookSlots {
  readonly #running = new Map<string, number>()
  /**
   * When the latest attempt failed, in milliseconds of `performance.now()`; null after a success. The webhook that was attempted
   * least recently is first.
   */
  readonly #latest = new Map<string, number | null>()

  begin(webhookId: string): void {
    this.#running.set(webhookId, this.#runningOf(webhookId) + 1)
  }

  /** @param isAccepted null if the attempt says nothing about the receiver */
  end(webhookId: string, isAccepted: boolean | null, now = performance.now()): void {
    const running = this.#runningOf(webhookId) - 1
    if (running > 0) this.#running.set(webhookId, running)
    else this.#running.delete(webhookId)
    if (isAccepted === null) return
    this.#latest.delete(webhookId)
    this.#latest.set(webhookId, isAccepted ? null : now)
    const [oldest] = this.#latest.keys()
    if (this.#latest.size > maxKnown && oldest !== undefined) this.#latest.delete(oldest)
  }

  /** Returns what new webhooks, and those whose latest attempt succeeded, may get now. */
  healthy(): Wanted {
    const ids = new Set([...this.#latest.keys(), ...this.#running.keys()])
    const allowances = [...ids].map(webhookId => {
      const limit = this.#latest.get(webhookId) === null ? maxOfWebhook - this.#runningOf(webhookId) : 0
      return { webhookId, limit }
    })
    return { limit: this.#free(), allowances, others: 1 }
  }

  /** Returns what webhooks whose latest attempt failed may get now. */
  failing(now = performance.now()): Wanted {
    let running = 0
    const allowances: Allowance[] = []
    for (const [webhookId, failedAt] of this.#latest) {
      if (failedAt === null) continue
      running += this.#runningOf(webhookId)
      if (!this.#running.has(webhookId) && now - failedAt >= pause) allowances.push({ webhookId, limit: 1 })
    }
    return { limit: Math.min(this.#free(), maxOfFailing - running), allowances, others: 0 }
  }

  #runningOf(webhookId: string): number {
    return this.#running.get(webhookId) ?? 0
  }

  #free(): number {
    return [...this.#running.values()].reduce((free, count) => free - count, maxAtOnce)
  }
}
