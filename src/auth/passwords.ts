import { argon2id, hash, verify } from 'argon2'
import { AppError } from '../errors.ts'
import { FairQueue, type QueueSlot } from '../lib/fair-queue.ts'
import { networkOf } from './network.ts'

/** Lengths are in Unicode code points of the normalized password. */
const minLength = 12
const maxLength = 256
/** UTF-16 code units. A longer password is rejected before the expensive normalization. */
const maxUnits = 4096

/** OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, two passes, one lane. */
const options = { type: argon2id, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const

/**
 * Hashing uses whole cores and much memory, so running more at once only slows everything down. All slots together take a
 * few seconds.
 */
const queue = new FairQueue({
  running: 2,
  slots: 100,
  slotsOfOwner: 20,
  refusals: {
    owner: 'Too many people are signing in from this address',
    all: 'Too many people are signing in right now',
  },
})

/**
 * Takes a slot in the queue for hashing. Call this before any other work of a sign-in, so that requests without a slot never
 * reach the database. Dispose of the slot at the end.
 * @param address IP
 * @throws RATE_LIMITED, the signal's reason
 */
export function enterPasswordQueue(address: string, signal?: AbortSignal): QueueSlot {
  return queue.enter(networkOf(address), signal)
}

/** @param shortest characters @throws INVALID_INPUT */
export function checkPassword(password: string, shortest = minLength): void {
  if (!password.isWellFormed() || isTooLong(password) || [...normalize(password)].length < shortest) {
    throw new AppError('INVALID_INPUT', `A password must have ${shortest} to ${maxLength} characters.`)
  }
}

/** @throws RATE_LIMITED, as `QueueSlot.run` */
export function hashPassword(slot: QueueSlot, password: string): Promise<string> {
  return slot.run(() => hash(normalize(password), options))
}

/**
 * Verifies a password. Takes the same time for a null hash (an unknown email) as for a wrong password.
 * @throws RATE_LIMITED, as `QueueSlot.run`
 */
export async function verifyPassword(slot: QueueSlot, stored: string | null, password: string): Promise<boolean> {
  if (isTooLong(password)) return false
  const matches = await slot.run(async () => verify(stored ?? (await decoy()), normalize(password)))
  return stored !== null && matches
}

let decoyHash: Promise<string> | undefined

function decoy(): Promise<string> {
  decoyHash ??= hash('no account has this password', options)
  return decoyHash
}

/** Call this at startup, so that the first unknown email takes no longer than the next. */
export async function preparePasswords(): Promise<void> {
  await decoy()
}

function isTooLong(password: string): boolean {
  return password.length > maxUnits || [...normalize(password)].length > maxLength
}

/** Different systems may send the same password in different normal forms (NIST SP 800-63B, 3.1.1.2). */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
