import { argon2id, hash, verify } from 'argon2'
import { AppError } from '../errors.ts'

/** Characters are Unicode code points of the normalised password. */
const minLength = 12
const maxLength = 256
/** UTF-16 code units before normalisation: more need not be looked at. */
const maxUnits = 4096

/** OWASP Password Storage Cheat Sheet: argon2id with 19 MiB, two passes, one lane. */
const options = { type: argon2id, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const

/** Hashing fills cores and memory: more at once only makes all of them, and everybody's file I/O, wait. */
const maxAtOnce = 2
/** Of those who wait for their turn: a few seconds' worth. */
const maxWaiting = 50
let running = 0
const waiting: (() => void)[] = []

/** @throws INVALID_INPUT */
export function checkPassword(password: string): void {
  if (!password.isWellFormed() || isTooLong(password) || [...normalize(password)].length < minLength) {
    throw new AppError('INVALID_INPUT', `A password has ${minLength} to ${maxLength} characters.`)
  }
}

export function hashPassword(password: string): Promise<string> {
  return limited(() => hash(normalize(password), options))
}

/** Takes as long where `stored` is null (an unknown email) as where it is another password's. */
export async function verifyPassword(stored: string | null, password: string): Promise<boolean> {
  if (isTooLong(password)) return false
  const matches = await limited(async () => verify(stored ?? (await decoy()), normalize(password)))
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

async function limited<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= maxWaiting) {
    throw new AppError('RATE_LIMITED', 'Too many people are signing in right now: try again in a few seconds.', {
      retryAfterMs: 5000,
    })
  }
  if (running >= maxAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
  else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}
