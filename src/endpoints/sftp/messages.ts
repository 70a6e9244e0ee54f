/** The requests and responses of SFTP version 3 (draft-ietf-secsh-filexfer-02) with the extensions of OpenSSH (its file PROTOCOL). */
import { AppError } from '../../errors.ts'
import { longName, readAttributes, type ShownEntry, type WantedAttributes, writeAttributes } from './attributes.ts'
import { type Status, status } from './errors.ts'
import { maxPathBytes, parseSftpPath, type SftpPath } from './paths.ts'
import { MalformedPacket, maxContent, maxPacket, PacketReader, PacketWriter } from './wire.ts'

/** The version of the protocol. Later versions are rare, and clients accept this one. */
const version = 3

const types = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attributes: 105,
  extended: 200,
  extendedReply: 201,
} as const

const openFlags = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const

export interface OpenMode {
  reads: boolean
  writes: boolean
  appends: boolean
  creates: boolean
  truncates: boolean
  /** The file must not exist. */
  isNew: boolean
}

/** A request of a client, without its id. */
export type SftpOperation =
  | { kind: 'open'; path: SftpPath; mode: OpenMode; attributes: WantedAttributes }
  | { kind: 'close' | 'fstat' | 'readdir' | 'fsync'; handle: string }
  | { kind: 'read'; handle: string; position: number; length: number }
  | { kind: 'write'; handle: string; position: number; bytes: Buffer }
  | { kind: 'fsetstat'; handle: string; attributes: WantedAttributes }
  | { kind: 'stat' | 'opendir' | 'realpath' | 'statvfs'; path: SftpPath }
  | { kind: 'mkdir' | 'rmdir' | 'remove'; path: SftpPath }
  | { kind: 'setstat'; path: SftpPath; attributes: WantedAttributes }
  | { kind: 'rename'; path: SftpPath; to: SftpPath; replaces: boolean }
  | { kind: 'copy-data'; from: string; position: number; length: number; to: string; at: number }
  | { kind: 'limits' }
  | { kind: 'refused'; error: AppError }
  | { kind: 'unsupported' }

export interface SftpRequest {
  id: number
  operation: SftpOperation
}

/** The extensions, with the versions that OpenSSH has for them. */
const extensions: Readonly<Record<string, string>> = {
  'posix-rename@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'fsync@openssh.com': '1',
  'limits@openssh.com': '1',
  'copy-data': '1',
}

/** Bytes of a handle of this server, and of the name of an extension. */
const maxHandle = 32
const maxExtension = 256

/** Reads the first packet of a session, and returns the response to it. @throws MalformedPacket */
export function answerInit(packet: Buffer): Buffer {
  const reader = new PacketReader(packet)
  // The extensions of the client follow the version. None of them matters here.
  if (reader.byte() !== types.init || reader.uint32() < version)
    throw new MalformedPacket('The session begins without INIT 3')
  const response = new PacketWriter().byte(types.version).uint32(version)
  for (const [name, data] of Object.entries(extensions)) response.text(name).text(data)
  return response.finish()
}

/** @throws MalformedPacket */
export function readRequest(packet: Buffer): SftpRequest {
  const reader = new PacketReader(packet)
  const type = reader.byte()
  const id = reader.uint32()
  try {
    const operation = readOperation(type, reader)
    // Some clients of later versions add fields that this version lacks, but never to these requests.
    if (operation.kind !== 'unsupported' && !reader.isAtEnd)
      throw new AppError('INVALID_INPUT', 'The request has more fields than there are in this version of SFTP.')
    return { id, operation }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { id, operation: { kind: 'refused', error } }
  }
}

const pathOf = (reader: PacketReader) => parseSftpPath(reader.text(maxPathBytes))
const handleOf = (reader: PacketReader) => reader.bytes(maxHandle).toString('latin1')

function readOperation(type: number, reader: PacketReader): SftpOperation {
  switch (type) {
    case types.open:
      return readOpen(reader)
    case types.close:
      return { kind: 'close', handle: handleOf(reader) }
    case types.read:
      return {
        kind: 'read',
        handle: handleOf(reader),
        position: reader.uint64(),
        length: Math.min(reader.uint32(), maxContent),
      }
    case types.write:
      return { kind: 'write', handle: handleOf(reader), position: reader.uint64(), bytes: reader.bytes(maxPacket) }
    case types.stat:
    case types.lstat:
      return { kind: 'stat', path: pathOf(reader) }
    case types.fstat:
      return { kind: 'fstat', handle: handleOf(reader) }
    case types.setstat:
      return { kind: 'setstat', path: pathOf(reader), attributes: readAttributes(reader) }
    case types.fsetstat:
      return { kind: 'fsetstat', handle: handleOf(reader), attributes: readAttributes(reader) }
    case types.opendir:
      return { kind: 'opendir', path: pathOf(reader) }
    case types.readdir:
      return { kind: 'readdir', handle: handleOf(reader) }
    case types.remove:
      return { kind: 'remove', path: pathOf(reader) }
    case types.mkdir: {
      const path = pathOf(reader)
      readAttributes(reader)
      return { kind: 'mkdir', path }
    }
    case types.rmdir:
      return { kind: 'rmdir', path: pathOf(reader) }
    case types.realpath:
      return { kind: 'realpath', path: pathOf(reader) }
    case types.rename:
      return { kind: 'rename', path: pathOf(reader), to: pathOf(reader), replaces: false }
    case types.extended:
      return readExtended(reader.text(maxExtension), reader)
    default:
      return { kind: 'unsupported' }
  }
}

