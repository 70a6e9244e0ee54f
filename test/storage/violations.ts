/** Adapters that each violate the contract in one way and are otherwise correct. */
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import {
  type AdapterDefinition,
  apiVersion,
  type Entry,
  type StoragePath,
  type StorageProvider,
} from '../../adapters/contract.ts'

/** A text in all internal errors of the adapters, which clients must not see. */
export const secret = 'a secret of the adapter'

// biome-ignore lint/suspicious/noExplicitAny: they violate the contract
type Violation = (good: StorageProvider) => Record<string, any>

const content = '0123456789'
const signal = new AbortController().signal
const never = () => new Promise<never>(() => {})
const everyMethod = [
  'stat',
  'list',
  'read',
  'write',
  'delete',
  'mkdir',
  'deleteTree',
  'openFile',
  'readSmall',
  'copy',
  'copySmall',
  'move',
  'setModifiedAt',
  'quota',
]
const allOf = (method: () => unknown): Violation => {
  return () => Object.fromEntries(everyMethod.map(name => [name, method]))
}
const throwing = (value: unknown): Violation =>
  allOf(async () => {
    throw value
  })

/** Changes all entries that the adapter returns. */
const entries =
  // biome-ignore lint/suspicious/noExplicitAny: they violate the contract
    (change: (entry: Entry) => any): Violation =>
    good => ({
      stat: async (path: StoragePath, options: { signal: AbortSignal }) => change(await good.stat(path, options)),
      list: async (path: StoragePath, options: { signal: AbortSignal; limit: number }) => {
        const page = await good.list(path, options)
        return { ...page, entries: page.entries.map(change) }
      },
      read: async (path: StoragePath, options: { signal: AbortSignal }) => {
        const { body, entry } = await good.read(path, options)
        return { body, entry: change(entry) }
      },
      write: async (path: StoragePath, body: Readable, options: { signal: AbortSignal; overwrite: boolean }) =>
        change(await good.write(path, body, options)),
    })

const reading =
  (body: () => unknown): Violation =>
  good => ({
    read: async (path: StoragePath, options: { signal: AbortSignal }) => ({
      ...(await good.read(path, options)),
      body: body(),
    }),
  })

const listing =
  (list: (limit: number, cursor: string | undefined, calls: number) => unknown): Violation =>
  () => {
    let calls = 0
    return {
      list: async (_path: StoragePath, { limit, cursor }: { limit: number; cursor?: string }) =>
        list(limit, cursor, calls++),
    }
  }

const file = (name: unknown): Entry => ({
  name: name as string,
  kind: 'file',
  size: content.length,
  modifiedAt: null,
  etag: null,
  mimeType: null,
})

/** Fails with a value that resembles an error of the contract but is not one. */
const lookAlike = (more: object) => Object.assign(new Error(secret), { name: 'StorageError' }, more)

export const badNames = [
  'a/b',
  '..',
  '.',
  '',
  '../../etc/passwd',
  '/absolute',
  'a\0b',
  '\ud800 alone',
  'x'.repeat(10 * 1024 * 1024),
  'x'.repeat(1025),
  5,
  null,
  undefined,
  {},
]

