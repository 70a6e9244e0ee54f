/** Resolves name conflicts. */
import { hash, randomUUID } from 'node:crypto'
import { childOf, nameOf, parentOf, type StoragePath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'

export const conflictBehaviors = ['FAIL', 'REPLACE', 'RENAME'] as const
export type ConflictBehavior = (typeof conflictBehaviors)[number]

/** The numbers that RENAME tries: "name (1).txt" to "name (20).txt". Each costs a request to the back end. */
const maxNumber = 20
/** The random names that RENAME tries after that. Only a concurrent request could have taken one. */
const randomNames = 5
/** As long as the longest text that is added to a name. */
export const longestSuffix = ' (zzzz)'

interface Naming {
  /** The number of names with a number. */
  numbers?: number
  /** The random names follow from this text, so that work which is repeated finds the name that it has given before. */
  seed?: string
}

/**
 * Yields the path, then variants of its name with a number, such as "name (1).txt", and then with random characters, such as
 * "name (k3f9).txt".
 */
export function* candidates(
  path: StoragePath,
  kind: CheckedEntry['kind'],
  { numbers = maxNumber, seed = randomUUID() }: Naming = {},
): Generator<StoragePath> {
  yield path
  const name = nameOf(path)
  const dot = kind === 'file' ? name.lastIndexOf('.') : -1
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const variant = (suffix: string) => childOf(parentOf(path), `${stem} (${suffix})${ending}`)
  for (let number = 1; number <= numbers; number++) yield variant(String(number))
  for (let tried = 0; tried < randomNames; tried++) yield variant(characters(`${seed}/${tried}`))
}

/** Returns four digits and lowercase letters. */
function characters(seed: string): string {
  const number = hash('sha256', seed, 'buffer').readUIntBE(0, 6) % 36 ** 4
  return number.toString(36).padStart(4, '0')
}

/** Returned by an attempt whose name is taken. An error would be ambiguous: it could concern an entry further down. */
export const taken = Symbol('taken')
export type Taken = typeof taken

/** Runs the call that creates the entry itself, and returns `taken` if the name exists. */
export async function unlessTaken<T>(make: () => Promise<T>): Promise<T | Taken> {
  try {
    return await make()
  } catch (error) {
    if (isTaken(error)) return taken
    throw error
  }
}

/**
 * Runs `attempt` on the path, or for RENAME on one candidate after another until a name is free. `attempt` must not overwrite unless `overwrite` is true.
 * @throws ALREADY_EXISTS
 */
export async function resolveConflict<T>(
  path: StoragePath,
  kind: CheckedEntry['kind'],
  conflict: ConflictBehavior,
  attempt: (path: StoragePath, overwrite: boolean) => Promise<T | Taken>,
  naming: Naming = {},
): Promise<T> {
  for (const candidate of conflict === 'RENAME' ? candidates(path, kind, naming) : [path]) {
    const result = await attempt(candidate, conflict === 'REPLACE')
    if (result !== taken) return result as T
  }
  throw nameTaken(path)
}

/** Returns whether an entry has the name, or an upload reserves it. */
export function isTaken(error: unknown): error is AppError {
  return error instanceof AppError && (error.reason === 'ALREADY_EXISTS' || error.reason === 'UPLOAD_UNDER_WAY')
}

export function isMissing(error: unknown): boolean {
  return error instanceof AppError && error.reason === 'NOT_FOUND'
}

export function nameTaken(path: StoragePath): AppError {
  return new AppError('ALREADY_EXISTS', `"/${path}" exists: choose another name.`)
}

/** The error of a job that would replace a file whose content neither a version nor the trash would keep. */
export function nothingKeeps(path: StoragePath): AppError {
  const message = `"/${path}" would be lost, so it stays as it is: its storage keeps neither versions nor a trash.`
  return new AppError('PRECONDITION_FAILED', message)
}

/** Returns null if there is no entry. */
export async function statOrNull(
  location: Pick<ReadLocation, 'stat'>,
  signal: AbortSignal,
): Promise<CheckedEntry | null> {
  try {
    return await location.stat(signal)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/**
 * Names that this server is writing to. Without it, two uploads could choose the same free name, and one of them would fail
 * only after sending all of its bytes.
 */
export class Reservations {
  readonly #names = new Set<string>()

  has(providerId: string, path: StoragePath): boolean {
    return this.#names.has(`${providerId}/${path}`)
  }

  /** Reserves a name until disposed. Returns null if it is already reserved. */
  take(providerId: string, path: StoragePath): Disposable | null {
    const name = `${providerId}/${path}`
    if (this.#names.has(name)) return null
    this.#names.add(name)
    return { [Symbol.dispose]: () => this.#names.delete(name) }
  }
}
