/** The bounds of the paths that strangers send through a drop link. */
import { parsePath, segmentsOf } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'

/** Each folder of a path is created if it is missing, and costs a request to the back end. */
const maxNames = 100
/** Bytes of UTF-8. */
const maxBytes = 1024
/** Bytes of UTF-8. Most back ends allow 255, which leaves room for the suffix of a taken name. */
const maxNameBytes = 240

/**
 * Requires a path well within the bounds of other paths, so that no suffix for a taken name makes it too long: the refusal would
 * reveal that the name is taken.
 * @throws INVALID_PATH
 */
export function requireDropPath(sent: string): void {
  const path = parsePath(sent)
  const names = segmentsOf(path)
  if (names.length > maxNames) throw invalid(`at most ${maxNames} names: use fewer folders.`)
  if (Buffer.byteLength(path) >= maxBytes) throw invalid(`at most ${maxBytes} bytes: use shorter names.`)
  if (names.some(name => Buffer.byteLength(name) > maxNameBytes)) {
    throw invalid(`names of at most ${maxNameBytes} bytes: use shorter ones.`)
  }
}

function invalid(bound: string): AppError {
  return new AppError('INVALID_PATH', `A path through this link can have ${bound}`)
}
