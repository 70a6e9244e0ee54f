/**
 * The `state` of an OAuth consent (RFC 6749, section 10.12): a ticket for the person who begins the consent, and a MAC of it
 * under a key that only their browser has. A state is valid only with that key, so neither the vendor's URL nor the
 * callback works in another browser.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits, base64url. */
const tokenPattern = /^[\w-]{43}$/

export const createTicket = randomToken
export const createBrowserKey = randomToken

export function isBrowserKey(text: string): boolean {
  return tokenPattern.test(text)
}

export function bindState(ticket: string, browserKey: string): string {
  return `${ticket}.${macOf(ticket, browserKey)}`
}

export function ticketOf(state: string): string {
  return state.split('.', 1)[0] ?? ''
}

/** @param browserKey null if the browser has none */
export function isBoundState(state: string, browserKey: string | null): boolean {
  if (browserKey === null) return false
  const expected = Buffer.from(bindState(ticketOf(state), browserKey))
  const actual = Buffer.from(state)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

function macOf(ticket: string, browserKey: string): string {
  return createHmac('sha256', browserKey).update(ticket).digest('base64url')
}

function randomToken(): string {
  return randomBytes(32).toString('base64url')
}
