/**
 * The JPEG preview that cameras embed in their RAW files. Most of these formats are TIFF files (Adobe, TIFF Revision 6.0): a header,
 * then directories (IFDs) of tags. Only the directories and the preview are read.
 */
import type { Original } from '../../decoding/original.ts'
import type { Picture } from './protocol.ts'

/** Bytes of the beginning, where cameras put the directories. */
const headBytes = 512 * 1024
/** Bytes. */
const maxPreview = 32 * 1024 * 1024
const maxDirectories = 32
const maxTags = 1000

const tags = {
  compression: 0x0103,
  stripOffsets: 0x0111,
  stripByteCounts: 0x0117,
  subDirectories: 0x014a,
  jpegOffset: 0x0201,
  jpegLength: 0x0202,
  /** Panasonic: the JPEG itself is the value. */
  jpegFromRaw: 0x002e,
}
/** Values of the tag `compression`: JPEG, in its old and new form. */
const jpegCompressions: readonly (number | undefined)[] = [6, 7]

interface Preview {
  offset: number
  length: number
}

/** @throws Error if there is no preview */
export async function readPreview(original: Original): Promise<Picture> {
  const head = Buffer.from(await original.read(0, Math.min(headBytes, original.size ?? headBytes)))
  const candidates = head.toString('latin1', 0, 15) === 'FUJIFILMCCD-RAW' ? [fujifilmPreview(head)] : tiffPreviews(head)
  const sorted = candidates
    .filter(({ length }) => length > 0 && length <= maxPreview)
    .toSorted((a, b) => b.length - a.length)
  for (const { offset, length } of sorted.slice(0, 3)) {
    const inHead = offset + length <= head.length
    const preview = inHead ? head.subarray(offset, offset + length) : await original.read(offset, length)
    // The raw data of some cameras is a lossless JPEG, which is no picture (SOF3).
    if (preview[0] === 0xff && preview[1] === 0xd8 && !isLossless(preview)) return preview
  }
  throw new Error('The file has no preview.')
}

/** Fujifilm's header has the position of the preview at byte 84. */
function fujifilmPreview(head: Buffer): Preview {
  return { offset: head.readUInt32BE(84), length: head.readUInt32BE(88) }
}

/** Returns all JPEG images that the directories name. @throws RangeError if the file is damaged */
function tiffPreviews(head: Buffer): Preview[] {
  const order = head.toString('latin1', 0, 2)
  if (order !== 'II' && order !== 'MM') throw new Error('The file is no TIFF file.')
  const little = order === 'II'
  const u16 = (at: number) => (little ? head.readUInt16LE(at) : head.readUInt16BE(at))
  const u32 = (at: number) => (little ? head.readUInt32LE(at) : head.readUInt32BE(at))
  const found: Preview[] = []
  const waiting = [u32(4)]
  const seen = new Set<number>()
  while (waiting.length > 0 && seen.size < maxDirectories) {
    const start = waiting.shift() ?? 0
    if (start === 0 || seen.has(start) || start + 2 > head.length) continue
    seen.add(start)
    const count = Math.min(u16(start), maxTags)
    const end = start + 2 + count * 12
    if (end > head.length) continue
    const values = new Map<number, { first: number; count: number; at: number }>()
    for (let at = start + 2; at < end; at += 12) {
      const isShort = u16(at + 2) === 3
      values.set(u16(at), { first: isShort ? u16(at + 8) : u32(at + 8), count: u32(at + 4), at: at + 8 })
    }
    const first = (tag: number) => values.get(tag)?.first
    const offset = first(tags.jpegOffset)
    const length = first(tags.jpegLength)
    if (offset !== undefined && length !== undefined) found.push({ offset, length })
    const strips = values.get(tags.stripOffsets)
    if (strips?.count === 1 && jpegCompressions.includes(first(tags.compression))) {
      found.push({ offset: strips.first, length: first(tags.stripByteCounts) ?? 0 })
    }
    const fromRaw = values.get(tags.jpegFromRaw)
    if (fromRaw) found.push({ offset: fromRaw.first, length: fromRaw.count })
    const sub = values.get(tags.subDirectories)
    if (sub?.count === 1) waiting.push(sub.first)
    else if (sub) {
      for (let index = 0; index < Math.min(sub.count, maxDirectories); index++) {
        const at = sub.first + index * 4
        if (at + 4 <= head.length) waiting.push(u32(at))
      }
    }
    if (end + 4 <= head.length) waiting.push(u32(end))
  }
  return found
}

/** Looks for the frame header among the segments of a JPEG file (ITU-T T.81, annex B). */
function isLossless(jpeg: Uint8Array): boolean {
  for (let at = 2; at + 4 < jpeg.length && jpeg[at] === 0xff; ) {
    const marker = jpeg[at + 1] ?? 0
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return marker === 0xc3
    at += 2 + (((jpeg[at + 2] ?? 0) << 8) | (jpeg[at + 3] ?? 0))
  }
  return false
}
