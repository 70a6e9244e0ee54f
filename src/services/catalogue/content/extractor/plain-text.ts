/** Text files: in UTF-8 or UTF-16, or else in the encoding of Windows for western languages. */
import type { Original } from '../../../decoding/original.ts'
import type { ExtractTask } from './protocol.ts'

/** @throws Error if the file is no text */
export async function readText(original: Original, { maxBytes }: ExtractTask): Promise<string> {
  const bytes = await original.read(0, Math.min(maxBytes, original.size ?? maxBytes))
  return decodeText(bytes, bytes.length === maxBytes)
}

/** @param isCut the bytes may end within a character @throws Error if they are no text */
export function decodeText(bytes: Uint8Array, isCut: boolean): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  if (bytes.includes(0)) throw new Error('The file is no text.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
