/** Tests the conformance kit: it passes correct adapters and finds each of many faults. */
import { randomUUID } from 'node:crypto'
import { Readable, Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { conformanceCases, type Harness } from '../../adapters/conformance/index.ts'
import type { Entry, PartWrites, ResumableWrites, StoragePath, StorageProvider } from '../../adapters/contract.ts'
import { childOf, StorageError } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { runConformance } from './conformance.ts'
import { harness, open } from './full-provider.ts'
import { openTemporary } from './temporary.ts'

type Mutation = (original: StorageProvider) => Partial<StorageProvider>

runConformance(t, null, harness(), [
  'openFolder in the harness',
  'the trait keepsReplaced',
  'hasCreateRaces in the harness',
  ...['copy', 'move', 'deleteTree', 'openFile', 'readSmall', 'setModifiedAt'].map(name => `the method ${name}`),
])

const without = new AbortController().signal
const never = { signal: without }
const p = (path: string) => path as StoragePath

const methods =
  'stat list read write delete mkdir deleteTree openFile readSmall copy copySmall move quota changes presign close'.split(
    ' ',
  )

/** Replaces the methods that the mutation returns and keeps the others. */
const mutated =
  (mutation: Mutation) =>
  (original: StorageProvider): StorageProvider => {
    const { traits, resumable, trash } = original
    const own = Object.entries(original).concat(methods.map(name => [name, original[name as 'stat']]))
    const bound = own.flatMap(([name, value]) => (typeof value === 'function' ? [[name, value.bind(original)]] : []))
    return {
      traits,
      ...(resumable && { resumable }),
      ...(trash && { trash }),
      ...Object.fromEntries(bound),
      ...mutation(original),
    }
  }

const entries =
  (change: (entry: Entry) => Entry): Mutation =>
  original => ({
    stat: async (path, options) => change(await original.stat(path, options)),
    write: async (path, body, options) => change(await original.write(path, body, options)),
    read: async (path, options) => {
      const { body, entry } = await original.read(path, options)
      return { body, entry: change(entry) }
    },
    list: async (path, options) => {
      const page = await original.list(path, options)
      return { ...page, entries: page.entries.map(change) }
    },
  })

const writing =
  (change: (bytes: Buffer) => Buffer): Mutation =>
  original => ({
    write: async (path, body, options) =>
      original.write(path, Readable.from([change(await buffer(body))], { objectMode: false }), options),
  })

const withoutTimes: Mutation = original => ({
  write: (path, body, options) => original.write(path, body, { ...options, modifiedAt: new Date() }),
})

const appending =
  (change: Partial<ResumableWrites> | ((original: ResumableWrites) => Partial<ResumableWrites>)): Mutation =>
  original => {
    if (!original.resumable) throw new Error('no resumable writes')
    const changes = typeof change === 'function' ? change(original.resumable) : change
    return {
      resumable: Object.assign(Object.create(original.resumable), { partSize: original.resumable.partSize }, changes),
    }
  }

const inParts = (change: (original: PartWrites) => Partial<PartWrites>): Mutation =>
  appending(({ parts }) => {
    if (!parts) throw new Error('no parts')
    return { parts: Object.assign(Object.create(parts), { minSize: parts.minSize }, change(parts)) }
  })

const fails = async (): Promise<never> => {
  throw new StorageError('UNAVAILABLE', 'Not now.')
}

/** A fault, the start of the name of the case that must find it, and the mutation that causes it. */
const faults: [string, string, Mutation][] = [
  ['the last byte is lost', 'round trip of 65537', writing(bytes => bytes.subarray(0, -1))],
  ['bytes are changed', 'round trip of 1 ', writing(bytes => bytes.map(byte => byte ^ 1) as Buffer)],
  ['text is decoded', 'round trip of 65535', writing(bytes => Buffer.from(bytes.toString('utf8')))],
  ['a part is missing', 'a large file', writing(bytes => Buffer.concat([bytes.subarray(0, 5e6), bytes.subarray(6e6)]))],
  [
    'two parts are exchanged',
    'a large file',
    writing(bytes => Buffer.concat([bytes.subarray(3e6), bytes.subarray(0, 3e6)])),
  ],
  ['the size is that of text', 'round trip of 3145735', entries(entry => ({ ...entry, size: (entry.size ?? 0) + 1 }))],
  ['sizes are text', 'round trip of 1 ', entries(entry => ({ ...entry, size: String(entry.size) as never }))],
  ['etags never change', 'a shorter file', entries(entry => ({ ...entry, etag: 'same' }))],
  ['etags are reused', 'no two contents', entries(entry => ({ ...entry, etag: String(entry.modifiedAt?.getTime()) }))],
  [
    'the etags of a deleted file come back',
    'no two contents',
    original => {
      let version = 0
      return {
        write: async (path, body, options) => {
          const entry = await original.write(path, body, options)
          version += 1
          return { ...entry, etag: String(version) }
        },
        delete: async (path, options) => {
          await original.delete(path, options)
          version = 0
        },
      }
    },
  ],
  ['etags have spaces', 'round trip of 1 ', entries(entry => ({ ...entry, etag: `a ${entry.etag}` }))],
  ['etags are quoted', 'round trip of 1 ', entries(entry => ({ ...entry, etag: `"${entry.etag}"` }))],
  ['checksums are wrong', 'round trip of 1 ', entries(entry => ({ ...entry, checksums: { md5: '0'.repeat(32) } }))],
  [
    'times are in seconds',
    'round trip of 1 ',
    entries(entry => ({ ...entry, modifiedAt: new Date(Date.now() / 1000) })),
  ],
  ['times are not kept', 'modifiedAt: every entry', withoutTimes],
  ['times are kept without the trait', 'modifiedAt: a write that is', () => ({ traits: { emptyDirectories: true } })],
  [
    'listings have another time',
    'modifiedAt: every entry',
    original => ({
      list: async (path, options) => {
        const page = await original.list(path, options)
        return { ...page, entries: page.entries.map(entry => ({ ...entry, modifiedAt: new Date() })) }
      },
    }),
  ],
  [
    'etags are size and time',
    'modifiedAt: a write over',
    entries(entry => ({ ...entry, etag: `${entry.size}-${Number(entry.modifiedAt)}` })),
  ],
  [
    'names are whole paths',
    'a path of 60',
    original => ({
      stat: async (path, options) => ({ ...(await original.stat(path, options)), name: path }),
    }),
  ],
  ['traits have wrong types', 'traits have', () => ({ traits: { emptyDirectories: 'yes' } as never })],
  ['ids depend on the content', 'fileId: differs', entries(entry => ({ ...entry, fileId: `id:${entry.size}` }))],
  ['ids depend on the name', 'fileId: differs', entries(entry => ({ ...entry, fileId: `id:${entry.name}` }))],
  ['ids are random', 'fileId: differs', entries(entry => ({ ...entry, fileId: randomUUID() }))],
  ['ids are too long', 'fileId: differs', entries(entry => ({ ...entry, fileId: 'x'.repeat(2049) }))],
  ['ids are numbers', 'fileId: an empty folder', entries(entry => ({ ...entry, fileId: 5 as never }))],
  [
    'ids depend on the provider',
    'fileId: is the same through another',
    original => {
      const prefix = randomUUID()
      return entries(entry => ({ ...entry, fileId: prefix + entry.fileId }))(original)
    },
  ],
  ['media types are changed', 'a media type', entries(entry => ({ ...entry, mimeType: 'text/plain' }))],
  [
    'ranges count from one',
    'ranges around',
    original => ({
      read: (path, { range, ...options }) =>
        original.read(
          path,
          range ? { ...options, range: { ...range, offset: Math.max(0, range.offset - 1) } } : options,
        ),
    }),
  ],
  [
    'ranges are ignored',
    'a range that begins',
    original => ({
      read: (path, { signal, ifMatch = '' }) => original.read(path, { signal, ...(ifMatch && { ifMatch }) }),
    }),
  ],
  [
    'the entry describes the range',
    'ranges around',
    original => ({
      read: async (path, options) => {
        const { body, entry } = await original.read(path, options)
        return { body, entry: { ...entry, size: options.range?.length ?? entry.size } }
      },
    }),
  ],
  [
    'ifMatch is ignored',
    'ifMatch',
    original => ({ read: (path, { signal, range }) => original.read(path, { signal, ...(range && { range }) }) }),
  ],
  [
    'names are normalised',
    'common file names',
    original => ({
      write: (path, body, options) => original.write(p(path.normalize('NFC')), body, options),
      stat: (path, options) => original.stat(p(path.normalize('NFC')), options),
      read: (path, options) => original.read(p(path.normalize('NFC')), options),
    }),
  ],
  [
    'names are trimmed',
    'common folder names',
    original => ({
      write: (path, body, options) => original.write(p(path.replace(/ +(\/|$)/g, '$1')), body, options),
      stat: (path, options) => original.stat(p(path.replace(/ +(\/|$)/g, '$1')), options),
      read: (path, options) => original.read(p(path.replace(/ +(\/|$)/g, '$1')), options),
    }),
  ],
  [
    'names are refused',
    'common file names',
    original => ({
      write: async (path, body, options) => {
        if (!path.includes('#')) return original.write(path, body, options)
        body.destroy()
        throw new StorageError('INVALID_PATH', 'No such names here.')
      },
    }),
  ],
  [
    'cursors are offsets',
    'a walk of 2,000',
    original => ({
      list: async (path, { limit, cursor, signal }) => {
        const { entries } = await original.list(path, { signal, limit: 1_000_000 })
        const end = Number(cursor ?? 0) + limit
        return { entries: entries.slice(end - limit, end), ...(end < entries.length && { cursor: String(end) }) }
      },
    }),
  ],
  [
    'the last page is lost',
    'a folder of many',
    original => ({
      list: async (path, options) => {
        const { entries, cursor } = await original.list(path, options)
        return { entries, ...(cursor && options.cursor === undefined && { cursor }) }
      },
    }),
  ],
  [
    'pages overlap',
    'a folder of many',
    original => ({
      list: async (path, options) => {
        const page = await original.list(path, options)
        const before = page.entries.at(-2)
        return page.cursor && before ? { ...page, cursor: before.name } : page
      },
    }),
  ],
  [
    'pages are too long',
    'two entries',
    original => ({ list: (path, options) => original.list(path, { ...options, limit: 1000 }) }),
  ],
  [
    'pages never end',
    'two entries',
    original => ({
      list: async (path, options) => ({ cursor: 'b', ...(await original.list(path, { ...options })) }),
    }),
  ],
  ...['', null, 'again'].map((cursor): [string, string, Mutation] => [
    `a cursor is ${JSON.stringify(cursor)}`,
    'a new provider',
    () => ({ list: async () => ({ entries: [], cursor: cursor as string }) }),
  ]),
  ['listings lag', 'a listing shows', () => ({ list: async () => ({ entries: [] }) })],
  [
    'overwrite: false is ignored',
    'overwrite: false',
    original => ({
      write: (path, body, options) => original.write(path, body, { ...options, overwrite: true }),
    }),
  ],
  [
    'create is check-then-write',
    'exactly one of 40 concurrent writers',
    original => ({
      write: async (path, body, options) => {
        if (!options.overwrite && (await original.stat(path, options).catch(() => null))) {
          body.destroy()
          throw new StorageError('ALREADY_EXISTS', 'It exists.')
        }
        return original.write(path, body, { ...options, overwrite: true })
      },
    }),
  ],
  [
    'bodies are not destroyed',
    'a refused write',
    original => ({
      write: async (path, body, options) => {
        if (!options.overwrite) await original.write(path, Readable.from([]), options)
        return original.write(path, body, { ...options, overwrite: true })
      },
    }),
  ],
  [
    'deleting a missing path is an error',
    'a missing path',
    original => ({
      delete: async (path, options) => {
        await original.stat(path, options)
        await original.delete(path, options)
      },
    }),
  ],
  [
    'folders are deleted with their content',
    'a directory that is not empty',
    original => ({
      delete: (path, options) =>
        path === 'folder' ? original.delete(p('folder/file'), options) : original.delete(path, options),
    }),
  ],
  [
    'the kind of a given entry is trusted',
    'a delete that is given',
    original => ({
      delete: async (path, options) => {
        const { kind } = await original.stat(path, options).catch(() => ({ kind: undefined }))
        if (!options.entry || !kind || options.entry.kind === kind) await original.delete(path, options)
      },
    }),
  ],
  [
    'the range is ignored where the entry is given',
    'a read that is given',
    original => ({
      read: (path, { range, entry, ...options }) =>
        original.read(path, entry || !range ? options : { ...options, range }),
    }),
  ],
  ['a missing path is another error', 'a missing path', () => ({ stat: fails })],
  [
    'errors have only a code',
    'a missing path',
    original => ({
      stat: async (path, options) => {
        try {
          return await original.stat(path, options)
        } catch {
          throw Object.assign(new Error('missing'), { code: 'NOT_FOUND' })
        }
      },
    }),
  ],
  [
    'exclusive is ignored',
    'mkdir with exclusive',
    original => ({ mkdir: (path, options) => original.mkdir(path, { ...options, exclusive: false }) }),
  ],
  ['an abort rejects with another error', 'every call with an aborted', () => ({ stat: fails })],
  [
    'writes happen in place',
    'a write that is aborted',
    original => ({
      write: async (path, body, options) => {
        let whole = Buffer.alloc(0)
        let entry: Entry | undefined
        try {
          for await (const bytes of body.once('error', () => {})) {
            whole = Buffer.concat([whole, bytes])
            entry = await original.write(path, Readable.from([whole], { objectMode: false }), {
              ...never,
              overwrite: true,
            })
            options.signal.addEventListener('abort', () => body.destroy())
          }
        } catch (error) {
          throw options.signal.aborted ? options.signal.reason : error
        }
        return entry ?? original.write(path, Readable.from([]), options)
      },
    }),
  ],
  [
    'a body that already failed is stored as an empty file',
    'a body that failed before',
    original => ({
      write: async (path, body, options) =>
        original.write(path, body.destroyed ? Readable.from([], { objectMode: false }) : body, options),
    }),
  ],
  [
    'an error of the body is hidden',
    'a write whose body fails',
    original => ({
      write: async (path, body, options) => original.write(path, body, options).catch(fails),
    }),
  ],
  [
    'a write stops at its size hint',
    'a body that fails after',
    original => ({
      write: async (path, body, options) => {
        if (options.size === undefined) return original.write(path, body, options)
        const pieces: Buffer[] = []
        let left = options.size
        for await (const bytes of body) {
          pieces.push(bytes)
          left -= bytes.length
          if (left <= 0) break
        }
        return original.write(path, Readable.from([Buffer.concat(pieces)], { objectMode: false }), options)
      },
    }),
  ],
  [
    'a body that was cut is stored',
    'a body that is destroyed',
    original => ({
      write: async (path, body, options) => {
        const pieces: Buffer[] = []
        await new Promise<void>(done => body.on('data', bytes => pieces.push(bytes)).once('close', done))
        return original.write(path, Readable.from([Buffer.concat(pieces)], { objectMode: false }), options)
      },
    }),
  ],
  [
    'a read continues after an abort',
    'a read that is aborted',
    original => ({
      read: (path, options) => original.read(path, { ...options, ...never }),
    }),
  ],
  [
    'reading buffers the file',
    'a slow reader',
    original => ({
      read: async (path, options) => {
        const { body, entry } = await original.read(path, options)
        return { body: Readable.from([await buffer(body)], { objectMode: false }), entry }
      },
    }),
  ],
  [
    'reading buffers the file',
    'a large file',
    original => ({
      read: async (path, options) => {
        const { body, entry } = await original.read(path, options)
        const pieces: Buffer[] = []
        const holding = new Transform({
          transform(bytes, _encoding, done) {
            pieces.push(Buffer.from(bytes))
            done(null, bytes)
          },
        })
        // Keep the pieces in memory as long as the body.
        return { body: Object.assign(body.pipe(holding), { pieces }), entry }
      },
    }),
  ],
  ['quotas are negative', 'quota', () => ({ quota: async () => ({ used: -1, total: null }) })],
  [
    'uploads are visible at once',
    'resumable: a file becomes',
    appending(original => ({
      append: async (state, body, options) => {
        const next = await original.append(state, body, options)
        const end = { ...options, offset: options.offset + options.size, size: 0, overwrite: true }
        await original.complete(next, Readable.from([], { objectMode: false }), end)
        return next
      },
    })),
  ],
  [
    'an empty file is refused',
    'resumable: sizes from',
    appending(original => ({
      complete: (state, body, options) =>
        options.offset + options.size === 0 ? fails() : original.complete(state, body, options),
    })),
  ],
  [
    'an empty last part is refused',
    'resumable: complete without',
    appending(original => ({
      complete: (state, body, options) => (options.size === 0 ? fails() : original.complete(state, body, options)),
    })),
  ],
  [
    'a full last part is refused',
    'resumable: sizes from',
    appending(original => ({
      complete: (state, body, options) =>
        options.size >= original.partSize ? fails() : original.complete(state, body, options),
    })),
  ],
  [
    'an append that is no multiple of a part is refused',
    'resumable: appends have',
    appending(original => ({
      append: (state, body, options) =>
        options.size % original.partSize === 0 ? original.append(state, body, options) : fails(),
    })),
  ],
  [
    'repeated appends add up',
    'resumable: each call',
    appending(original => {
      let sent = 0
      return { append: (state, body, options) => original.append(state, body, { ...options, offset: sent++ }) }
    }),
  ],
  [
    'half of the last part is stored as the whole',
    'resumable: append and complete',
    appending(original => ({
      complete: async (state, body, options) => {
        const first = await body[Symbol.asyncIterator]().next()
        return original.complete(state, Readable.from([first.value], { objectMode: false }), options)
      },
    })),
  ],
  [
    'a repeated complete fails with any error',
    'resumable: each call',
    appending(original => {
      let isDone = false
      return {
        complete: async (state, body, options) => {
          if (isDone) return fails()
          const entry = await original.complete(state, body, options)
          isDone = true
          return entry
        },
      }
    }),
  ],
  [
    'half an append is kept',
    'resumable: append and complete',
    appending(original => ({
      append: async (state, body, options) => {
        const first = await body[Symbol.asyncIterator]().next()
        return original.append(state, Readable.from([first.value], { objectMode: false }), options)
      },
    })),
  ],
  [
    'an append continues after an abort',
    'resumable: a call with an aborted',
    appending(original => ({
      append: (state, body, options) => original.append(state, body, { ...options, ...never }),
    })),
  ],
  [
    'complete continues after an abort',
    'resumable: a call with an aborted',
    appending(original => ({
      complete: (state, body, options) => original.complete(state, body, { ...options, ...never }),
    })),
  ],
  [
    'states are kept in memory',
    'resumable: another replica',
    appending(original => {
      const states = new Map<string, string>()
      const real = (id: string) => states.get(id) ?? ''
      const kept = (state: string) => {
        const id = randomUUID()
        states.set(id, state)
        return id
      }
      return {
        begin: async (path, options) => kept(await original.begin(path, options)),
        append: async (state, body, options) => kept(await original.append(real(state), body, options)),
        complete: (state, body, options) => original.complete(real(state), body, options),
      }
    }),
  ],
  [
    'states are too long',
    'resumable: a file becomes',
    appending(original => ({ begin: async (path, options) => (await original.begin(path, options)).padEnd(8193) })),
  ],
  [
    'a repeated abort is an error',
    'resumable: abort leaves',
    appending(() => {
      const seen = new Set<string>()
      return { abort: async state => (seen.has(state) ? fails() : void seen.add(state)) }
    }),
  ],
  [
    'uploads ignore overwrite: false',
    'resumable: complete keeps',
    appending(original => ({
      complete: (state, body, options) => original.complete(state, body, { ...options, overwrite: true }),
    })),
  ],
  [
    'one path has one upload',
    'resumable: two uploads',
    appending(original => {
      let only: Promise<string> | undefined
      return { begin: (path, options) => (only ??= original.begin(path, options)) }
    }),
  ],
  [
    'entries are not in the order that the trait names',
    'list returns all entries',
    original => ({
      traits: { ...original.traits, listOrder: 'keys' },
      list: (path, { from: _ignored, ...options }) => original.list(path, options),
    }),
  ],
  [
    'an upload ignores the time of its file',
    'modifiedAt: a resumable upload',
    appending(original => ({
      begin: (path, { modifiedAt: _ignored, ...options }) => original.begin(path, options),
    })),
  ],
  [
    'parts are in the order in which they arrived',
    'parts: parts in any order',
    inParts(original => {
      let count = 0
      return { put: (state, body, options) => original.put(state, body, { ...options, number: ++count }) }
    }),
  ],
  [
    'the first version of a part stays',
    'parts: a repeated part',
    inParts(original => {
      const tags = new Map<number, string>()
      return {
        put: async (state, body, options) => {
          const known = tags.get(options.number)
          const tag = known ?? (await original.put(state, body, options))
          tags.set(options.number, tag)
          return tag
        },
      }
    }),
  ],
  [
    'half of a part is kept',
    'parts: a repeated part',
    inParts(original => ({
      put: async (state, body, options) => {
        const first = await body[Symbol.asyncIterator]().next()
        return original.put(state, Readable.from([first.value ?? ''], { objectMode: false }), options)
      },
    })),
  ],
  [
    'all parts are one tag',
    'parts: complete refuses',
    inParts(original => {
      const tags = new Map<number, string>()
      return {
        put: async (state, body, options) => {
          tags.set(options.number, await original.put(state, body, options))
          return `${options.number}`
        },
        complete: (state, parts, options) =>
          original.complete(
            state,
            parts.map(({ number, tag }) => ({ number, tag: tags.get(number) ?? tag })),
            options,
          ),
      }
    }),
  ],
  [
    'parts are kept in memory',
    'parts: another replica',
    inParts(original => {
      const known = new Set<string>()
      return {
        put: async (state, body, options) => {
          const tag = await original.put(state, body, options)
          known.add(tag)
          return tag
        },
        complete: (state, parts, options) =>
          parts.every(({ tag }) => known.has(tag)) ? original.complete(state, parts, options) : fails(),
      }
    }),
  ],
  [
    'parts ignore overwrite: false',
    'parts: complete keeps',
    inParts(original => ({
      complete: (state, parts, options) => original.complete(state, parts, { ...options, overwrite: true }),
    })),
  ],
  [
    'links do not decode',
    'presign: a read link returns',
    original => ({
      presign: async (path, options) => original.presign?.(p(encodeURIComponent(path)), options) ?? fails(),
    }),
  ],
  [
    'links ignore the requested headers',
    'presign: a read link responds',
    original => ({
      presign: async (path, { responseHeaders: _ignored, ...options }) => original.presign?.(path, options) ?? fails(),
    }),
  ],
  [
    'read links can write',
    'presign: a read link cannot',
    original => ({
      presign: async (path, options) => original.presign?.(path, { ...options, method: 'PUT' }) ?? fails(),
    }),
  ],
  [
    'files copied together replace others',
    'copySmall',
    original => ({
      copySmall: async (from, to, names, options) => {
        for (const name of names) await original.delete(childOf(to, name), options)
        return original.copySmall?.(from, to, names, options) ?? fails()
      },
    }),
  ],
  [
    'files copied together have other bytes',
    'copySmall',
    original => ({
      copySmall: async (from, to, names, options) => {
        const { copySmall, write } = original
        const copies = (await copySmall?.(from, to, names, options)) ?? []
        const spoil = (path: StoragePath) =>
          write(path, Readable.from(['other'], { objectMode: false }), { ...options, overwrite: true })
        return Promise.all(copies.map((copy, index) => copy && spoil(childOf(to, names[index] ?? ''))))
      },
    }),
  ],
  [
    'a file copied together has no result',
    'copySmall',
    original => ({
      copySmall: async (from, to, names, options) =>
        ((await original.copySmall?.(from, to, names, options)) ?? []).filter(copy => copy !== null),
    }),
  ],
  [
    'changes are not reported',
    'changes: what another',
    original => ({
      changes: async (cursor, options) => {
        const page = await original.changes?.(cursor, options)
        return page ? { ...page, changed: [] } : null
      },
    }),
  ],
  [
    'changes have absolute paths',
    'changes: what another',
    original => ({
      changes: async (cursor, options) => {
        const page = await original.changes?.(cursor, options)
        if (!page || page.changed === 'everything') return page ?? null
        return { ...page, changed: page.changed.map(({ path }) => ({ path: p(`/${path}`) })) }
      },
    }),
  ],
  [
    'changes are reported once, whatever the cursor is',
    'changes: a result that was lost',
    original => {
      let last: string | null = null
      return {
        changes: async (cursor, options) => {
          const page = await original.changes?.(cursor === null ? null : last, options)
          last = page?.cursor ?? last
          return page ?? null
        },
      }
    },
  ],
  [
    'changes are reported again and again',
    'changes: nothing is reported',
    original => ({
      changes: async (cursor, options) => {
        const page = await original.changes?.(cursor, options)
        return page ? { ...page, changed: [{ path: p('file') }] } : null
      },
    }),
  ],
  [
    'the retry time is lost',
    'faults: a rate limit',
    original => ({
      stat: async (path, options) =>
        original.stat(path, options).catch(error => {
          throw new StorageError(error.code, error.message)
        }),
    }),
  ],
  [
    'a rate limit is an outage',
    'faults: a rate limit',
    original => ({ list: (path, options) => original.list(path, options).catch(fails) }),
  ],
  [
    'an outage is NOT_FOUND',
    'faults: a back end that is down',
    original => ({
      stat: (path, options) =>
        original.stat(path, options).catch(() => {
          throw new StorageError('NOT_FOUND', 'There is nothing.')
        }),
    }),
  ],
  [
    'expired credentials are an outage',
    'faults: expired',
    original => ({ read: (path, options) => original.read(path, options).catch(fails) }),
  ],
  [
    'a refused write keeps its body',
    'faults: a rate limit',
    original => ({
      write: async (path, body, options) => {
        await original.stat(p(''), options)
        return original.write(path, body, options)
      },
    }),
  ],
]

t.test('the kit finds every fault', async t => {
  // `npm test` tries a twelfth of the faults.
  const tried = extent({ gate: faults.filter((_, index) => index % 12 === 1), nightly: faults })
  await passes(t, tried, harness(mutated(() => ({}))))
  for (const [what, name, mutation] of tried) await finds(t, what, name, harness(mutated(mutation)))
})

/** Faults of methods that only the local adapter has. */
const onDisk: [string, string, Mutation][] = [
  [
    'copies ignore overwrite: false',
    'copy: keeps',
    original => ({
      copy: (from, to, options) => original.copy?.(from, to, { ...options, overwrite: true }) ?? fails(),
    }),
  ],
  [
    'copies move',
    'copy: stores',
    original => ({ copy: (from, to, options) => original.move?.(from, to, options) ?? fails() }),
  ],
  [
    'moves copy',
    'move: stores',
    original => ({ move: (from, to, options) => original.copy?.(from, to, options) ?? fails() }),
  ],
  [
    'NOT_IN_ONE_STEP after a change',
    'copy: stores',
    original => ({
      copy: async (from, to, options) => {
        await original.copy?.(from, to, options)
        throw new StorageError('NOT_IN_ONE_STEP', 'Not in one step.')
      },
    }),
  ],
  [
    'moves replace folders',
    'move: moves a directory',
    original => ({
      move: async (from, to, options) => {
        await original.deleteTree?.(to, options)
        return original.move?.(from, to, options) ?? fails()
      },
    }),
  ],
  ['a tree remains', 'deleteTree', () => ({ deleteTree: async () => {} })],
  [
    'a copy has the current time',
    'modifiedAt: a copy',
    original => ({
      copy: async (from, to, options) => {
        const { body } = await original.read(from, options)
        return original.write(to, body, options)
      },
    }),
  ],
  [
    'the handle is of another file',
    'openFile',
    original => ({
      openFile: async (path, options) => {
        const opened = await original.openFile?.(path, options)
        return opened ? { ...opened, entry: { ...opened.entry, etag: 'other' } } : fails()
      },
    }),
  ],
  [
    'a small file has other bytes',
    'readSmall',
    original => ({
      readSmall: async (path, options) => {
        const found = await original.readSmall?.(path, options)
        return found ? { ...found, bytes: found.bytes.map(byte => byte ^ 1) } : null
      },
    }),
  ],
  [
    'a copy of a known entry is of an old version',
    'copy: copies the current version',
    original => {
      let first: Buffer | undefined
      return {
        copy: async (from, to, options) => {
          first ??= await buffer((await original.read(from, options)).body)
          return original.write(to, Readable.from([first], { objectMode: false }), options)
        },
      }
    },
  ],
]

t.test('the kit finds every fault in copy, move, deleteTree, openFile and readSmall', async t => {
  const tried = extent({ gate: onDisk.filter((_, index) => index % 5 === 0), nightly: onDisk })
  await passes(t, tried, { open: async () => mutated(() => ({}))((await openTemporary(t)).provider) })
  for (const [what, name, mutation] of tried) {
    const openChanged = async () => mutated(mutation)((await openTemporary(t)).provider)
    await finds(t, what, name, { open: openChanged })
  }
})

t.test('NOT_IN_ONE_STEP without a change is not a fault', async t => {
  const refuse = async () => {
    throw new StorageError('NOT_IN_ONE_STEP', 'Not in one step.')
  }
  const cases = conformanceCases({ open: async () => Object.assign(open(), { copy: refuse, move: refuse }) })
  for (const { name, run } of cases.filter(({ name }) => /^(copy|move): stores/.test(name))) {
    t.match(await run(), { skipped: /one step/ }, name)
  }
})

t.test('an error of close does not hide the error of a case, and cleanUp always runs', async t => {
  let cleanings = 0
  const cleanUp = async () => {
    cleanings += 1
  }
  const close = async () => {
    throw new Error('close failed')
  }
  const run = (mutation: Mutation) => {
    const { open } = harness(mutated(original => ({ ...mutation(original), close })))
    return conformanceCases({ open, cleanUp })
      .find(({ name }) => name === 'a new provider is an empty directory')
      ?.run()
  }
  await t.rejects(Promise.resolve(run(() => ({}))), { message: 'close failed' })
  await t.rejects(Promise.resolve(run(() => ({ list: fails }))), { code: 'UNAVAILABLE' })
  t.equal(cleanings, 2)
})

t.test('the kit finds a writer that loses a race but succeeds', async t => {
  const name = 'without an atomic create'
  const racing = (mutation: Mutation): Harness => ({ ...harness(mutated(mutation)), hasCreateRaces: true })
  const sound = conformanceCases(racing(() => ({}))).filter(entry => entry.name.startsWith(name))
  for (const { run } of sound) t.same(await run(), {})
  await finds(
    t,
    'the losing writer succeeds',
    name,
    racing(original => ({
      write: async (path, body, options) => {
        if (options.overwrite) return original.write(path, body, options)
        const first = await buffer(body)
        const entry = await original.write(path, Readable.from([first], { objectMode: false }), {
          ...options,
          overwrite: true,
        })
        if (!first.toString('latin1').startsWith('writer 0 ')) throw new StorageError('ALREADY_EXISTS', 'It exists.')
        return entry
      },
    })),
  )
})

t.test('a harness must state exactly the common names that the back end refuses', async t => {
  const refuses = (name: string) => name.includes('#')
  const picky = mutated(original => ({
    write: async (path, body, options) => {
      if (!refuses(path)) return original.write(path, body, options)
      body.destroy()
      throw new StorageError('INVALID_PATH', 'No such names here.')
    },
  }))
  const named = (of: Harness) => conformanceCases(of).find(({ name }) => name.startsWith('common file names'))
  t.same(await named({ ...harness(picky), refuses })?.run(), {})
  await t.rejects(Promise.resolve(named({ ...harness(), refuses })?.run()), /#anchor.* is stored/)
})

/** Runs the cases without a mutation, to prove that only the mutation makes them fail. */
async function passes(t: Test, faults: readonly [string, string, Mutation][], of: Harness): Promise<void> {
  const names = new Set(faults.map(([, name]) => name))
  const cases = conformanceCases(of).filter(({ name }) => [...names].some(start => name.startsWith(start)))
  for (const { name, run } of cases) t.same(await run(), {}, name)
}

async function finds(t: Test, what: string, name: string, of: Harness): Promise<void> {
  const cases = conformanceCases(of).filter(entry => entry.name.startsWith(name))
  t.equal(cases.length, 1, `the name of exactly one case starts with "${name}"`)
  for (const { run } of cases) await t.rejects(run(), what)
}

/** Returns the run of the case whose name starts so. */
function runOne(from: Harness, start: string): () => Promise<object> {
  const found = conformanceCases(from).find(({ name }) => name.startsWith(start))
  if (!found) throw new Error(`There is no case "${start}"`)
  return found.run
}

t.test('an error of cleanUp does not replace the error of the case', async t => {
  const faulty = harness(mutated(() => ({ stat: fails })))
  const cleanUp = async () => {
    throw new Error('cleanUp failed')
  }
  const failing = runOne({ ...faulty, cleanUp }, 'round trip of 1 ')
  await t.rejects(failing, { code: 'UNAVAILABLE' })
  const passing = runOne({ ...harness(), cleanUp }, 'round trip of 1 ')
  await t.rejects(passing, { message: 'cleanUp failed' })
})

t.test('a case that hangs fails after its time limit, and names the call', async t => {
  const hanging = harness(mutated(() => ({ delete: () => new Promise<never>(() => {}) })))
  const hung = runOne({ ...hanging, timeLimit: 200 }, 'a directory that is not empty is not deleted')
  await t.rejects(hung, { message: 'Not ended after 0.2 seconds: delete of "folder".' })
})

t.test('close waits for the calls that a failed case has left', async t => {
  let underWay = 0
  let atClose: number | undefined
  const racing = harness(original =>
    mutated(() => ({
      async mkdir() {
        underWay += 1
        if (underWay === 1) throw new StorageError('UNAVAILABLE', 'Not now.')
        await sleep(50)
        underWay -= 1
      },
      close: async () => {
        atClose = underWay - 1
      },
    }))(original),
  )
  const failed = runOne(racing, 'all of 20 concurrent mkdir')
  await t.rejects(failed, { code: 'UNAVAILABLE' })
  t.equal(atClose, 0)
})

t.test('a failure names the file name that it is about', async t => {
  const faulty = harness(
    mutated(original => ({
      stat: async (path, options) =>
        path === '100%' ? { ...(await original.stat(path, options)), name: '100' } : original.stat(path, options),
    })),
  )
  const failed = runOne(faulty, 'common file names')
  await t.rejects(failed, { message: /^"100%": / })
})

t.test('etags that settle late are tested once they have settled', async t => {
  let settled = false
  const late = (change: (entry: Entry) => Entry): Harness => ({
    ...harness(mutated(entries(entry => (settled ? change(entry) : { ...entry, etag: null })))),
    settle: async () => {
      settled = true
    },
  })
  const find = (from: Harness) => runOne(from, 'a shorter file replaces')
  t.same(await find(late(entry => entry))(), {})
  settled = false
  await t.rejects(find(late(entry => ({ ...entry, etag: 'same' }))))
})

t.test('times in listings may be as coarse as the adapter says, and no coarser', async t => {
  const coarse = (traits: object) =>
    harness(
      mutated(original => ({
        traits: { ...original.traits, ...traits },
        stat: async (path, options) => ({
          ...(await original.stat(path, options)),
          modifiedAt: new Date('2026-03-01T10:20:30Z'),
        }),
        list: async (path, options) => {
          const page = await original.list(path, options)
          const modifiedAt = new Date('2026-03-01T10:00:00Z')
          return { ...page, entries: page.entries.map(entry => ({ ...entry, modifiedAt })) }
        },
      })),
    )
  const find = (from: Harness) => runOne(from, 'listed entries equal')
  t.same(await find(coarse({ listedTimePrecision: 3_600_000 }))(), {})
  await t.rejects(find(coarse({})))
  await t.rejects(find(coarse({ listedTimePrecision: 60_000 })))
})
