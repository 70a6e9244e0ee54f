/** The attributes of entries (draft-ietf-secsh-filexfer-02, section 5) and the lines of `ls -l` that come with names. */
import { AppError } from '../../errors.ts'
import type { FileEntry } from '../../services/files/index.ts'
import { type PacketReader, PacketWriter } from './wire.ts'

const flags = { size: 1, owner: 2, permissions: 4, times: 8, extended: 0x80000000 } as const
const maxExtended = 16
const maxExtendedBytes = 4096

/** The attributes that a client sets. Owners and permissions mean nothing here, so they are read and ignored. */
export interface WantedAttributes {
  /** Bytes. */
  size: number | undefined
  modifiedAt: Date | undefined
}

/** @throws MalformedPacket, INVALID_INPUT */
export function readAttributes(packet: PacketReader): WantedAttributes {
  const present = packet.uint32()
  const has = (flag: number) => (present & flag) !== 0
  const size = has(flags.size) ? packet.uint64() : undefined
  if (has(flags.owner)) {
    packet.uint32()
    packet.uint32()
  }
  if (has(flags.permissions)) packet.uint32()
  let modifiedAt: Date | undefined
  if (has(flags.times)) {
    packet.uint32()
    modifiedAt = new Date(packet.uint32() * 1000)
  }
  if (has(flags.extended)) {
    const count = packet.uint32()
    if (count > maxExtended) throw new AppError('INVALID_INPUT', `${count} attributes are too many for an entry.`)
    for (let left = count; left > 0; left -= 1) {
      packet.bytes(maxExtendedBytes)
      packet.bytes(maxExtendedBytes)
    }
  }
  return { size, modifiedAt }
}

/** The part of an entry that SFTP shows. */
export type ShownEntry = Pick<FileEntry, 'kind' | 'size' | 'modifiedAt'>

/** A folder about which nothing is known, such as the list of storages. */
export const plainFolder: ShownEntry = { kind: 'directory', size: null, modifiedAt: null }

const modes = { file: 0o100000, directory: 0o040000 } as const
const permissions = { file: 0o644, directory: 0o755 } as const
const readOnly = 0o555

function modeOf({ kind }: ShownEntry, isWritable: boolean): number {
  return modes[kind] | (isWritable ? permissions[kind] : permissions[kind] & readOnly)
}

/** Seconds since 1970. The protocol has 32 bits for them. */
function secondsOf({ modifiedAt }: ShownEntry): number {
  return Math.min(0xffffffff, Math.max(0, Math.floor((modifiedAt?.getTime() ?? 0) / 1000)))
}

/** @param isWritable whether the viewer may change entries somewhere */
export function writeAttributes(entry: ShownEntry, isWritable: boolean): PacketWriter {
  const hasSize = entry.size !== null || entry.kind === 'directory'
  const present = (hasSize ? flags.size : 0) | flags.owner | flags.permissions | flags.times
  const packet = new PacketWriter().uint32(present)
  if (hasSize) packet.uint64(entry.size ?? 0)
  const seconds = secondsOf(entry)
  return packet.uint32(0).uint32(0).uint32(modeOf(entry, isWritable)).uint32(seconds).uint32(seconds)
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const bits = ['---', '--x', '-w-', '-wx', 'r--', 'r-x', 'rw-', 'rwx']
/** Seconds: `ls` shows the year of older files instead of the time. */
const halfYear = 182 * 24 * 60 * 60

/** Returns a line as `ls -l` prints it. Some clients parse it. */
export function longName(name: string, entry: ShownEntry, isWritable: boolean): string {
  const mode = modeOf(entry, isWritable)
  const rights = [6, 3, 0].map(shift => bits[(mode >> shift) & 7]).join('')
  const seconds = secondsOf(entry)
  const date = new Date(seconds * 1000)
  const isRecent = Math.abs(Date.now() / 1000 - seconds) < halfYear
  const [hours, minutes] = [date.getUTCHours(), date.getUTCMinutes()].map(part => String(part).padStart(2, '0'))
  const when = isRecent ? `${hours}:${minutes}` : ` ${date.getUTCFullYear()}`
  const day = `${months[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${when}`
  const letter = entry.kind === 'directory' ? 'd' : '-'
  return `${letter}${rights}    1 stowage  stowage  ${String(entry.size ?? 0).padStart(12)} ${day} ${name}`
}
