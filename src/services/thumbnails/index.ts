/**
 * Thumbnails of files. A request names a file; the answer is a small image, from the cache or made by a decoder process from the bytes
 * of the original that it needs. Rights are checked as for a download, on each use.
 */
import { availableParallelism } from 'node:os'
import { authorize, needs } from '../../auth/needs.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Audit } from '../audit/index.ts'
import type { DecodedCache } from '../decoding/cache.ts'
import { Undecodable } from '../decoding/processes.ts'
import { programFinder } from '../decoding/programs.ts'
import { keyOf, originalOf } from '../decoding/stored-original.ts'
import type { AskedToRead, LocationInput } from '../files/entry.ts'
import { openThumbnailLink, recallCreator, sealThumbnailLink } from '../files/links.ts'
import type { Credentials } from '../people/credentials.ts'
import type { DecoderName, ThumbnailFormat } from './decoder/protocol.ts'
import { createDecoders, decoderFor } from './decoders.ts'

export type { ThumbnailFormat } from './decoder/protocol.ts'

export const minPixels = 64
export const maxPixels = 1024
/** The sizes that are made. Others are rounded up, so that the cache has few images of each file. */
const sizes = [64, 128, 256, 512, 1024]
/** Larger images show content, so the audit log has them as downloads. */
const recordedFrom = 512

/** Decoder processes of a server process. */
const decoderProcesses = Math.min(4, availableParallelism())

export interface ThumbnailRequest {
  /** The longest side in pixels, from `minPixels` to `maxPixels`. */
  pixels: number
  format: ThumbnailFormat
  /** Whether the client already has the image with this etag. */
  isKnown(etag: string): boolean
}

export interface Thumbnail {
  /** Changes with the file, the size and the format. */
  etag: string
  /** Null if the client already has the image. */
  image: Uint8Array | null
}

export type Thumbnails = ReturnType<typeof createThumbnails>

export function createThumbnails(options: {
  storage: Storage
  secrets: Secrets
  credentials: Credentials
  audit: Audit
  /** A cache that keeps nothing switches thumbnails off. */
  cache: DecodedCache
  /** The value of PATH. */
  searchPath: string
}) {
  const { storage, secrets, credentials, audit, cache } = options
  const decoders = createDecoders()
  const queue = new FairQueue({
    running: decoderProcesses,
    slots: 1024,
    slotsOfOwner: 256,
    refusals: {
      owner: 'You wait for too many thumbnails',
      all: 'The server makes too many thumbnails',
    },
  })
  const findFfmpeg = programFinder('ffmpeg', options.searchPath)

  /** Returns the decoder for a file of this name; null if it has no thumbnail here. */
  async function usableDecoder(name: string): Promise<DecoderName | null> {
    const decoder = cache.isOff ? null : decoderFor(name)
    return decoder === 'video' && (await findFfmpeg()) === null ? null : decoder
  }

  async function make(
    location: ReadLocation,
    entry: CheckedEntry,
    { pixels, format, decoder }: { pixels: number; format: ThumbnailFormat; decoder: DecoderName },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { viewer } = location.grant
    // The recipients of links leave the turns of the member who made them free.
    const owner = viewer.kind === 'SHARE' ? `links ${viewer.member.userId}` : viewer.member.userId
    return queue.run(owner, signal, async () => {
      const task = { decoder, size: entry.size, pixels, format, ffmpeg: await findFfmpeg() }
      return decoders.run(task, range => originalOf(location, entry, range, signal), signal)
    })
  }

  async function readAt(
    location: ReadLocation,
    { pixels: asked, format, isKnown }: ThumbnailRequest,
    signal: AbortSignal,
  ): Promise<Thumbnail> {
    const entry = await location.stat(signal)
    if (entry.kind !== 'file') throw new AppError('NOT_A_FILE')
    const decoder = await usableDecoder(entry.name)
    if (decoder === null) throw new AppError('NO_THUMBNAIL')
    const pixels = sizes.find(size => size >= asked) ?? maxPixels
    const key = keyOf(location, entry, [decoder, pixels, format])
    const etag = key.slice(0, 32)
    if (isKnown(etag)) return { etag, image: null }
    const kept = await cache.read(key)
    if (kept?.length === 0) throw new AppError('NO_THUMBNAIL')
    if (kept) return { etag, image: kept }
    try {
      const image = await make(location, entry, { pixels, format, decoder }, signal)
      await cache.write(key, image)
      return { etag, image }
    } catch (error) {
      if (!(error instanceof Undecodable)) throw error
      await cache.write(key, new Uint8Array())
      throw new AppError('NO_THUMBNAIL', undefined, { cause: error })
    }
  }

  /**
   * Returns the thumbnail of a file.
   * @throws as `Files.stat`; NO_THUMBNAIL if the file is none that can be shown, or damaged; RATE_LIMITED
   */
  async function read(
    viewer: Viewer | null,
    input: AskedToRead,
    request: ThumbnailRequest,
    requestSignal: AbortSignal,
  ): Promise<Thumbnail> {
    const [granted] = authorize(viewer, needs.read, input)
    return storage.activeGrants.run([granted], requestSignal, async signal => {
      const thumbnail = await readAt(await storage.readAt(granted), request, signal)
      if (request.pixels >= recordedFrom && thumbnail.image) {
        const facts = { location: granted, bytes: thumbnail.image.length, details: { thumbnail: request.pixels } }
        audit.note(granted.viewer, 'DOWNLOAD', facts)
      }
      return thumbnail
    })
  }

  return {
    read,

    /** Returns the token of an address of the thumbnails of a file; null if files of this name have none. @throws as `read` */
    async link(viewer: Viewer | null, input: AskedToRead, name: string): Promise<string | null> {
      const [granted] = authorize(viewer, needs.read, input)
      return (await usableDecoder(name)) && sealThumbnailLink(secrets, granted)
    },

    /** Returns the thumbnail of a link, if the credential that made it may still read the file. @throws LINK_EXPIRED, as `read` */
    async readLink(sealed: string, origin: Origin, request: ThumbnailRequest, signal: AbortSignal): Promise<Thumbnail> {
      const { credential, ...location } = openThumbnailLink(secrets, sealed)
      return read(
        await recallCreator(credentials, credential, origin),
        location satisfies LocationInput,
        request,
        signal,
      )
    },

    /** Ends all decoder processes. */
    close(): void {
      decoders.close()
    },
  }
}
