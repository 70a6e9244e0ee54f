import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { changed, hasCode, notEmpty, requireOffset, uploadNotFound } from '../../bases/errors.ts'
import type { Commit, Facts, PlainFiles, StoreOptions } from '../../bases/plain/files.ts'
import { withSource } from '../../bases/plain/source.ts'
import { isSameName, stagedAt, stagingFolder, stagingName } from '../../bases/plain/staging.ts'
import { formatState } from '../../bases/upload-state.ts'
import { type Call, childOf, type ResumableWrites, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'
import { changesSince } from './changes.ts'
import type { DavClient } from './client.ts'
import type { WebdavSettings } from './config.ts'
import { statusOf } from './errors.ts'
import { type DavResource, decodeHref, encodeSegments, namesIn } from './multistatus.ts'
import {
  factsRequest,
  ocFactsRequest,
  quotaRequest,
  type ServerFacts,
  timeHeader,
  toFacts,
  toQuota,
} from './properties.ts'
import {
  maxChunks,
  minChunk,
  newUploadId,
  parseId,
  parseUpload,
  putHashed,
  UploadFolders,
  type UploadState,
} from './upload-folders.ts'
import { chunkSize, prepareBody, untilEnd, writeInChunks } from './write.ts'

/** Bytes of a name: more than any common file system takes. Servers do not say that a name is too long. */
const maxNameBytes = 255

/** The features of the server. */
export interface Features {
  isOwnCloud: boolean
  hasQuota: boolean
  /** PUT replaces a file in one step, while MOVE deletes it first. */
  replacesByPut: boolean
  /** The encoded path of the user's uploads in chunks, with a `/` at its end: Nextcloud and ownCloud 10 have them. */
  uploads: string | null
  /** The server tells what has changed. */
  hasSync: boolean
}

export function webdavFiles(settings: WebdavSettings, features: Features, client: DavClient): PlainFiles {
  const { base, origin, storeId } = settings
  const decodedBase = decodeHref(base) ?? base
  // The ids that a server has itself are the same for all of its accounts.
  const server: ServerFacts = { storeId: `webdav:${origin.origin}`, isOwnCloud: features.isOwnCloud }
  const body = features.isOwnCloud ? ocFactsRequest : factsRequest
  const decoded = (path: StoragePath) => (path === '' ? decodedBase : `${decodedBase}/${path}`)

  // Another Stowage behind the address reserves the usual name for itself.
  const stagingAtServer = features.isOwnCloud ? '.stowage-unfinished' : stagingName
  // Names are translated at every level, because the root of another provider may be below this one.
  const toServer = (name: string) => (name === stagingName ? stagingAtServer : name)
  const fromServer = (name: string) => (isSameName(name, stagingAtServer) ? stagingName : name)

  /** Returns the encoded path of a file. */
  const at = (path: StoragePath) => {
    const names = segmentsOf(path)
    const reserved = names.find(name => fromServer(name) !== name)
    if (reserved !== undefined) throw unstorable(`The name "${reserved}" is reserved`)
    if (names.some(name => Buffer.byteLength(name) > maxNameBytes)) {
      throw unstorable(`A name can have at most ${maxNameBytes} bytes here`)
    }
    // Nextcloud and ownCloud would store the other form, in which the name may be that of another file.
    if (features.uploads && path !== path.normalize())
      throw unstorable('The server keeps names in the Unicode form NFC alone')
    return `${base}${encodeSegments(names.map(toServer))}`
  }
  /** Some servers take a path for that of a folder only if it ends in a slash. */
  const folderAt = (path: StoragePath) => (path === '' ? base : `${at(path)}/`)

  const propfind = async (target: string, depth: '0' | '1', call: Call) => {
    const headers = { depth, 'content-type': 'application/xml' }
    const response = await client.send('PROPFIND', target, { signal: call.signal, headers, body })
    const found: DavResource[] = []
    for await (const resource of client.resources(response)) found.push(resource)
    const date = response.headers.get('date')
    return found.map(resource => ({ resource, facts: toFacts(resource, date, server) }))
  }

  const withId = (path: StoragePath, facts: Facts): Facts => ({ fileId: `${storeId}${decoded(path)}`, ...facts })

  const find = async (path: StoragePath, call: Call): Promise<Facts | null> => {
    const target = at(path)
    try {
      const [found] = await propfind(target, '0', call)
      return found ? withId(path, found.facts) : null
    } catch (error) {
      // A path below a file is malformed for some servers.
      if (hasCode(error, 'NOT_FOUND', 'INVALID_PATH')) return null
      throw error
    }
  }

  const uploads =
    features.uploads === null
      ? null
      : new UploadFolders(client, { ...settings, home: features.uploads, addressOf: at, find })

  const list = async (path: StoragePath, call: Call) => {
    const found = await propfind(folderAt(path), '1', call)
    const folder = `${decodedBase}/${path}`
    const names = namesIn(
      found.map(({ resource }) => resource.href),
      folder,
    )
    return found.flatMap(({ facts }, index) => {
      const name = names[index]
      return name ? [{ ...withId(childOf(path, name), facts), name: fromServer(name) }] : []
    })
  }

  const put = async (path: StoragePath, source: Readable, { modifiedAt, unfinished, ...options }: StoreOptions) => {
    const { signal } = options
    const { body, size, headers } = await prepareBody(source, options)
    const time = timeHeader(modifiedAt)
    const request = { signal, headers: { ...headers, ...time }, body }
    if (!uploads) await client.run('PUT', at(path), request)
    else if (Buffer.isBuffer(body) || (size !== undefined && size <= chunkSize))
      await putHashed(client, at(path), request)
    else await writeInChunks(uploads, { body, size }, { signal, path, headers: time, unfinished })
  }

  const transfer = async (
    method: 'MOVE' | 'COPY',
    from: string,
    to: string,
    { signal, overwrite }: Call & { overwrite: boolean },
  ) => {
    const headers = { destination: `${origin.origin}${to}`, overwrite: overwrite ? 'T' : 'F', depth: 'infinity' }
    await client.run(method, from, { signal, headers })
  }

  const remove = async (target: string, { signal }: Call) => void (await client.run('DELETE', target, { signal }))

  const makeFolder = async (path: StoragePath, { signal }: Call) =>
    void (await client.run('MKCOL', folderAt(path), { signal }))

  return {
    // A server may run on Windows, where "\" separates folders.
    traits: { forbiddenInNames: '\\', keepsModifiedAt: features.isOwnCloud },
    // The account is left out, because several accounts may write to one file and have to take turns.
    idOf: path => `${server.storeId}${decoded(path)}`,
    find,
    list,

    receive: (path, options) => receive(client, at(path), options),
    store: put,
    ...(features.replacesByPut && { replace: put }),
    ...(uploads && { resumable: commit => resumableUploads({ uploads, commit, addressOf: at }) }),

    rename: (from, to, { kind, ...options }) =>
      kind === 'file'
        ? transfer('MOVE', at(from), at(to), options)
        : transfer('MOVE', folderAt(from), folderAt(to), options),

    makeFolder,

    // DELETE removes a folder with everything in it, so both look first.
    async removeFile(path, call) {
      const found = await find(path, call)
      if (found?.kind === 'directory') throw new StorageError('PERMISSION_DENIED', 'This is a folder, not a file.')
      await remove(at(path), call)
    },

    async removeFolder(path, call) {
      const refuse = async (folder: StoragePath) => {
        if ((await list(folder, call)).length > 0) throw notEmpty()
      }
      await refuse(path)
      // A file may have arrived since. Nothing arrives at a name that nobody knows.
      const hidden = stagedAt(randomUUID())
      await makeFolder(stagingFolder, call).catch(() => {})
      await transfer('MOVE', folderAt(path), folderAt(hidden), { ...call, overwrite: false })
      try {
        await refuse(hidden)
      } catch (error) {
        await transfer('MOVE', folderAt(hidden), folderAt(path), { ...call, overwrite: false })
        throw error
      }
      await remove(folderAt(hidden), call)
    },

    removeTree: (path, call) => remove(folderAt(path), call),
    copy: (from, to, call) => transfer('COPY', at(from), at(to), { ...call, overwrite: false }),

    ...(features.hasQuota && {
      async quota({ signal }: Call) {
        const headers = { depth: '0', 'content-type': 'application/xml' }
        const response = await client.send('PROPFIND', base, { signal, headers, body: quotaRequest })
        for await (const resource of client.resources(response)) return toQuota(resource)
        return { used: null, total: null }
      },
    }),
    ...(features.hasSync && {
      changes: (cursor: string | null, call: Call) =>
        changesSince(client, { base, decodedBase, staging: stagingAtServer }, cursor, call),
    }),
    close: () => client.close(),
  }
}

const unstorable = (why: string) => new StorageError('INVALID_PATH', `${why}: choose another one.`)

/** Yields the bytes of a file from `start` on. @param path encoded @throws PRECONDITION_FAILED where the file has changed */
async function* receive(
  client: DavClient,
  path: string,
  { signal, start, end, facts }: Call & { start: number; end: number; facts: Facts },
): AsyncGenerator<Uint8Array, void, undefined> {
  const isWhole = start === 0 && end === facts.size
  const response = await client.send('GET', path, {
    signal,
    headers: {
      'accept-encoding': 'identity',
      ...(!isWhole && { range: `bytes=${start}-${end - 1}` }),
      ...(facts.etag && { 'if-match': `"${facts.etag}"` }),
    },
  })
  const isPart = response.status === 206
  if (!isSameVersion(facts, response.headers, isPart)) {
    response.discard()
    throw changed()
  }
  // Servers may send the whole file instead of a part.
  let skip = isPart ? 0 : start
  for await (const chunk of client.content(response)) {
    if (chunk.length > skip) yield chunk.subarray(skip)
    skip = Math.max(0, skip - chunk.length)
  }
}

/** Compares a response with what the server said about the file before. A server with etags has compared the version itself. */
function isSameVersion({ size, modifiedAt, etag }: Facts, headers: Headers, isPart: boolean): boolean {
  const total = isPart ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  const time = Date.parse(headers.get('last-modified') ?? '')
  const isSameSize = total == null || size === null || Number(total) === size
  return isSameSize && (etag != null || Number.isNaN(time) || modifiedAt === null || time === modifiedAt.getTime())
}

interface Files {
  uploads: UploadFolders
  /** Makes a file visible, and takes turns with other writers. */
  commit: Commit
  /** Returns the encoded path of a file. @throws INVALID_PATH */
  addressOf(path: StoragePath): string
}

/**
 * Uploads that the server keeps in chunks. Each call stores one chunk, whose number is in the state, so it can be repeated. The last
 * one may be empty: it replaces the chunk of an attempt that nobody continued.
 */
function resumableUploads({ uploads, commit, addressOf }: Files): ResumableWrites {
  const add = (text: string, body: Readable, { signal, offset, size }: Call & { offset: number; size: number }) =>
    withSource(body, signal, async (source): Promise<UploadState> => {
      signal.throwIfAborted()
      const state = parseUpload(text)
      requireOffset(offset, state.offset)
      const number = state.chunks + 1
      const chunk = untilEnd(source.stream.iterator({ destroyOnReturn: false }), { size })
      await uploads.put(state.id, number, chunk, { signal, size, total: state.size }).catch(error => {
        throw isMissing(error) ? uploadNotFound() : error
      })
      return { ...state, chunks: number, offset: offset + size }
    })
  return {
    partSize: minChunk,
    partMultiple: 1,
    maxAppends: maxChunks,

    async begin(path, { signal, size, modifiedAt, unfinished }) {
      // Fail before the bytes are sent if the name can never be stored.
      addressOf(path)
      const id = newUploadId()
      const state = formatState({ id, path, chunks: 0, offset: 0, size, time: modifiedAt?.getTime() })
      await unfinished?.began(state)
      try {
        await uploads.begin(id, { signal })
      } catch (error) {
        await uploads.discard(id, unfinished)
        throw error
      }
      await unfinished?.ended()
      return state
    },

    append: async (text, body, options) => formatState(await add(text, body, options)),

    async complete(text, body, { signal, overwrite, ...range }) {
      const { id, path, offset: size, time } = await add(text, body, { signal, ...range })
      const headers = timeHeader(time === undefined ? undefined : new Date(time))
      const assemble = () => uploads.assemble(id, path, { signal, size, overwrite, headers })
      return await commit(path, { signal, overwrite }, assemble)
    },

    abort: (text, call) => uploads.remove(parseId(text), call),
  }
}

/** Servers refuse a chunk with 409 if the folder of its upload is missing. */
function isMissing(error: unknown): boolean {
  return [404, 409].includes(statusOf(error) ?? 0)
}
