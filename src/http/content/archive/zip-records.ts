/**
 * The records of a ZIP file: PKWARE's APPNOTE.TXT 6.3, section 4.3. An entry is written before its length and checksum are
 * known, so a data descriptor follows it.
 */

export type Method = 'stored' | 'deflated'

export interface EntryHeader {
  /** Uses `/` as separator; a folder's name also ends with `/`. */
  name: Buffer
  modifiedAt: Date | null
  isFolder: boolean
  method: Method
  /** Uses 8-byte lengths instead of 4-byte ones. */
  isLarge: boolean
}

export interface EntrySums {
  crc32: number
  compressedSize: number
  size: number
}

/** Larger values go into the ZIP64 extra field: section 4.5.3. */
const max32 = 0xffff_ffff
const max16 = 0xffff
const version = { folder: 20, zip64: 45 }
/** General purpose flags: UTF-8 names, and a data descriptor after the data. */
const flags = { utf8: 1 << 11, descriptor: 1 << 3 }
const methods = { stored: 0, deflated: 8 }
/** For entries made by Unix, the upper half of the external attributes is the mode that `stat` returns. */
const madeByUnix = 3 << 8
const fileMode = 0o100644
const folderMode = 0o40755
const folderBit = 0x10

/** Deflate enlarges incompressible data by less than this factor. */
const growth = 1.001

/** @param size in bytes; null if unknown */
export function needsLarge(size: number | null): boolean {
  return size === null || size * growth + 1024 > max32
}

export function localHeader(entry: EntryHeader): Buffer {
  const zip64 = entry.isLarge ? extraField(0x0001, [8, 0n], [8, 0n]) : empty
  const extra = Buffer.concat([zip64, timestamp(entry.modifiedAt)])
  const length = entry.isLarge ? max32 : 0
  const fixed = fields(
    [4, 0x04034b50],
    [2, entry.isLarge ? version.zip64 : version.folder],
    ...common(entry),
    [4, 0],
    [4, length],
    [4, length],
    [2, entry.name.length],
    [2, extra.length],
  )
  return Buffer.concat([fixed, entry.name, extra])
}

export function dataDescriptor({ isLarge }: EntryHeader, { crc32, compressedSize, size }: EntrySums): Buffer {
  const width = isLarge ? 8 : 4
  return fields([4, 0x08074b50], [4, crc32], [width, compressedSize], [width, size])
}

/** Builds a record of the central directory. @param offset of the local header in bytes */
export function directoryRecord(
  entry: EntryHeader,
  { crc32, compressedSize, size }: EntrySums,
  offset: number,
): Buffer {
  const large = [size, compressedSize, offset].filter(value => value >= max32)
  const zip64 = large.length > 0 ? extraField(0x0001, ...large.map(value => [8, BigInt(value)] as const)) : empty
  const extra = Buffer.concat([zip64, timestamp(entry.modifiedAt)])
  const needed = entry.isLarge || large.length > 0 ? version.zip64 : version.folder
  const mode = entry.isFolder ? folderMode : fileMode
  const fixed = fields(
    [4, 0x02014b50],
    [2, madeByUnix | version.zip64],
    [2, needed],
    ...common(entry),
    [4, crc32],
    [4, Math.min(compressedSize, max32)],
    [4, Math.min(size, max32)],
    [2, entry.name.length],
    [2, extra.length],
    [2, 0],
    [2, 0],
    [2, 0],
    [4, mode * 0x10000 + (entry.isFolder ? folderBit : 0)],
    [4, Math.min(offset, max32)],
  )
  return Buffer.concat([fixed, entry.name, extra])
}

/** Builds the end of the archive. `offset` and `length` are in bytes. */
export function endOfDirectory(directory: { count: number; offset: number; length: number }): Buffer {
  const { count, offset, length } = directory
  const isLarge = count >= max16 || offset >= max32 || length >= max32
  const end = fields(
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, Math.min(count, max16)],
    [2, Math.min(count, max16)],
    [4, Math.min(length, max32)],
    [4, Math.min(offset, max32)],
    [2, 0],
  )
  if (!isLarge) return end
  const large = fields(
    [4, 0x06064b50],
    [8, 44],
    [2, madeByUnix | version.zip64],
    [2, version.zip64],
    [4, 0],
    [4, 0],
    [8, count],
    [8, count],
    [8, length],
    [8, offset],
  )
  const locator = fields([4, 0x07064b50], [4, 0], [8, offset + length], [4, 1])
  return Buffer.concat([large, locator, end])
}

const empty = Buffer.alloc(0)

type Field = readonly [width: 2 | 4 | 8, value: number | bigint]

function common({ isFolder, method, modifiedAt }: EntryHeader): readonly Field[] {
  const { date, time } = dosTime(modifiedAt)
  return [
    [2, isFolder ? flags.utf8 : flags.utf8 | flags.descriptor],
    [2, methods[method]],
    [2, time],
    [2, date],
  ]
}

function fields(...values: readonly Field[]): Buffer {
  const buffer = Buffer.allocUnsafe(values.reduce((sum, [width]) => sum + width, 0))
  let at = 0
  for (const [width, value] of values) {
    if (width === 8) buffer.writeBigUInt64LE(BigInt(value), at)
    else buffer.writeUIntLE(Number(value), at, width)
    at += width
  }
  return buffer
}

function extraField(id: number, ...values: readonly Field[]): Buffer {
  const data = fields(...values)
  return Buffer.concat([fields([2, id], [2, data.length]), data])
}

/** Builds Info-ZIP's "extended timestamp", in UTC seconds; the fixed fields have no time zone. Empty if out of range. */
function timestamp(date: Date | null): Buffer {
  const seconds = date && Math.floor(date.getTime() / 1000)
  if (seconds === null || seconds < -0x8000_0000 || seconds > 0x7fff_ffff) return empty
  const data = Buffer.alloc(9)
  data.writeUInt16LE(0x5455, 0)
  data.writeUInt16LE(5, 2)
  data.writeUInt8(1, 4)
  data.writeInt32LE(seconds, 5)
  return data
}

/** MS-DOS times have a resolution of two seconds and cover 1980 to 2107. They are written in UTC. An unknown time becomes the start of 1980. */
function dosTime(date: Date | null): { date: number; time: number } {
  const year = date?.getUTCFullYear() ?? 0
  if (!date || year < 1980) return { date: (1 << 5) | 1, time: 0 }
  if (year > 2107) return { date: (127 << 9) | (12 << 5) | 31, time: (23 << 11) | (59 << 5) | 29 }
  return {
    date: ((year - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    time: (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
  }
}
