import { Readable } from 'node:stream'
import {
  type AdapterDefinition,
  type Entry,
  nameOf,
  StorageError,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'

const chunk = Buffer.alloc(256 * 1024)
for (let index = 0; index < chunk.length; index++) chunk[index] = (index * 31 + (index >> 8)) % 251

/** Returns the chunk with this number. All of them differ, so that none can take the place of another. */
function chunkAt(number: number): Buffer {
  const bytes = Buffer.from(chunk)
  bytes.writeUInt32BE(number)
  return bytes
}

function* generatedBytes(size: number): Generator<Buffer, void, undefined> {
  for (let number = 0, left = size; left > 0; number += 1, left -= chunk.length) {
    yield chunkAt(number).subarray(0, Math.min(left, chunk.length))
  }
}

/** Returns the number of bytes. @throws if they are not those that a source generates */
async function checkedLength(body: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const part of body) {
    for (let offset = 0; offset < part.length; ) {
      const start = bytes % chunk.length
      const expected = chunkAt(Math.floor(bytes / chunk.length)).subarray(start, start + part.length - offset)
      if (!expected.equals(part.subarray(offset, offset + expected.length)))
        throw new Error(`Other bytes after ${bytes}`)
      offset += expected.length
      bytes += expected.length
    }
  }
  return bytes
}

/**
 * Files of any size that take no space. A source has one file with `size` bytes in its root. A target compares what is written
 * with the bytes of a source, and keeps only the size.
 */
export const generatedAdapter: AdapterDefinition<{ size: number }> = {
  type: 'generated',
  apiVersion: 1,
  title: 'Generated files',
  configSchema: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] },
  async open({ size }): Promise<StorageProvider> {
    const files = new Map<string, Entry>()
    const start = new Date('2026-01-01')
    const entry = (name: string, bytes: number): Entry => ({
      name,
      kind: 'file',
      size: bytes,
      modifiedAt: start,
      etag: `${bytes}`,
      mimeType: null,
    })
    if (size > 0) files.set('large.bin', entry('large.bin', size))
    const find = (path: StoragePath): Entry => {
      if (path === '') return { ...entry('', 0), kind: 'directory', size: null, etag: null }
      const found = files.get(path)
      if (!found) throw new StorageError('NOT_FOUND', 'There is no such file.')
      return found
    }
    return {
      traits: { emptyDirectories: false },
      stat: async path => find(path),
      list: async path => ({ entries: path === '' ? [...files.values()] : [] }),
      read: async path => {
        const found = find(path)
        return { body: Readable.from(generatedBytes(found.size ?? 0), { objectMode: false }), entry: found }
      },
      async write(path, body) {
        const written = entry(nameOf(path), await checkedLength(body))
        files.set(path, written)
        return written
      },
      delete: async path => void files.delete(path),
      mkdir: async () => {},
    }
  },
}
