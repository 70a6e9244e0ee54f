/** A provider with the optional methods that the memory adapter lacks, on its own server, to test the kit itself. */
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import {
  type Call,
  childOf,
  StorageError,
  type StorageErrorCode,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { MemoryTrash } from '../support/native-trash.ts'

interface Upload {
  path: StoragePath
  modifiedAt: Date | undefined
  pieces: Map<number, Buffer>
}

/** The back end, which providers can share. */
class BackEnd {
  readonly files = new MemoryProvider(512 * 1024 * 1024)
  readonly trash = new MemoryTrash(this.files)
  readonly uploads = new Map<string, Upload>()
  /** The paths of all changes. */
  readonly changed: StoragePath[] = []
  /** The error of every call while a fault is active. */
  fault: { code: StorageErrorCode; retryAfterMs?: number } | null = null
  server: Server | null = null

  async url(): Promise<string> {
    if (!this.server) {
      this.server = createServer((request, response) => {
        void this.#serve(request, new URL(request.url ?? '', 'http://localhost')).then(
          ({ bytes, headers }) => response.writeHead(200, headers).end(bytes),
          () => response.writeHead(403).end(),
        )
      }).listen(0, '127.0.0.1')
      await once(this.server, 'listening')
    }
    const address = this.server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
  }

  async #serve(request: IncomingMessage, { searchParams }: URL) {
    const parameter = (name: string) => searchParams.get(name) ?? ''
    const [path, ends, type, disposition] = ['path', 'ends', 'type', 'disposition'].map(parameter)
    const mark = sign(request.method ?? '', path ?? '', ends ?? '', type ?? '', disposition ?? '')
    if (parameter('mark') !== mark || Number(ends) <= Date.now()) throw new Error('refused')
    const call = { signal: new AbortController().signal, overwrite: true }
    const headers = {
      ...(type && { 'content-type': type }),
      ...(disposition && { 'content-disposition': disposition }),
    }
    if (request.method === 'GET') {
      return { bytes: await buffer((await this.files.read(path as StoragePath, call)).body), headers }
    }
    await this.files.write(path as StoragePath, request, call)
    return { bytes: Buffer.alloc(0), headers: {} }
  }
}

function sign(...parts: string[]): string {
  return createHmac('sha256', 'only of this test').update(JSON.stringify(parts)).digest('hex')
}

const backEnds = new WeakMap<StorageProvider, BackEnd>()

export const partSize = 1000