export const violations: Record<string, Violation> = {
  'size-negative': entries(entry => ({ ...entry, size: -1 })),
  'size-nan': entries(entry => ({ ...entry, size: Number.NaN })),
  'size-infinite': entries(entry => ({ ...entry, size: Number.POSITIVE_INFINITY })),
  'size-unsafe': entries(entry => ({ ...entry, size: 2 ** 53 })),
  'size-fraction': entries(entry => ({ ...entry, size: 9.5 })),
  'size-text': entries(entry => ({ ...entry, size: '10' })),
  'size-missing': entries(entry => ({ ...entry, size: undefined })),
  'kind-unknown': entries(entry => ({ ...entry, kind: 'link' })),
  'entry-null': entries(() => null),
  'entry-nothing': entries(() => undefined),
  'entry-text': entries(() => 'file'),
  'facts-odd': entries(entry => ({
    ...entry,
    modifiedAt: new Date('yesterday'),
    etag: 'a"\r\nSet-Cookie: evil=1',
    mimeType: 'text/html\r\nSet-Cookie: evil=1',
    checksums: { sha256: 'not hex', md5: 5 },
    fileId: 'x'.repeat(10_000),
  })),
  'facts-strange': entries(entry => ({
    ...entry,
    modifiedAt: 0,
    etag: {},
    mimeType: [],
    checksums: null,
    fileId: {},
    isExport: 1,
  })),
  'names-bad': listing(() => ({ entries: badNames.map(file) })),
  'page-null': listing(() => null),
  'page-without-entries': listing(() => ({})),
  'page-of-text': listing(() => ({ entries: 'abc' })),
  'page-of-nothing': listing(() => ({ entries: [null, undefined] })),
  'page-too-long': listing(limit => ({ entries: Array.from({ length: limit + 1 }, (_, i) => file(`${i}`)) })),
  'cursor-repeats': listing(() => ({ entries: [], cursor: 'again' })),
  'cursor-repeats-with-entries': listing((_limit, cursor) => ({
    entries: cursor === undefined ? [file('file')] : [],
    cursor: 'again',
  })),
  'cursor-circles': listing((_limit, _cursor, calls) => ({ entries: [], cursor: `${calls % 7}` })),
  'cursor-number': listing(() => ({ entries: [], cursor: 5 })),
  'cursor-empty': listing(() => ({ entries: [], cursor: '' })),
  'cursor-huge': listing(() => ({ entries: [], cursor: 'x'.repeat(1025) })),
  'body-text': reading(() => content),
  'body-null': reading(() => null),
  'body-web': reading(() => ReadableStream.from([content])),
  'body-destroyed': reading(() => Readable.from([content]).destroy()),
  'body-failed': reading(() => Readable.from([content]).destroy(new Error(secret))),
  'body-fails': reading(() =>
    Readable.from(
      (async function* () {
        yield '012'
        throw new Error(secret)
      })(),
    ),
  ),
  'body-of-numbers': reading(() => Readable.from([1, 2, 3])),
  'body-of-objects': reading(() => Readable.from([{ length: 10 }])),
  'body-of-wide-text': reading(() => Readable.from(['é'.repeat(10)])),
  'body-short': reading(() => Readable.from([Buffer.from('012')])),
  'body-empty': reading(() => Readable.from([])),
  'body-long': reading(() => Readable.from([Buffer.from(content), Buffer.from('and more')])),
  'body-endless': reading(() =>
    Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536)
      })(),
    ),
  ),
  'read-nothing': () => ({ read: async () => undefined }),
  'write-nothing': () => ({
    write: async (_path: StoragePath, body: Readable) => {
      body.resume()
    },
  }),
  'write-of-other-size': good => ({
    write: async (path: StoragePath, body: Readable, options: { signal: AbortSignal; overwrite: boolean }) => ({
      ...(await good.write(path, body, options)),
      size: 3,
    }),
  }),
  'handle-null': good => ({
    openFile: async (path: StoragePath) => ({ handle: null, entry: await good.stat(path, { signal }) }),
  }),
  'handle-empty': good => ({
    openFile: async (path: StoragePath) => ({ handle: {}, entry: await good.stat(path, { signal }) }),
  }),
  'handle-that-fails': good => ({
    openFile: async (path: StoragePath) => {
      const refuse = async () => {
        throw new Error(secret)
      }
      return { handle: { read: refuse, close: refuse }, entry: await good.stat(path, { signal }) }
    },
  }),
  'small-nothing': () => ({ readSmall: async () => undefined }),
  'small-without-bytes': good => ({
    readSmall: async (path: StoragePath) => ({ entry: await good.stat(path, { signal }), bytes: content }),
  }),
  'small-of-other-size': good => ({
    readSmall: async (path: StoragePath) => ({ entry: await good.stat(path, { signal }), bytes: Buffer.from('012') }),
  }),
  'small-too-large': () => ({
    readSmall: async (_path: StoragePath, { maxBytes }: { maxBytes: number }) => ({
      entry: { ...file('file'), size: maxBytes + 1 },
      bytes: Buffer.alloc(maxBytes + 1),
    }),
  }),
  'small-folder': () => ({
    readSmall: async () => ({ entry: { ...file('file'), kind: 'directory' }, bytes: Buffer.from(content) }),
  }),
  'open-file-nothing': () => ({ openFile: async () => undefined }),
  'quota-null': () => ({ quota: async () => null }),
  'quota-odd': () => ({ quota: async () => ({ used: -5, total: Number.NaN }) }),
  'copy-nothing': () => ({ copy: async () => undefined, move: async () => null }),
  'throws-text': throwing(secret),
  'throws-null': throwing(null),
  'throws-undefined': throwing(undefined),
  'throws-bare-object': throwing(Object.create(null)),
  'throws-object': throwing({ name: 'StorageError', code: 'NOT_FOUND', message: secret }),
  'throws-code': throwing(Object.assign(new Error(secret), { code: 'NOT_FOUND' })),
  'throws-system-error': throwing(Object.assign(new Error(secret), { code: 'ENOENT', statusCode: 404, status: 404 })),
  'throws-unknown-code': throwing(lookAlike({ code: 'ROOT_IS_FIXED' })),
  'throws-app-error': throwing(
    Object.assign(new Error(secret), { name: 'AppError', reason: 'NOT_FOUND', code: 'NOT_FOUND' }),
  ),
  'throws-at-once': allOf(() => {
    throw new Error(secret)
  }),
  'answers-no-promise': allOf(() => 5),
  'answers-nothing': allOf(() => undefined),
  'never-answers': allOf(never),
}

