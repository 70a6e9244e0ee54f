/** Thumbnails of files, with a credential or by an address from GraphQL. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { formatTag, namesTag } from '../../http/content/conditions.ts'
import { parseQuery, requireParameter } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import {
  maxPixels,
  minPixels,
  type Thumbnail,
  type ThumbnailFormat,
  type ThumbnailRequest,
} from '../../services/thumbnails/index.ts'
import { thumbnail, thumbnailParameters } from './thumbnail-operations.ts'

/** Serves `GET ?providerId=&path=&size=` with a credential, or `?ticket=&size=`. */
export function thumbnailRoute(app: FastifyInstance, { thumbnails }: Services): void {
  app.get('/api/thumbnail', { config: { operations: { GET: thumbnail } } }, async (request, reply) => {
    const { ticket, providerId, path, size } = parseQuery(request.raw.url ?? '', thumbnailParameters)
    if (ticket === undefined) requireScope(request.viewer, 'read')
    const wanted = thumbnailRequest(request, size)
    const signal = requestSignal(request)
    if (ticket !== undefined) {
      if (providerId !== undefined || path !== undefined) {
        throw new AppError('INVALID_INPUT', 'Send either "ticket", or "providerId" and "path".')
      }
      const found = await thumbnails.readLink(ticket, originOf(request), wanted, signal)
      // Pages of other origins embed the address, as they do with download links.
      reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
      return sendThumbnail(reply, found, wanted.format)
    }
    const location = {
      providerId: requireParameter(providerId, 'providerId'),
      path: requireParameter(path, 'path'),
    }
    return sendThumbnail(reply, await thumbnails.read(request.viewer, location, wanted, signal), wanted.format)
  })
}

/** @throws INVALID_INPUT */
export function thumbnailRequest({ headers }: FastifyRequest, size: string | undefined): ThumbnailRequest {
  const known = headers['if-none-match']
  return {
    pixels: parseSize(size),
    format: formatFor(headers.accept),
    isKnown: etag => known !== undefined && namesTag(known, etag, 'weak'),
  }
}

/** Browsers may keep the image, and ask with each use whether they may still show it. */
export function sendThumbnail(reply: FastifyReply, { etag, image }: Thumbnail, format: ThumbnailFormat): FastifyReply {
  reply.headers({ 'Cache-Control': 'private, no-cache', ETag: formatTag(etag), Vary: 'Accept' })
  if (image === null) return reply.status(304).send()
  return reply.headers({ 'Content-Security-Policy': 'sandbox' }).type(`image/${format}`).send(image)
}

const defaultPixels = 256

/** @throws INVALID_INPUT */
function parseSize(text: string | undefined): number {
  if (text === undefined) return defaultPixels
  const pixels = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (pixels >= minPixels && pixels <= maxPixels) return pixels
  throw new AppError('INVALID_INPUT', `"size" must be a whole number from ${minPixels} to ${maxPixels}.`)
}

/** AVIF takes many times as long to make as WebP, so only clients that accept nothing else get it. */
function formatFor(accept: string | undefined): ThumbnailFormat {
  const types = (accept ?? '*/*').split(',').map(each => each.split(';', 1)[0]?.trim().toLowerCase())
  const takesWebp = ['image/webp', 'image/*', '*/*'].some(type => types.includes(type))
  return !takesWebp && types.includes('image/avif') ? 'avif' : 'webp'
}