function readOpen(reader: PacketReader): SftpOperation {
  const path = pathOf(reader)
  const flags = reader.uint32()
  const has = (flag: number) => (flags & flag) !== 0
  const mode = {
    reads: has(openFlags.read),
    writes: has(openFlags.write) || has(openFlags.append),
    appends: has(openFlags.append),
    creates: has(openFlags.create),
    truncates: has(openFlags.truncate),
    isNew: has(openFlags.exclusive) && has(openFlags.create),
  }
  return { kind: 'open', path, mode, attributes: readAttributes(reader) }
}

function readExtended(name: string, reader: PacketReader): SftpOperation {
  switch (name) {
    case 'posix-rename@openssh.com':
      return { kind: 'rename', path: pathOf(reader), to: pathOf(reader), replaces: true }
    case 'statvfs@openssh.com':
      return { kind: 'statvfs', path: pathOf(reader) }
    case 'fsync@openssh.com':
      return { kind: 'fsync', handle: handleOf(reader) }
    case 'limits@openssh.com':
      return { kind: 'limits' }
    case 'copy-data':
      return {
        kind: 'copy-data',
        from: handleOf(reader),
        position: reader.uint64(),
        length: reader.cappedUint64(),
        to: handleOf(reader),
        at: reader.uint64(),
      }
    default:
      return { kind: 'unsupported' }
  }
}

const response = (type: number, id: number) => new PacketWriter().byte(type).uint32(id)

export function statusResponse(id: number, code: Status, message = ''): Buffer {
  return response(types.status, id).uint32(code).text(message).text('en').finish()
}

/** Returns the status of a response; a response with a result is OK. */
export function statusIn(response: Buffer): Status {
  return response[4] === types.status ? (response.readUInt32BE(9) as Status) : status.ok
}

export const okResponse = (id: number) => statusResponse(id, status.ok)

export function handleResponse(id: number, handle: string): Buffer {
  return response(types.handle, id).text(handle).finish()
}

export function attributesResponse(id: number, entry: ShownEntry, isWritable: boolean): Buffer {
  return response(types.attributes, id).append(writeAttributes(entry, isWritable)).finish()
}

/** A name in a folder. */
export interface NamedEntry extends ShownEntry {
  name: string
}

/** Returns the fields of a name, to measure them before they are added to a response. */
export function nameFields(entry: NamedEntry, isWritable: boolean): PacketWriter {
  return new PacketWriter()
    .text(entry.name)
    .text(longName(entry.name, entry, isWritable))
    .append(writeAttributes(entry, isWritable))
}

export function namesResponse(id: number, names: readonly PacketWriter[]): Buffer {
  const packet = response(types.name, id).uint32(names.length)
  for (const name of names) packet.append(name)
  return packet.finish()
}

/** Bytes before the content of a DATA response. */
export const dataHeader = 13

/** Writes the header of a DATA response into a buffer that has the content behind it, and returns the response. */
export function dataResponse(id: number, buffer: Buffer, length: number): Buffer {
  buffer.writeUInt32BE(dataHeader - 4 + length, 0)
  buffer.writeUInt8(types.data, 4)
  buffer.writeUInt32BE(id, 5)
  buffer.writeUInt32BE(length, 9)
  return buffer.subarray(0, dataHeader + length)
}

/** `limits@openssh.com`: the most bytes of a packet, a READ and a WRITE, and the most handles. */
export function limitsResponse(id: number, maxHandles: number): Buffer {
  return response(types.extendedReply, id)
    .uint64(maxPacket)
    .uint64(maxContent)
    .uint64(maxContent)
    .uint64(maxHandles)
    .finish()
}

const blockBytes = 4096
const maxNameBytes = 255
/** The size that a file system without an end reports: 8 EiB. */
const endless = 2 ** 51

/** `statvfs@openssh.com`, from the space that a quota or the back end reports; null if neither does. */
export function spaceResponse(id: number, space: { used: number | null; available: number | null } | null): Buffer {
  const free = space?.available == null ? endless : Math.floor(space.available / blockBytes)
  const blocks = free + Math.ceil((space?.used ?? 0) / blockBytes)
  const packet = response(types.extendedReply, id).uint64(blockBytes).uint64(blockBytes)
  packet.uint64(blocks).uint64(free).uint64(free)
  // Files have no number of their own: as many as blocks.
  packet.uint64(blocks).uint64(free).uint64(free)
  return packet.uint64(0).uint64(0).uint64(maxNameBytes).finish()
}
