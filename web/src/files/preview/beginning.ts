import { useQuery } from '@tanstack/react-query'
import { StowageError, stowage } from '../../api/client.ts'
import type { StorageLocation } from '../../api/paths.ts'

/** Bytes. */
export const maxShown = 512 * 1024

interface Beginning {
  text: string
  isAll: boolean
  /** Whether the bytes are not UTF-8, so that the characters are a guess. */
  isGuess: boolean
}

async function loadBeginning(file: StorageLocation, signal: AbortSignal): Promise<Beginning> {
  try {
    const { body, fileSize } = await stowage.files.download({ ...file, range: { start: 0, end: maxShown - 1 }, signal })
    const bytes = new Uint8Array(await new Response(body).arrayBuffer())
    return { ...decode(bytes), isAll: fileSize === null ? bytes.length < maxShown : bytes.length === fileSize }
  } catch (error) {
    // An empty file has no satisfiable range.
    if (error instanceof StowageError && error.status === 416) return { text: '', isAll: true, isGuess: false }
    throw error
  }
}

/** Decodes UTF-8 and UTF-16, and everything else as Windows-1252, which contains Latin-1. */
function decode(bytes: Uint8Array): { text: string; isGuess: boolean } {
  // Streaming mode ignores a character that is cut at the end.
  const as = (encoding: string, fatal: boolean) => new TextDecoder(encoding, { fatal }).decode(bytes, { stream: true })
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: as('utf-16le', false), isGuess: false }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: as('utf-16be', false), isGuess: false }
  try {
    return { text: as('utf-8', true), isGuess: false }
  } catch {
    return { text: as('windows-1252', false), isGuess: true }
  }
}

/** Loads the beginning of a text file. */
export function useBeginning(file: StorageLocation) {
  return useQuery({
    queryKey: ['text', file],
    queryFn: ({ signal }) => loadBeginning(file, signal),
    gcTime: 0,
  })
}
