/**
 * Renditions: PDF documents that LibreOffice makes of office documents, where it is installed. A request names a file; the answer is the
 * document, from the cache or made by a process of its own. Rights are checked as for a download, on each use.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Audit } from '../audit/index.ts'
import type { DecodedCache } from '../decoding/cache.ts'
import { type DecoderBounds, DecoderProcesses, Undecodable } from '../decoding/processes.ts'
import { programFinder } from '../decoding/programs.ts'
import { keyOf, originalOf } from '../decoding/stored-original.ts'
import type { AskedToRead } from '../files/entry.ts'
import { type ConvertTask, formatOf, maxOriginal, maxRendition } from './converter/protocol.ts'

const converterFile = fileURLToPath(new URL(`./converter/process${extname(import.meta.url)}`, import.meta.url))

/** LibreOffice takes some seconds to start on a slow machine. It bounds its own memory: see `converter/convert.ts`. */
const defaultBounds: DecoderBounds = {
  workTime: 90_000,
  memory: 512 * 1024 * 1024,
  read: maxOriginal,
  idle: 10_000,
  endsWithSignal: true,
}

export interface Rendition {
  /** Changes with the file. */
  etag: string
  /** Null if the client already has the document. */
  document: Uint8Array | null
}

export type Renditions = ReturnType<typeof createRenditions>

export function createRenditions(options: {
  storage: Storage
  audit: Audit
  /** A cache that keeps nothing switches renditions off. */
  cache: DecodedCache
  /** The value of PATH. */
  searchPath: string
  bounds?: Partial<DecoderBounds>
}) {
  const { storage, audit, cache } = options
  const converters = new DecoderProcesses<ConvertTask, unknown>(converterFile, { ...defaultBounds, ...options.bounds })
  const queue = new FairQueue({
    running: 1,
    slots: 64,
    slotsOfOwner: 8,
    refusals: { owner: 'You wait for too many renditions', all: 'The server makes too many renditions' },
  })
  const findOffice = programFinder('soffice', options.searchPath)
  const findUnshare = programFinder('unshare', options.searchPath)

  async function make(
    location: ReadLocation,
    entry: CheckedEntry,
    task: Pick<ConvertTask, 'extension' | 'soffice'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    // The process may be killed, so the server removes what it leaves.
    const folder = await mkdtemp(join(tmpdir(), 'stowage-rendition-'))
    try {
      const unshare = await findUnshare()
      const found = await converters.run(
        { ...task, size: entry.size, folder, unshare },
        range => originalOf(location, entry, range, signal),
        signal,
      )
      if (isDocument(found)) return found
      throw new Undecodable('The result of the process is no document.')
    } finally {
      // A process that is being killed may still write.
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  }

  async function readAt(
    location: ReadLocation,
    isKnown: (etag: string) => boolean,
    signal: AbortSignal,
  ): Promise<Rendition> {
    const entry = await location.stat(signal)
    if (entry.kind !== 'file') throw new AppError('NOT_A_FILE')
    const extension = formatOf(entry.name)
    const soffice = cache.isOff || extension === null ? null : await findOffice()
    if (extension === null || soffice === null) throw new AppError('NO_RENDITION')
    const key = keyOf(location, entry, ['pdf', extension])
    const etag = key.slice(0, 32)
    if (isKnown(etag)) return { etag, document: null }
    const { viewer } = location.grant
    const owner = viewer.kind === 'SHARE' ? `links ${viewer.member.userId}` : viewer.member.userId
    const makeAndKeep = async () => {
      try {
        const document = await make(location, entry, { extension, soffice }, signal)
        await cache.write(key, document)
        return document
      } catch (error) {
        if (!(error instanceof Undecodable)) throw error
        await cache.write(key, new Uint8Array())
        throw new AppError('NO_RENDITION', undefined, { cause: error })
      }
    }
    const document =
      (await cache.read(key)) ??
      // Another request may have made the document while this one waited.
      (await queue.run(owner, signal, async () => (await cache.read(key)) ?? makeAndKeep()))
    if (document.length === 0) throw new AppError('NO_RENDITION')
    return { etag, document }
  }

  return {
    /**
     * Returns an office document as PDF.
     * @param isKnown whether the client already has the document with this etag
     * @throws as `Files.stat`; NO_RENDITION if the file is none that can be shown, or damaged; RATE_LIMITED
     */
    async read(
      viewer: Viewer | null,
      input: AskedToRead,
      isKnown: (etag: string) => boolean,
      requestSignal: AbortSignal,
    ): Promise<Rendition> {
      const [granted] = authorize(viewer, needs.read, input)
      return storage.activeGrants.run([granted], requestSignal, async signal => {
        const rendition = await readAt(await storage.readAt(granted), isKnown, signal)
        if (rendition.document) {
          const bytes = rendition.document.length
          audit.note(granted.viewer, 'DOWNLOAD', { location: granted, bytes, details: { rendition: 'pdf' } })
        }
        return rendition
      })
    },

    /** Ends all processes. */
    close(): void {
      converters.close()
    },
  }
}

/** A file may have taken the process over. */
function isDocument(result: unknown): result is Uint8Array {
  return (
    result instanceof Uint8Array &&
    result.length <= maxRendition &&
    Buffer.from(result.subarray(0, 5)).toString('latin1') === '%PDF-'
  )
}
