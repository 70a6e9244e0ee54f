/** Measures the memory that buffers use. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { StorageProvider } from '../contract.ts'
import { at, type Case, call, has, pattern, put } from './kit.ts'

const mib = 1024 * 1024

/** The bytes that a transfer may buffer: several parts of an upload, and the buffers of sockets and streams. */
const memoryLimit = 64 * mib

/** An odd size, so that no part ends where a chunk does. */
const piece = pattern(mib - 13)

export const largeCases: Case[] = [
  {
    name: 'a large file (default 100 MB) is written and read unchanged in bounded memory',
    async run(provider, { largeFileSize = 100_000_000, inMemory = false }) {
      const [sent, received] = [createHash('sha256'), createHash('sha256')]
      const writing = await watchBuffers('writing', inMemory ? memoryLimit + largeFileSize : memoryLimit)
      async function* pieces() {
        let count = 0
        for (const bytes of piecesOf(largeFileSize)) {
          sent.update(bytes)
          yield bytes
          if (++count % 8 === 0) await writing.measure()
        }
      }
      const options = { ...call(), size: largeFileSize, overwrite: false }
      const written = await provider.write(at('large'), Readable.from(pieces()), options)
      assert.equal(written.size, largeFileSize)
      await writing.measure()

      const reading = await watchBuffers('reading', memoryLimit)
      const { body } = await provider.read(at('large'), call())
      let [length, measured] = [0, 0]
      for await (const bytes of body) {
        received.update(bytes)
        length += bytes.length
        if (length - measured < 8 * mib) continue
        measured = length
        await reading.measure()
      }
      assert.equal(length, largeFileSize)
      assert.equal(received.digest('hex'), sent.digest('hex'), 'the bytes read differ from the bytes written')
      await reading.measure()
    },
  },
  {
    name: 'sizes around the part size are stored, with and without a size hint',
    needs: (provider, harness) => (partSizeOf(provider, harness) ? undefined : 'partSize in the harness'),
    async run(provider, harness) {
      const part = partSizeOf(provider, harness) ?? 0
      for (const size of [part - 1, part, part + 1, 2 * part, 2 * part + 1]) {
        const bytes = pattern(size, size)
        const hinted = { ...call(), size, overwrite: true }
        await provider.write(at('hinted'), Readable.from(cut(bytes)), hinted)
        await has(provider, 'hinted', bytes)
        await put(provider, 'unknown', bytes, true)
        await has(provider, 'unknown', bytes)
      }
    },
  },
]

/** Yields new buffers that start with their number, so that the measurement finds buffers kept in memory. */
function* piecesOf(size: number): Generator<Buffer> {
  for (let [sent, number] = [0, 0]; sent < size; number += 1) {
    const bytes = Buffer.from(piece.subarray(0, size - sent))
    if (bytes.length >= 4) bytes.writeUInt32BE(number)
    sent += bytes.length
    yield bytes
  }
}

function* cut(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += piece.length) yield bytes.subarray(start, start + piece.length)
}

function partSizeOf(provider: StorageProvider, { partSize }: { partSize?: number }): number | undefined {
  return partSize ?? provider.resumable?.partSize
}

const maxReadings = 5

/** Enables `gc` as `--expose-gc` does, without a flag of the test runner. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Returns the bytes that buffers use, after a garbage collection. */
export async function buffersInUse(): Promise<number> {
  // Another thread frees buffers, late on a busy machine, so take the lowest of several readings.
  let lowest = Infinity
  for (let [reading, fell] = [0, true]; fell && reading < maxReadings; reading++) {
    collectGarbage()
    await sleep(2)
    const now = process.memoryUsage().arrayBuffers
    fell = now < lowest
    lowest = Math.min(lowest, now)
  }
  return lowest
}

/** Measures how far the bytes in buffers rise above their first value. `measure` throws if that is `limit` or more. */
async function watchBuffers(what: string, limit: number): Promise<{ measure(): Promise<void> }> {
  const before = await buffersInUse()
  const inMib = (value: number) => `${(value / mib).toFixed(0)} MiB`
  return {
    async measure() {
      // Less than the limit together with the garbage is less without it. A collection takes longer than the transfer.
      if (process.memoryUsage().arrayBuffers - before < limit) return
      const used = (await buffersInUse()) - before
      assert.ok(used < limit, `${what} used ${inMib(used)} of memory, more than ${inMib(limit)}`)
    },
  }
}
