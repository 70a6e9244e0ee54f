/** The checksums that clients send in headers or trailing headers, such as `x-amz-checksum-crc32`. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { S3Error } from './failure.ts'

interface RunningChecksum {
  update(bytes: Uint8Array): unknown
  digest(): Uint8Array | Promise<Uint8Array>
}

const prefix = 'x-amz-checksum-'

const algorithms = {
  crc32: async () => new Crc32(),
  crc32c: async () => new (await import('@aws-sdk/checksums/crc')).Crc32c(),
  crc64nvme: async () => new (await import('@aws-sdk/checksums/crc')).Crc64Nvme(),
  sha1: async () => createHash('sha1'),
  sha256: async () => createHash('sha256'),
} satisfies Record<string, () => Promise<RunningChecksum>>

type Algorithm = keyof typeof algorithms

class Crc32 implements RunningChecksum {
  #value = 0

  update(bytes: Uint8Array): void {
    this.#value = crc32(bytes, this.#value)
  }

  digest(): Uint8Array {
    const digest = Buffer.alloc(4)
    digest.writeUInt32BE(this.#value)
    return digest
  }
}

/** Computes the checksum that a request announces, and compares it at the end. */
export class ExpectedChecksum {
  readonly #name: string
  readonly #running: RunningChecksum

  private constructor(name: string, running: RunningChecksum) {
    this.#name = name
    this.#running = running
  }

  /** Returns null if none of the names is one of a checksum. @throws S3Error for more than one, or an unknown algorithm */
  static async of(headerNames: readonly string[]): Promise<ExpectedChecksum | null> {
    const [name, ...more] = headerNames.filter(name => name.startsWith(prefix) && !isNote(name))
    if (name === undefined) return null
    if (more.length > 0) throw new S3Error('InvalidRequest', 'Send one checksum with a request.')
    const algorithm = name.slice(prefix.length)
    if (!isAlgorithm(algorithm)) {
      throw new S3Error('InvalidRequest', `The checksums of this server are ${Object.keys(algorithms).join(', ')}.`)
    }
    return new ExpectedChecksum(name, await algorithms[algorithm]())
  }

  update(bytes: Uint8Array): void {
    this.#running.update(bytes)
  }

  /** @param values the values by header name @returns the header with the value @throws S3Error if it differs */
  async verify(values: ReadonlyMap<string, string>): Promise<Record<string, string>> {
    const computed = Buffer.from(await this.#running.digest()).toString('base64')
    if (values.get(this.#name) !== computed) {
      throw new S3Error(
        'BadDigest',
        `The bytes do not match the ${this.#name} that was sent with them: nothing was stored.`,
      )
    }
    return { [this.#name]: computed }
  }
}

function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(algorithms, name)
}

/** Headers that say something about a checksum and have none. */
function isNote(name: string): boolean {
  return name === `${prefix}mode` || name === `${prefix}type` || name === `${prefix}algorithm`
}
