import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, has, isMissing, namesIn, pattern, put, stalledBody } from './kit.ts'
import { buffersInUse } from './large.ts'

const mib = 1024 * 1024
const reason = new Error('the client went away')

export const abortCases: Case[] = [
  {
    name: 'every call with an aborted signal rejects with its reason and changes nothing',
    async run(provider) {
      await put(provider, 'file', 'kept')
      const options = { signal: AbortSignal.abort(reason) }
      const calls: Promise<unknown>[] = [
        provider.stat(at('file'), options),
        provider.list(at(''), { ...options, limit: 10 }),
        provider.read(at('file'), options),
        provider.write(at('file'), bodyOf('no'), { ...options, overwrite: true }),
        provider.write(at('new/file'), bodyOf('no'), { ...options, overwrite: false }),
        provider.delete(at('file'), options),
        provider.mkdir(at('folder'), { ...options, exclusive: false }),
        ...optionalCalls(provider, options),
      ]
      for (const result of await Promise.allSettled(calls)) {
        assert.equal(result.status, 'rejected')
        assert.equal(result.reason, reason)
      }
      await has(provider, 'file', 'kept')
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
  {
    name: 'a body that failed before it is read rejects the write with its error',
    async run(provider) {
      for (const path of ['new', 'made/up/new']) {
        const disconnected = new Error('the client disconnected')
        const body = new Readable({ read() {} }).on('error', () => {})
        body.destroy(disconnected)
        await settle()
        const options = { signal: new AbortController().signal, overwrite: false }
        await assert.rejects(provider.write(at(path), body, options), error => error === disconnected)
      }
      assert.deepEqual(await namesIn(provider, ''), [])
    },
  },
  {
    name: 'a write that is aborted half way leaves nothing, not even new parents',
    async run(provider) {
      await put(provider, 'file', 'kept')
      for (const path of ['new', 'made/up/new', 'file']) {
        const controller = new AbortController()
        const body = stalledBody(pattern(3 * mib))
        const write = provider.write(at(path), body, { signal: controller.signal, overwrite: true })
        await settle()
        controller.abort(reason)
        await assert.rejects(write, error => error === reason)
        assert.ok(body.destroyed, 'the body was not destroyed')
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'a write whose body fails half way rejects with the error of the body and leaves nothing',
    async run(provider) {
      await put(provider, 'file', 'kept')
      // The error has the code of a socket error, which looks like one of the file system.
      const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
      for (const path of ['new', 'made/up/new', 'file']) {
        function* pieces() {
          yield pattern(2 * mib)
          throw broken
        }
        const write = provider.write(at(path), Readable.from(pieces()), {
          signal: new AbortController().signal,
          overwrite: true,
        })
        await assert.rejects(write, error => error === broken)
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'a body that fails after its last byte, as for a wrong digest, stores nothing',
    async run(provider) {
      await put(provider, 'file', 'kept')
      const bytes = pattern(200_000)
      for (const path of ['new', 'file']) {
        const mismatch = new Error('the digest of the bytes is wrong')
        function* pieces() {
          yield bytes
          throw mismatch
        }
        // The adapter must read past the size hint, to the end of the body.
        const options = { ...call(), size: bytes.length, overwrite: true }
        const write = provider.write(at(path), Readable.from(pieces()), options)
        await assert.rejects(write, error => error === mismatch)
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'a small body that fails or is aborted before its end stores nothing',
    async run(provider) {
      await put(provider, 'file', 'kept')
      for (const path of ['new', 'made/up/new', 'file']) {
        const broken = new Error('the client disconnected')
        function* pieces() {
          yield pattern(500)
          throw broken
        }
        const options = { size: 1000, overwrite: true }
        const write = provider.write(at(path), Readable.from(pieces()), { ...call(), ...options })
        await assert.rejects(write, error => error === broken)
        const controller = new AbortController()
        const body = stalledBody(pattern(500))
        const aborted = provider.write(at(path), body, { signal: controller.signal, ...options })
        await settle()
        controller.abort(reason)
        await assert.rejects(aborted, error => error === reason)
        assert.ok(body.destroyed, 'the body was not destroyed')
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'a small body with a wrong size hint is stored whole or not at all',
    async run(provider) {
      for (const size of [0, 999, 1001, 50_000]) {
        for (const bytes of [pattern(1000), pattern(300_000)]) {
          const path = `${size} ${bytes.length}`
          const options = { ...call(), size, overwrite: false }
          const stored = await provider.write(at(path), bodyOf(bytes, 300), options).catch(() => null)
          if (stored) await has(provider, path, bytes)
          else await isMissing(provider, path)
        }
      }
    },
  },
  {
    name: 'a body that is destroyed without an error is not stored',
    async run(provider) {
      const body = stalledBody(pattern(mib))
      const write = provider.write(at('cut'), body, { signal: new AbortController().signal, overwrite: false })
      setTimeout(() => body.destroy(), 20)
      await assert.rejects(write)
      await isMissing(provider, 'cut')
    },
  },
  {
    name: 'an unfinished write is not visible',
    async run(provider) {
      await put(provider, 'file', 'old')
      const controller = new AbortController()
      const options = { signal: controller.signal, overwrite: true }
      const writes = [
        provider.write(at('file'), stalledBody(pattern(3 * mib)), options),
        provider.write(at('new'), stalledBody(pattern(3 * mib)), options),
      ]
      await settle()
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'old')
      controller.abort(reason)
      await Promise.allSettled(writes)
    },
  },
  {
    name: 'a read that is aborted half way ends with an error',
    async run(provider) {
      await put(provider, 'file', pattern(8 * mib))
      const controller = new AbortController()
      const { body } = await provider.read(at('file'), { signal: controller.signal })
      await once(body, 'readable')
      body.read(1)
      controller.abort(reason)
      await assert.rejects(async () => {
        for await (const _ of body);
      })
      assert.ok(body.destroyed)
    },
  },
  {
    name: 'a slow reader of 48 MiB buffers little of it in memory',
    async run(provider) {
      const piece = pattern(mib)
      function* pieces() {
        for (let i = 0; i < 48; i += 1) yield piece
      }
      const signal = new AbortController().signal
      await provider.write(at('big'), Readable.from(pieces()), { signal, overwrite: false })
      const before = await buffersInUse()
      const { body } = await provider.read(at('big'), { signal })
      await once(body, 'readable')
      body.read(1000)
      await new Promise(resolve => setTimeout(resolve, 250))
      const grown = (await buffersInUse()) - before
      body.destroy()
      await once(body, 'close')
      assert.ok(grown < 16 * mib, `${(grown / mib).toFixed(1)} MiB were read ahead`)
    },
  },
]

function optionalCalls(provider: StorageProvider, options: { signal: AbortSignal }): Promise<unknown>[] {
  return [
    provider.deleteTree?.(at('file'), options),
    provider.openFile?.(at('file'), options),
    provider.readSmall?.(at('file'), { ...options, maxBytes: 1000 }),
    provider.copy?.(at('file'), at('copied'), { ...options, overwrite: true }),
    provider.move?.(at('file'), at('moved'), { ...options, overwrite: true }),
    provider.quota?.(options),
    provider.presign?.(at('file'), { ...options, method: 'GET', expiresIn: 60 }),
    provider.resumable?.begin(at('begun'), options),
  ].filter(promise => promise !== undefined)
}

/** Waits until sent bytes have reached a disk or a local server. */
function settle(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 60))
}
