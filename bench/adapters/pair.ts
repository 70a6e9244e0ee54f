import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { StoragePath, StorageProvider } from '../../adapters/contract.ts'

const mib = 1024 * 1024
/** Bytes of the file that is sent and received. */
export const bytes = 256 * mib
/** Bytes of one request of an SDK, and the number of its requests at once. */
export const sdkParts = { size: 8 * mib, atOnce: 4 }

export interface Transfers {
  upload(): Promise<unknown>
  download(): Promise<unknown>
}

/** An adapter beside another client of the same server. */
export interface Pair {
  provider: StorageProvider
  /** The name of the other client. */
  client: string
  /** Those of the other client. */
  transfers: Transfers
}

export interface Place {
  teardown(end: () => Promise<void>): void
  /** An empty folder. */
  folder: string
  /** The file that programs send. */
  file: string
}

export type OpenPair = (place: Place) => Promise<Pair>

/** Generates chunks like those of a socket. */
export function source(): Readable {
  const chunk = Buffer.alloc(64 * 1024, 7)
  function* chunks() {
    for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
  }
  return Readable.from(chunks(), { objectMode: false })
}

export async function drain(body: Readable): Promise<void> {
  await pipeline(body, new Writable({ write: (_chunk, _encoding, done) => done() }))
}

export function transfersOf(provider: StorageProvider): Transfers {
  const path = 'adapter' as StoragePath
  const { signal } = new AbortController()
  return {
    upload: () => provider.write(path, source(), { signal, size: bytes, overwrite: true }),
    download: async () => drain((await provider.read(path, { signal })).body),
  }
}
