import { usageError } from './errors.ts'

export interface LocalOperand {
  kind: 'local'
  path: string
  /** Whether the text ends in `/`, so that it names a folder. */
  isFolder: boolean
}

export interface RemoteOperand {
  kind: 'remote'
  /** The name or the ID of a storage. */
  storage: string
  /** The absolute path in the storage, without a `/` at its end. */
  path: string
  isFolder: boolean
}

/** Standard input or output. */
interface StreamOperand {
  kind: 'stream'
}

export type Operand = LocalOperand | RemoteOperand | StreamOperand

/** A storage before the first colon that ends the text or precedes a slash. */
const remote = /^([^/]*?[^/:]):(\/.*)?$/s

/**
 * Parses `-`, a path such as `disk:/reports`, or a local path. A name of a storage can contain colons, but no slash.
 * @throws CommandError
 */
export function parseOperand(text: string): Operand {
  if (text === '') throw usageError('A path is empty.')
  if (text === '-') return { kind: 'stream' }
  const [, storage, path = '/'] = remote.exec(text) ?? []
  if (storage !== undefined) return { kind: 'remote', storage, ...withoutSlash(path) }
  const colon = text.indexOf(':')
  if (colon >= 0 && !text.slice(0, colon).includes('/')) {
    const [name, rest] = [text.slice(0, colon), text.slice(colon + 1)]
    throw usageError(`"${text}" is unclear: write "${name}:/${rest}" for a storage, or "./${text}" for a local file.`)
  }
  return { kind: 'local', ...withoutSlash(text) }
}

/** Parses a path in a storage. @throws CommandError for any other operand */
export function parseRemote(text: string): RemoteOperand {
  const operand = parseOperand(text)
  if (operand.kind === 'remote') return operand
  throw usageError(`"${text}" is not in a storage: write <storage>:/<path>. "stowage ls" lists the storages.`)
}

function withoutSlash(text: string): { path: string; isFolder: boolean } {
  let end = text.length
  while (end > 1 && text[end - 1] === '/') end -= 1
  return { path: text.slice(0, end), isFolder: text.endsWith('/') }
}
