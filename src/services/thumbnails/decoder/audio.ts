/** The cover of a piece of music, from its tags. */
import { parseBuffer, selectCover } from 'music-metadata'
import type { Original } from '../../decoding/original.ts'
import type { Picture } from './protocol.ts'

/** Bytes. Tags are at the beginning of a file, except in MP4 files that were not prepared for streaming. */
const head = 8 * 1024 * 1024

/** @throws Error if there is no cover */
export async function readCover(original: Original): Promise<Picture> {
  const bytes = await original.read(0, Math.min(head, original.size ?? head))
  const size = original.size ?? bytes.length
  const { common } = await parseBuffer(bytes, { size }, { duration: false, skipPostHeaders: true })
  const cover = selectCover(common.picture)
  if (!cover) throw new Error('The file has no cover.')
  return cover.data
}