/** Errors of the contract with invalid properties. */
export const oddErrors: Record<string, Error> = {
  'message-object': Object.assign(lookAlike({ code: 'UNAVAILABLE' }), { message: { text: secret } }),
  'message-empty': lookAlike({ code: 'UNAVAILABLE', message: '' }),
  'message-huge': lookAlike({ code: 'UNAVAILABLE', message: 'x'.repeat(10_000_000) }),
  'retry-nan': lookAlike({ code: 'UNAVAILABLE', message: 'Wait.', retryAfterMs: Number.NaN }),
  'retry-text': lookAlike({ code: 'UNAVAILABLE', message: 'Wait.', retryAfterMs: '5\r\nX: y' }),
  'retry-negative': lookAlike({ code: 'UNAVAILABLE', message: 'Wait.', retryAfterMs: -5 }),
  'retry-endless': lookAlike({ code: 'UNAVAILABLE', message: 'Wait.', retryAfterMs: Number.POSITIVE_INFINITY }),
}

/** Invalid implementations of `open`. */
export const badOpens: Record<string, () => unknown> = {
  'open-throws': () => {
    throw new Error(secret)
  },
  'open-rejects': async () => {
    throw secret
  },
  'open-never': never,
  'open-null': async () => null,
  'open-empty': async () => ({}),
  'open-without-traits': async () => Object.assign(new MemoryProvider(1e6), { traits: undefined }),
  'open-traits-odd': async () => Object.assign(new MemoryProvider(1e6), { traits: { emptyDirectories: 'yes' } }),
  'open-max-size-nan': async () => {
    const provider = new MemoryProvider(1e6)
    return Object.assign(provider, { traits: { ...provider.traits, maxFileSize: Number.NaN } })
  },
  'open-without-write': async () => Object.assign(new MemoryProvider(1e6), { write: undefined }),
  'open-copy-is-text': async () => Object.assign(new MemoryProvider(1e6), { copy: 'yes' }),
  'open-resumable-empty': async () => Object.assign(new MemoryProvider(1e6), { resumable: {} }),
  'open-part-multiple': async () => {
    const resumable = { partSize: 10, partMultiple: 3, begin: never, append: never, complete: never, abort: never }
    return Object.assign(new MemoryProvider(1e6), { resumable })
  },
  'open-parts-empty': async () => {
    const resumable = { partSize: 1, begin: never, append: never, complete: never, abort: never, parts: {} }
    return Object.assign(new MemoryProvider(1e6), { resumable })
  },
}

export function adapter(type: string, open: () => unknown): AdapterDefinition {
  return {
    type,
    apiVersion,
    title: type,
    configSchema: { type: 'object', properties: {} },
    open: open as AdapterDefinition['open'],
  }
}

/**
 * A provider with the file `folder/file` that is correct at its root and violates the contract below. `paths` collects the
 * paths of all calls.
 */
export async function brokenProvider(violation: Violation, paths: string[] = []): Promise<StorageProvider> {
  const good = new MemoryProvider(64 * 1024 * 1024)
  await good.write('folder/file' as StoragePath, Readable.from([content]), { signal, overwrite: true })
  await good.write('folder/more/file' as StoragePath, Readable.from([content]), { signal, overwrite: true })
  // biome-ignore lint/suspicious/noExplicitAny: it accepts any arguments
  type Method = (...args: any[]) => unknown
  const methods: Record<string, Method> = {}
  for (const name of ['stat', 'list', 'read', 'write', 'delete', 'mkdir', 'quota'] as const) {
    methods[name] = (good[name] as Method).bind(good)
  }
  const broken: Record<string, Method> = { ...methods, ...violation(good) }
  const provider: Record<string, unknown> = { traits: good.traits }
  for (const [name, method] of Object.entries(broken)) {
    provider[name] = (...args: unknown[]) => {
      for (const arg of args) if (typeof arg === 'string') paths.push(arg)
      return (args[0] === '' ? (methods[name] ?? method) : method)(...args)
    }
  }
  return provider as unknown as StorageProvider
}
