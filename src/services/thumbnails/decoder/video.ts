/**
 * A frame of a video, which the program ffmpeg decodes. It gets a sparse file that has only the beginning of the original and, in an MP4
 * file, the index, wherever it is.
 */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Original } from '../../decoding/original.ts'
import { runProgram } from '../../decoding/programs.ts'
import type { Picture, ThumbnailTask } from './protocol.ts'

/** Bytes. */
const headBytes = 8 * 1024 * 1024
const maxIndex = 16 * 1024 * 1024
const maxFrame = 32 * 1024 * 1024
const maxAllocation = 512 * 1024 * 1024

/** @throws Error if ffmpeg finds no frame */
export async function grabFrame(original: Original, { ffmpeg, pixels }: ThumbnailTask): Promise<Picture> {
  if (ffmpeg === null) throw new Error('The program ffmpeg is missing.')
  const head = Buffer.from(await original.read(0, Math.min(headBytes, original.size ?? headBytes)))
  const demuxer = demuxerOf(head)
  const folder = await mkdtemp(join(tmpdir(), 'stowage-frame-'))
  try {
    const path = join(folder, 'video')
    await using file = await open(path, 'w')
    await file.write(head, 0, head.length, 0)
    const index = demuxer === 'mov' ? await findIndex(original, head) : null
    if (index) await file.write(index.bytes, 0, index.bytes.length, index.offset)
    if (original.size !== null) await file.truncate(original.size)
    // A playlist with the name of a video could name any file of this machine, so the input is one file of a known container.
    const input = `-nostdin -v error -threads 1 -max_alloc ${maxAllocation} -protocol_whitelist file -f ${demuxer} -i`
    const filter = `thumbnail=24,scale=w=${pixels}:h=${pixels}:force_original_aspect_ratio=decrease`
    const output = `-an -sn -dn -frames:v 1 -vf ${filter} -f image2pipe -c:v png -`
    return await runProgram(ffmpeg, [...input.split(' '), path, ...output.split(' ')], { maxOutput: maxFrame })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Recognizes the container by its first bytes. @throws Error for any other file */
function demuxerOf(head: Buffer): 'mov' | 'matroska' | 'avi' | 'mpegts' {
  if (['ftyp', 'moov', 'mdat', 'wide', 'free'].includes(head.toString('latin1', 4, 8))) return 'mov'
  if (head.readUInt32BE(0) === 0x1a45dfa3) return 'matroska'
  if (head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'AVI ') return 'avi'
  if (head[0] === 0x47 && head[188] === 0x47) return 'mpegts'
  throw new Error('The file is no known video.')
}

/** Returns the box `moov` (ISO/IEC 14496-12) if it is not in the beginning of the file. */
async function findIndex(original: Original, head: Buffer): Promise<{ offset: number; bytes: Uint8Array } | null> {
  for (let at = 0; at + 16 <= head.length; ) {
    const size = head.readUInt32BE(at)
    const length = size === 1 ? Number(head.readBigUInt64BE(at + 8)) : size
    if (length < 8) return null
    const next = at + length
    if (next + 16 <= head.length) {
      at = next
      continue
    }
    if (original.size === null || next >= original.size) return null
    const rest = original.size - next
    if (rest > maxIndex) return null
    return { offset: next, bytes: await original.read(next, rest) }
  }
  return null
}
