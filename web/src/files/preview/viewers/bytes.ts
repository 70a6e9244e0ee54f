/**
 * The viewers of files, one for each kind of content. A `Content` enters from the frame, and the elements that show it leave.
 * `../viewers.tsx` loads a viewer with the first file that needs it.
 */
import type { Content } from '../viewer.ts'

/** The content is longer than a viewer reads. */
export class TooLarge extends Error {
  override name = 'TooLarge'
}

/** Reads a content into memory. @param limit bytes @throws TooLarge; StowageError if the connection breaks */
export async function readBytes({ body }: Content, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.length
      if (length > limit) throw new TooLarge()
      chunks.push(value)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
