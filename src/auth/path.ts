import {
  ancestorsOf,
  joinSegments,
  nameOf,
  parentOf,
  type StoragePath,
  segmentsOf,
  childOf as unboundedChildOf,
} from '../../adapters/contract.ts'
import { AppError } from '../errors.ts'

export { ancestorsOf, nameOf, parentOf, type StoragePath, segmentsOf }

/** Bytes of UTF-8: PATH_MAX on Linux, and four times the longest S3 key. */
export const maxPathBytes = 4096
/** Bytes of UTF-8. S3 limits only the whole key; most file systems allow 255. */
const maxNameBytes = 1024
/** The maximum number of names in the path of a new entry, well below the depth at which archives and jobs stop. */
const maxNewNames = 256

export const root = '' as StoragePath

/** The folder at the root of a provider that contains deleted entries, unless the back end has a trash of its own. */
export const trashFolder = '.stowage-trash' as StoragePath

// Some file systems ignore characters that are not shown.
const ignorable = /\p{Default_Ignorable_Code_Point}/gu

/**
 * Returns whether a name is that of the folder for deleted entries, in any spelling that a file system could take for it: other
 * letter cases, compatibility forms, and additions that Windows ignores. The name is reserved at every level, because the root of
 * another provider may be below this one.
 */
export function isReservedName(name: string): boolean {
  const first = name.charCodeAt(0)
  // A name that starts with another ASCII character than "." is a different one.
  if (first < 0x80 && first !== 0x2e) return false
  const [plain = ''] = name.replace(ignorable, '').normalize('NFKD').split(':', 1)
  let end = plain.length
  while (end > 0 && (plain[end - 1] === '.' || plain[end - 1] === ' ')) end -= 1
  return plain.slice(0, end).toUpperCase().toLowerCase() === trashFolder
}

/**
 * Parses a client's path, which is absolute within a provider: `/`, `/team/assets/logo.svg`. Only this function turns text
 * from a client into a `StoragePath`. It decodes and normalizes nothing: `%2F`, `\` and NFD are ordinary characters.
 * @throws INVALID_PATH
 */
export function parsePath(text: string): StoragePath {
  if (text === '/') return root
  if (!text.startsWith('/')) throw invalid('A path must be absolute within its provider: begin it with "/".')
  if (Buffer.byteLength(text) > maxPathBytes) throw invalid(`A path can have at most ${maxPathBytes} bytes.`)
  const segments = text.slice(1).split('/')
  for (const segment of segments) {
    const fault = segmentFault(segment)
    if (fault) throw invalid(fault)
  }
  return joinSegments(segments)
}

/**
 * Parses the path of a new entry. In addition to `parsePath`, rejects names that other systems could misread: control
 * characters, backslashes, percent-encoded separators and dot segments; and too many folders, each of which would be created.
 * @throws INVALID_PATH
 */
export function parseNewPath(text: string): StoragePath {
  const path = parsePath(text)
  const segments = segmentsOf(path)
  if (segments.length > maxNewNames)
    throw invalid(`A new path can have at most ${maxNewNames} names: use fewer folders.`)
  for (const segment of segments) {
    const fault = newNameFault(segment)
    if (fault) throw invalid(fault)
  }
  return path
}

/** Parses a new name of an entry. @throws INVALID_PATH */
export function parseNewName(name: string): string {
  const fault = segmentFault(name) ?? newNameFault(name)
  if (fault) throw invalid(fault)
  return name
}

/** Returns whether `parsePath` would accept the name. Names from adapters must pass this check. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && segmentFault(name) === null
}

/** Returns the path as clients see it, absolute within the provider. */
export function formatPath(path: StoragePath): string {
  return `/${path}`
}

/** Returns whether `path` is `base` or below it. `/backups-old` is not within `/backups`. */
export function isWithin(path: StoragePath, base: StoragePath): boolean {
  return base === root || path === base || path.startsWith(`${base}/`)
}

/** Returns the deepest path that all of the paths are within; the root for none. */
export function commonPath([first = root, ...others]: readonly StoragePath[]): StoragePath {
  let common = first
  for (const path of others) while (!isWithin(path, common)) common = parentOf(common)
  return common
}

/** Returns the path of `name` in the folder `path`. @throws INVALID_PATH if the result is too long */
export function childOf(path: StoragePath, name: string): StoragePath {
  const child = unboundedChildOf(path, name)
  if (Buffer.byteLength(child) >= maxPathBytes) throw invalid(`A path can have at most ${maxPathBytes} bytes.`)
  return child
}

function segmentFault(segment: string): string | null {
  if (segment === '') return 'A path cannot have an empty name: remove "//" and a "/" at the end.'
  if (segment === '.' || segment === '..') return 'A name cannot be "." or "..".'
  if (segment.includes('/')) return 'A name cannot contain "/".'
  if (segment.includes('\0')) return 'A path cannot contain a NUL character.'
  if (!segment.isWellFormed()) return 'A path must be well-formed Unicode.'
  if (Buffer.byteLength(segment) > maxNameBytes) return `A name can have at most ${maxNameBytes} bytes.`
  if (isReservedName(segment)) return `The name "${trashFolder}" is reserved for deleted files: choose another name.`
  return null
}

// Encoded once or repeatedly: %2F, %252F, ... The same for "\" and NUL.
const encodedSeparator = /%(?:25)*(?:2f|5c|00)/i
const encodedDots = /^(?:\.|%(?:25)*2e){1,2}$/i
const controlCharacter = /\p{Cc}/u

function newNameFault(name: string): string | null {
  if (name.includes('\\')) return 'A new name cannot contain a backslash: separate folders with "/".'
  if (controlCharacter.test(name)) return 'A new name cannot contain a control character.'
  if (encodedSeparator.test(name) || encodedDots.test(name)) {
    return 'A new name cannot contain codes such as "%2F" or "%2E%2E", which other systems read as "/" or "..": leave them out.'
  }
  return null
}

function invalid(message: string): AppError {
  return new AppError('INVALID_PATH', message)
}
