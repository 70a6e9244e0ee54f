import { argon2id, hash, verify } from 'argon2'
import { AppError } from '../errors.ts'
import { FairQueue, type QueueSlot } from './fair-queue.ts'
import { networkOf } from './network.ts'

/** Characters are Unicode code points of the normalised password. */
const minLength = 12
const maxLength = 256
/** UTF-16 code units before normalisation: more need not be looked at. */
const maxUnits = 4096

/** OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, two passes, one lane. */
const options = { type: argon2id, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const

/**
 * Hashing fills cores and memory: more at once only makes all of them, and everybody's file I/O, wait. All places together
 * are a few seconds' worth.
 */
const queue = new FairQueue({ running: 2, slots: 100, slotsOfNetwork: 20 })

/**
 * A place in the queue for hashing. Take it before any other work of a sign-in, so that a network that has no place costs
 * the database nothing; dispose of it at the end.
 * @param address IP
 * @throws RATE_LIMITED, the signal's reason
 */
export function enterPasswordQueue(address: string, signal?: AbortSignal): QueueSlot {
  return queue.enter(networkOf(address), signal)
}

/** @throws INVALID_INPUT */
export function checkPassword(password: string): void {
  if (!password.isWellFormed() || isTooLong(password) || [...normalize(password)].length < minLength) {
    throw new AppError('INVALID_INPUT', `A password has ${minLength} to ${maxLength} characters.`)
  }
}

/** @throws RATE_LIMITED, as `QueueSlot.run` */
export function hashPassword(slot: QueueSlot, password: string): Promise<string> {
  return slot.run(() => hash(normalize(password), options))
}

/**
 * Takes as long where `stored` is null (an unknown email) as where it is another password's.
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

/** To be called at start, so that the first unknown email takes no longer than the next. */
export async function preparePasswords(): Promise<void> {
  await decoy()
}

function isTooLong(password: string): boolean {
  return password.length > maxUnits || [...normalize(password)].length > maxLength
}

/** One password typed on two systems can arrive in two normal forms: NIST SP 800-63B, 3.1.1.2. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}
