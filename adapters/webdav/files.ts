import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type Call, StorageError, type StoragePath, segmentsOf } from '../contract.ts'
import type { Facts, PlainFiles } from '../plain/files.ts'
import { stagedAt, stagingFolder, stagingName } from '../plain/staging.ts'
import { prepareBody } from './body.ts'
import type { DavClient } from './client.ts'
import type { WebdavSettings } from './config.ts'
import type { DavResource } from './multistatus.ts'
import { decodeHref, encodeSegments, namesIn } from './paths.ts'
import { factsRequest, ocFactsRequest, quotaRequest, type ServerFacts, toFacts, toQuota } from './properties.ts'

/** Bytes of a name: more than any common file system takes. Servers do not say that a name is too long. */
const maxNameBytes = 255

/** What the server can do. */
export interface Features {
  isOwnCloud: boolean
  hasQuota: boolean
  /** PUT replaces a file in one step, while MOVE deletes it first. */
  replacesByPut: boolean
}

export function webdavFiles(settings: WebdavSettings, features: Features, client: DavClient): PlainFiles {
  const { base, origin } = settings
  const decodedBase = decodeHref(base) ?? base
  const server: ServerFacts = { storeId: `webdav:${origin.origin}`, isOwnCloud: features.isOwnCloud }
  const body = features.isOwnCloud ? ocFactsRequest : factsRequest

  // Another Stowage behind the address reserves the usual name for itself.
  const stagingAtServer = features.isOwnCloud ? '.stowage-unfinished' : stagingName

  /** Returns the encoded path of a file. */
  const at = (path: StoragePath) => {
    const [top, ...below] = segmentsOf(path)
    if (top === stagingAtServer && top !== stagingName) throw unstorable(`The name "${top}" is reserved`)
    if (segmentsOf(path).some(name => Buffer.byteLength(name) > maxNameBytes)) {
      throw unstorable(`A name can have at most ${maxNameBytes} bytes here`)
    }
    return `${base}${encodeSegments(top === stagingName ? [stagingAtServer, ...below] : segmentsOf(path))}`
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

  const find = async (path: StoragePath, call: Call): Promise<Facts | null> => {
    const target = at(path)
    try {
      const [found] = await propfind(target, '0', call)
      return found?.facts ?? null
    } catch (error) {
      // A path below a file is malformed for some servers.
      if (error instanceof StorageError && ['NOT_FOUND', 'INVALID_PATH'].includes(error.code)) return null
      throw error
    }
  }

  const list = async (path: StoragePath, call: Call) => {
    const found = await propfind(folderAt(path), '1', call)
    const folder = `${decodedBase}/${path}`
    const names = namesIn(
      found.map(({ resource }) => resource.href),
      folder,
    )
    return found.flatMap(({ facts }, index) => {
      const name = names[index]
      return name ? [{ ...facts, name: path === '' && name === stagingAtServer ? stagingName : name }] : []
    })
  }

  const put = async (
    path: StoragePath,
    source: Readable,
    { signal, modifiedAt, ...hint }: Call & { modifiedAt?: Date; size?: number },
  ) => {
    const { headers, body } = await prepareBody(source, { signal, ...hint })
    const time = modifiedAt && { 'x-oc-mtime': String(Math.floor(modifiedAt.getTime() / 1000)) }
    await client.run('PUT', at(path), { signal, headers: { ...headers, ...time }, body })
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
    traits: features.isOwnCloud ? { keepsModifiedAt: true } : {},
    idOf: path => `${server.storeId}${decodedBase}${path === '' ? '' : `/${path}`}`,
    find,
    list,

    async *receive(path, { signal, start, end, facts }) {
      const isWhole = start === 0 && end === facts.size
      const response = await client.send('GET', at(path), {
        signal,
        headers: {
          'accept-encoding': 'identity',
          ...(!isWhole && { range: `bytes=${start}-${end - 1}` }),
          ...(facts.etag && { 'if-match': `"${facts.etag}"` }),
        },
      })
      const isPart = response.status === 206
      if (!isSameVersion(facts, response.headers, isPart)) {
        await response.body?.cancel()
        throw new StorageError('PRECONDITION_FAILED', 'The file has changed since.')
      }
      // Servers may send the whole file instead of a part.
      let skip = isPart ? 0 : start
      for await (const chunk of client.content(response)) {
        if (chunk.length > skip) yield chunk.subarray(skip)
        skip = Math.max(0, skip - chunk.length)
      }
    },

    store: put,
    ...(features.replacesByPut && { replace: put }),

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
        if ((await list(folder, call)).length > 0) throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
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
    close() {},
  }
}

const unstorable = (why: string) => new StorageError('INVALID_PATH', `${why}: choose another one.`)

/** Compares a response with what the server said about the file before. A server with etags has compared the version itself. */
function isSameVersion({ size, modifiedAt, etag }: Facts, headers: Headers, isPart: boolean): boolean {
  const total = isPart ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  const time = Date.parse(headers.get('last-modified') ?? '')
  const isSameSize = total == null || size === null || Number(total) === size
  return isSameSize && (etag != null || Number.isNaN(time) || modifiedAt === null || time === modifiedAt.getTime())
}
