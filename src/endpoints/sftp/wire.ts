/** The encoding of SFTP packets: draft-ietf-secsh-filexfer-02, section 3, with the types of RFC 4251, section 5. */
import { AppError } from '../../errors.ts'

/** Bytes of a packet without its length, as OpenSSH bounds them. */
export const maxPacket = 256 * 1024
/** Bytes of content in a READ or WRITE. The rest of the packet is for the other fields. */
export const maxContent = maxPacket - 1024

const lengthBytes = 4

/** The client does not speak the protocol: its session ends. */
export class MalformedPacket extends Error {
  override name = 'MalformedPacket'
}

/** Cuts a stream of bytes into packets. It holds at most one unfinished packet. */
export class PacketCutter {
  readonly #header = Buffer.alloc(lengthBytes)
  #headerBytes = 0
  #body: Buffer | null = null
  #bodyBytes = 0

  /** Returns the packets that a chunk completes, without their lengths. @throws MalformedPacket */
  cut(chunk: Buffer): Buffer[] {
    const packets: Buffer[] = []
    let at = 0
    while (at < chunk.length) {
      if (!this.#body) {
        const taken = chunk.copy(this.#header, this.#headerBytes, at)
        at += taken
        this.#headerBytes += taken
        if (this.#headerBytes < lengthBytes) break
        const length = this.#header.readUInt32BE()
        if (length === 0 || length > maxPacket) throw new MalformedPacket(`A packet of ${length} bytes`)
        this.#headerBytes = 0
        this.#body = Buffer.allocUnsafeSlow(length)
        this.#bodyBytes = 0
      }
      const taken = chunk.copy(this.#body, this.#bodyBytes, at)
      at += taken
      this.#bodyBytes += taken
      if (this.#bodyBytes === this.#body.length) {
        packets.push(this.#body)
        this.#body = null
      }
    }
    return packets
  }
}

/** Malformed UTF-8 must not become another name. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads the fields of a packet in their order. Every method throws MalformedPacket if the packet ends before the field. */
export class PacketReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  #take(length: number): number {
    const at = this.#at
    if (length > this.#bytes.length - at) throw new MalformedPacket('A packet that ends within a field')
    this.#at = at + length
    return at
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#take(4))
  }

  /** @throws INVALID_INPUT beyond what a number holds exactly, which is beyond every file */
  uint64(): number {
    const value = Number(this.#bytes.readBigUInt64BE(this.#take(8)))
    if (!Number.isSafeInteger(value)) throw new AppError('INVALID_INPUT', 'No file has more than 2^53 bytes.')
    return value
  }

  /** Returns at most the largest number that is exact. */
  cappedUint64(): number {
    return Math.min(Number(this.#bytes.readBigUInt64BE(this.#take(8))), Number.MAX_SAFE_INTEGER)
  }

  /** @throws INVALID_INPUT for a longer field */
  bytes(maxBytes: number): Buffer {
    const length = this.uint32()
    const at = this.#take(length)
    if (length > maxBytes)
      throw new AppError('INVALID_INPUT', `A field has ${length} bytes, but ${maxBytes} is the limit.`)
    return this.#bytes.subarray(at, at + length)
  }

  /** @throws INVALID_INPUT for a longer one, INVALID_PATH if it is not UTF-8 */
  text(maxBytes: number): string {
    const bytes = this.bytes(maxBytes)
    try {
      return utf8.decode(bytes)
    } catch (cause) {
      throw new AppError('INVALID_PATH', 'Names are in UTF-8 here: set the client to it.', { cause })
    }
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }
}

/** Collects the fields of a packet. */
export class PacketWriter {
  readonly #parts: Buffer[] = []
  #length = 0

  /** Bytes so far. */
  get length(): number {
    return this.#length
  }

  byte(value: number): this {
    return this.#add(Buffer.from([value]))
  }

  uint32(value: number): this {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32BE(value >>> 0)
    return this.#add(bytes)
  }

  uint64(value: number): this {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigUInt64BE(BigInt(value))
    return this.#add(bytes)
  }

  text(value: string): this {
    const bytes = Buffer.from(value)
    return this.uint32(bytes.length).#add(bytes)
  }

  /** Adds the fields of another writer. */
  append(other: PacketWriter): this {
    for (const part of other.#parts) this.#add(part)
    return this
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes)
    this.#length += bytes.length
    return this
  }

  /** Returns the packet with its length. */
  finish(): Buffer {
    const length = Buffer.allocUnsafe(lengthBytes)
    length.writeUInt32BE(this.#length)
    return Buffer.concat([length, ...this.#parts])
  }
}
