/** When a request is sent again: one schedule for all adapters. */
import { setTimeout as delay } from 'node:timers/promises'

/** Delays are in milliseconds. */
export interface Backoff {
  /** The delay before the first retry, doubled for each further one. */
  first: number
  /** The maximum delay before a retry. */
  longest: number
  attempts: number
}

/** Returns the milliseconds before the retry of this number: 0 for the first one. */
export function delayBefore(retry: number, { first, longest }: Pick<Backoff, 'first' | 'longest'>): number {
  return Math.min(longest, first * 2 ** retry)
}

/** @throws the reason of the signal */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => {
    throw signal?.reason
  })
}

/** Parses Retry-After, seconds or a date (RFC 9110, section 10.2.3), to milliseconds. */
export function parseRetryAfter(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
