import { StowageError } from '../../../api/client.ts'
import type { ViewedFile } from '../viewer.ts'

export interface Beginning {
  text: string
  isAll: boolean
  /** Whether the bytes are not UTF-8, so that the characters are a guess. */
  isGuess: boolean
  /** Whether the text is UTF-8 that can be written again without changing other bytes. */
  isPlain: boolean
  /** The version that was read; null if the back end has no versions. */
  etag: string | null
}

/** Loads the first bytes of a text. @throws StowageError */
export async function loadBeginning(
  read: ViewedFile['read'],
  maxBytes: number,
  signal: AbortSignal,
): Promise<Beginning> {
  const { body, fileSize, etag } = await read({ start: 0, end: maxBytes - 1 }, signal).catch(error => {
    // An empty file has no satisfiable range.
    if (error instanceof StowageError && error.status === 416) return read(null, signal)
    throw error
  })
  const bytes = new Uint8Array(await new Response(body).arrayBuffer())
  const isAll = fileSize === null ? bytes.length < maxBytes : bytes.length === fileSize
  return { ...decode(bytes), isAll, etag }
}

/** Decodes UTF-8 and UTF-16, and everything else as Windows-1252, which contains Latin-1. */
function decode(bytes: Uint8Array): Pick<Beginning, 'text' | 'isGuess' | 'isPlain'> {
  // Streaming mode ignores a character that is cut at the end.
  const as = (encoding: string, fatal: boolean) => new TextDecoder(encoding, { fatal }).decode(bytes, { stream: true })
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: as('utf-16le', false), isGuess: false, isPlain: false }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: as('utf-16be', false), isGuess: false, isPlain: false }
  try {
    const text = as('utf-8', true)
    return { text, isGuess: false, isPlain: isRestorable(text, bytes) }
  } catch {
    return { text: as('windows-1252', false), isGuess: true, isPlain: false }
  }
}

/** A text field has only line feeds, and the decoder drops a byte order mark. */
function isRestorable(text: string, bytes: Uint8Array): boolean {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const lines = text.split('\n').length - 1
  const windowsLines = text.split('\r\n').length - 1
  const returns = text.split('\r').length - 1
  return !isMarked && returns === windowsLines && (windowsLines === 0 || windowsLines === lines)
}
