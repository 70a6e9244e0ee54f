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

/** Bytes of UTF-8; Linux's PATH_MAX, and four times S3's longest key. */
export const maxPathBytes = 4096
/** Bytes of UTF-8; S3 has no bound but its key's, most file systems hold 255. */
const maxNameBytes = 1024

export const root = '' as StoragePath

/**
 * Parses an outside path, absolute within a provider: `/`, `/team/assets/logo.svg`. This is the only place that makes a
 * `StoragePath` from text of a client. Nothing is decoded or normalised: `%2F`, `\` and NFD are characters like others.
 * @throws INVALID_PATH
 */
export function parsePath(text: string): StoragePath {
  if (text === '/') return root
  if (!text.startsWith('/')) throw invalid('A path is absolute within its provider: it begins with "/".')
  if (Buffer.byteLength(text) > maxPathBytes) throw invalid(`A path has at most ${maxPathBytes} bytes.`)
  const segments = text.slice(1).split('/')
  for (const segment of segments) {
    const fault = segmentFault(segment)
    if (fault) throw invalid(fault)
  }
  return joinSegments(segments)
}

/**
 * Parses the path of something that is about to be made. Beside `parsePath`, its name must be one that no other system
 * misreads: no control character, no backslash, no percent-encoded separator or dot segment.
 * @throws INVALID_PATH
 */
export function parseNewPath(text: string): StoragePath {
  const path = parsePath(text)
  for (const segment of segmentsOf(path)) {
    const fault = newNameFault(segment)
    if (fault) throw invalid(fault)
  }
  return path
}

/** Parses the new leaf name of something. @throws INVALID_PATH */
export function parseNewName(name: string): string {
  const fault = segmentFault(name) ?? newNameFault(name)
  if (fault) throw invalid(fault)
  return name
}

/** True for a leaf name that `parsePath` would take; adapters are held to it. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && segmentFault(name) === null
}

/** Absolute within the provider, as clients see it. */
export function formatPath(path: StoragePath): string {
  return `/${path}`
}

/** True where `path` is `base` or lies below it; `/backups` never holds `/backups-old`. */
export function isWithin(path: StoragePath, base: StoragePath): boolean {
  return base === root || path === base || path.startsWith(`${base}/`)
}

/** Returns the path of `name` in the folder `path`. @throws INVALID_PATH where the result is too long */
export function childOf(path: StoragePath, name: string): StoragePath {
  const child = unboundedChildOf(path, name)
  if (Buffer.byteLength(child) >= maxPathBytes) throw invalid(`A path has at most ${maxPathBytes} bytes.`)
  return child
}

function segmentFault(segment: string): string | null {
  if (segment === '') return 'A path has no empty segment: neither "//" nor a "/" at its end.'
  if (segment === '.' || segment === '..') return 'A path has no "." and no ".." segment.'
  if (segment.includes('/')) return 'A name has no "/".'
  if (segment.includes('\0')) return 'A path has no NUL character.'
  if (!segment.isWellFormed()) return 'A path is well-formed Unicode.'
  if (Buffer.byteLength(segment) > maxNameBytes) return `A name has at most ${maxNameBytes} bytes.`
  return null
}

// Encoded once or more often: %2F, %252F, ... The same for "\" and NUL.
const encodedSeparator = /%(?:25)*(?:2f|5c|00)/i
const encodedDots = /^(?:\.|%(?:25)*2e){1,2}$/i
const controlCharacter = /\p{Cc}/u

function newNameFault(name: string): string | null {
  if (name.includes('\\')) return 'A new name has no backslash; separate folders with "/".'
  if (controlCharacter.test(name)) return 'A new name has no control character.'
  if (encodedSeparator.test(name) || encodedDots.test(name)) {
    return 'A new name has no percent-encoded separator or dot segment; send the path decoded.'
  }
  return null
}

function invalid(message: string): AppError {
  return new AppError('INVALID_PATH', message)
}