export function open(backEnd = new BackEnd()): StorageProvider {
  const { files } = backEnd
  const checked = (): MemoryProvider => {
    if (backEnd.fault) throw new StorageError(backEnd.fault.code, 'The back end refuses.', backEnd.fault)
    return files
  }
  const find = (state: string): Upload => {
    const upload = backEnd.uploads.get(JSON.parse(state).id)
    if (!upload) throw new StorageError('NOT_FOUND', 'There is no such upload.')
    return upload
  }
  const store = async (state: string, pieces: readonly Buffer[], options: Call & { overwrite: boolean }) => {
    const { path, modifiedAt } = find(state)
    const body = Readable.from([Buffer.concat(pieces)], { objectMode: false })
    const entry = await files.write(path, body, { ...options, ...(modifiedAt && { modifiedAt }) })
    backEnd.uploads.delete(JSON.parse(state).id)
    return entry
  }
  const provider: StorageProvider = {
    traits: files.traits,
    trash: backEnd.trash,
    stat: async (path, options) => checked().stat(path, options),
    list: async (path, options) => checked().list(path, options),
    read: async (path, options) => checked().read(path, options),
    async write(path, body, options) {
      try {
        checked()
      } catch (error) {
        body.destroy()
        throw error
      }
      const entry = await files.write(path, body, options)
      backEnd.changed.push(path)
      return entry
    },
    async delete(path, options) {
      await checked().delete(path, options)
      backEnd.changed.push(path)
    },
    async mkdir(path, options) {
      await checked().mkdir(path, options)
      backEnd.changed.push(path)
    },
    async changes(cursor, { signal }) {
      signal.throwIfAborted()
      checked()
      const { changed } = backEnd
      const start = Number(cursor ?? changed.length)
      const shown = changed.slice(start, start + 1000)
      const position = start + shown.length
      return { changed: shown.map(path => ({ path })), cursor: String(position), hasMore: position < changed.length }
    },
    quota: async options => checked().quota(options),
    async copySmall(from, to, names, options) {
      const files = checked()
      const copy = async (name: string) => {
        const { body, entry } = await files.read(childOf(from, name), options)
        const { modifiedAt } = entry
        return files.write(childOf(to, name), body, { ...options, overwrite: false, ...(modifiedAt && { modifiedAt }) })
      }
      return Promise.all(names.map(name => copy(name).catch(() => null)))
    },
    async presign(path, { signal, method, expiresIn, responseHeaders }) {
      signal.throwIfAborted()
      const ends = String(Date.now() + expiresIn * 1000)
      const [type, disposition] = [responseHeaders?.contentType ?? '', responseHeaders?.contentDisposition ?? '']
      const query = new URLSearchParams({
        path,
        ends,
        type,
        disposition,
        mark: sign(method, path, ends, type, disposition),
      })
      return { url: new URL(`?${query}`, await backEnd.url()), headers: {} }
    },
    resumable: {
      partSize,
      partMultiple: 1,
      async begin(path, { signal, modifiedAt }) {
        signal.throwIfAborted()
        const id = randomUUID()
        backEnd.uploads.set(id, { path, modifiedAt, pieces: new Map() })
        return JSON.stringify({ id })
      },
      async append(state, body, { signal, offset }) {
        const bytes = await buffered(body, signal)
        find(state).pieces.set(offset, bytes)
        return state
      },
      async complete(state, body, { offset, ...options }) {
        const rest = await buffered(body, options.signal)
        const { pieces } = find(state)
        const parts = [...pieces].filter(([at]) => at < offset).sort(([a], [b]) => a - b)
        return await store(state, [...parts.map(([, bytes]) => bytes), rest], options)
      },
      parts: {
        minSize: partSize,
        async put(state, body, { signal, number }) {
          const bytes = await buffered(body, signal)
          find(state).pieces.set(number, bytes)
          return tagOf(bytes)
        },
        async complete(state, parts, options) {
          const { pieces } = find(state)
          const wanted = parts.map(({ number, tag }) => {
            const bytes = pieces.get(number)
            if (bytes && tagOf(bytes) === tag) return bytes
            throw new StorageError('PRECONDITION_FAILED', `There is no part ${number} with this tag.`)
          })
          return await store(state, wanted, options)
        },
      },
      async abort(state, { signal }) {
        signal.throwIfAborted()
        backEnd.uploads.delete(JSON.parse(state).id)
      },
    },
  }
  backEnds.set(provider, backEnd)
  return provider
}

function tagOf(bytes: Buffer): string {
  return createHmac('sha256', 'tag').update(bytes).digest('hex')
}

async function buffered(body: Readable, signal: AbortSignal): Promise<Buffer> {
  const onAbort = () => body.destroy(signal.reason)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  return await buffer(body)
}

function backEndOf(provider: StorageProvider): BackEnd {
  const backEnd = backEnds.get(provider)
  if (!backEnd) throw new Error('It was opened elsewhere')
  return backEnd
}

/** Returns a harness for providers that `change` derives from this one. */
export function harness(change: (original: StorageProvider) => StorageProvider = original => original): Harness {
  const changed = (backEnd?: BackEnd) => {
    const original = open(backEnd)
    const provider = change(original)
    backEnds.set(provider, backEndOf(original))
    return provider
  }
  const failing =
    (code: StorageErrorCode) =>
    async (provider: StorageProvider, more: { retryAfterMs?: number } = {}) => {
      const backEnd = backEndOf(provider)
      backEnd.fault = { code, ...more }
      return () => {
        backEnd.fault = null
      }
    }
  return {
    open: async () => changed(),
    reopen: async provider => changed(backEndOf(provider)),
    cleanUp: async provider => {
      backEndOf(provider).server?.close()
      backEndOf(provider).server?.closeAllConnections()
    },
    partSize,
    reportTime: 2000,
    manyEntries: extent({ gate: 200, nightly: 500 }),
    largeFileSize: 80_000_000,
    inMemory: true,
    faults: {
      expireCredentials: failing('UNAUTHORIZED'),
      rateLimit: failing('RATE_LIMITED'),
      unavailable: failing('UNAVAILABLE'),
    },
  }
}
