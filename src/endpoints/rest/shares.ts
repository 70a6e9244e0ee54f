/** The endpoints for the recipients of share links. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendArchive } from '../../http/content/archive/send-archive.ts'
import { fileBody, requirePlainBody } from '../../http/content/body-headers.ts'
import { asStored, openFor, serveDownload } from '../../http/content/serve-download.ts'
import { authenticateShare, openedShare, setProofCookie, sharePath } from '../../http/share-link.ts'
import { parseQuery, requireParameter } from '../../http/url.ts'
import type { UseDownload } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import { isForm, isListOfTexts, maxArchiveBody, parseObject } from './archive.ts'
import { parseDisposition } from './download.ts'
import { isKnownDocument, sendDocument } from './rendition.ts'
import {
  archiveShared,
  contentParameters,
  describeShare,
  downloadShared,
  dropFile,
  dropParameters,
  headShared,
  listParameters,
  listShare,
  maxEntries,
  renditionOfShared,
  sharedRenditionParameters,
  sharedThumbnailParameters,
  thumbnailOfShared,
  unlockShare,
} from './share-operations.ts'
import { sendThumbnail, thumbnailRequest } from './thumbnail.ts'

interface ShareRoutes {
  app: FastifyInstance
  services: Services
  authenticate: ReturnType<typeof authenticateShare>
}

/** Adds the endpoints for the recipients of share links. @param basePath "/stowage"; empty for the root */
export function registerShares(
  app: FastifyInstance,
  { services, sendfile, basePath }: { services: Services; sendfile: Sendfile | null; basePath: string },
): void {
  const authenticate = authenticateShare(services)
  app.get(sharePath, { config: { authenticate, operations: { GET: describeShare } } }, request =>
    services.sharedFiles.describe(openedShare(request)),
  )
  const unlocking = { authenticate, operations: { POST: unlockShare } }
  app.post(`${sharePath}/unlock`, { config: unlocking }, (request, reply) => {
    const { proof, expiresAt } = services.sharedFiles.prove(openedShare(request))
    setProofCookie(request, reply, { proof, expiresAt, basePath })
    return reply.status(204).send()
  })
  const routes = { app, services, authenticate }
  listRoute(routes)
  contentRoute(routes, sendfile)
  archiveRoute(routes)
  sharedThumbnailRoute(routes)
  sharedRenditionRoute(routes)
  dropRoute(routes)
}

const defaultPage = 100

/** Serves `GET ?path=&first=&after=`, one page of a folder of a share. */
function listRoute({ app, services, authenticate }: ShareRoutes): void {
  const config = { authenticate, operations: { GET: listShare } }
  app.get(`${sharePath}/entries`, { config }, request => {
    const { path = '/', first, after = null } = parseQuery(request.raw.url ?? '', listParameters)
    const page = { first: first === undefined ? defaultPage : parseFirst(first), after }
    return services.sharedFiles.list(openedShare(request), path, page, requestSignal(request))
  })
}

/** @throws INVALID_INPUT */
function parseFirst(text: string): number {
  const first = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (first >= 1 && first <= maxEntries) return first
  throw new AppError('INVALID_INPUT', `"first" must be a whole number from 1 to ${maxEntries}.`)
}

/** Serves `GET|HEAD ?path=&disposition=`, a file of a share, or a folder as a ZIP archive. */
function contentRoute({ app, services, authenticate }: ShareRoutes, sendfile: Sendfile | null): void {
  const config = { authenticate, audit: 'DOWNLOAD', operations: { GET: downloadShared, HEAD: headShared } } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: `${sharePath}/content`,
    config,
    handler: async (request, reply) => {
      const { path = '/', disposition } = parseQuery(request.raw.url ?? '', contentParameters)
      const inline = parseDisposition(disposition) ?? false
      const opened = openedShare(request)
      // Ranges would count the parts of a file as downloads of their own.
      const isWhole = opened.share.maxDownloads !== null
      const proxy = isWhole ? null : sendfile
      const open = openFor(request, proxy, isWhole ? {} : request.headers)
      const isPart = request.headers.range !== undefined
      let isCounted = request.method === 'HEAD'
      const withDownload = <T>(use: UseDownload<T>) => {
        const sending = { counts: !isCounted, isPart, open }
        isCounted = true
        return services.sharedFiles.download(opened, path, sending, requestSignal(request), use)
      }
      const serving = serveDownload(request, reply, {
        withDownload,
        present: ({ entry }) => ({ ...asStored(entry, inline, { 'X-Robots-Tag': 'noindex, nofollow' }), isWhole }),
        sendFolder: (download, signal) => sendArchive({ ...download, isFolder: true }, request, reply, signal),
        sendfile: proxy,
      })
      await asTransfer(app, serving)
    },
  })
}

/** Serves `GET ?path=&size=`, a small image of a file. */
function sharedThumbnailRoute({ app, services, authenticate }: ShareRoutes): void {
  const config = { authenticate, operations: { GET: thumbnailOfShared } }
  app.get(`${sharePath}/thumbnail`, { config }, async (request, reply) => {
    const { path = '/', size } = parseQuery(request.raw.url ?? '', sharedThumbnailParameters)
    const wanted = thumbnailRequest(request, size)
    const thumbnail = await services.sharedFiles.thumbnail(openedShare(request), path, wanted, requestSignal(request))
    return sendThumbnail(reply, thumbnail, wanted.format)
  })
}

/** Serves `GET ?path=`, an office document as PDF. */
function sharedRenditionRoute({ app, services, authenticate }: ShareRoutes): void {
  const config = { authenticate, operations: { GET: renditionOfShared } }
  app.get(`${sharePath}/rendition`, { config }, async (request, reply) => {
    const { path = '/' } = parseQuery(request.raw.url ?? '', sharedRenditionParameters)
    const { sharedFiles } = services
    const found = await sharedFiles.rendition(
      openedShare(request),
      path,
      isKnownDocument(request),
      requestSignal(request),
    )
    return sendDocument(reply, found)
  })
}

/** Serves `POST` with paths in the share, as JSON or as a form of a page. */
function archiveRoute({ app, services, authenticate }: ShareRoutes): void {
  const body = { kind: 'parsed', maxBytes: maxArchiveBody, authorize: openedShare } as const
  const config = { authenticate, audit: 'DOWNLOAD', operations: { POST: archiveShared }, body } as const
  app.post<{ Body: Buffer | undefined }>(`${sharePath}/archive`, { config }, async (request, reply) => {
    const archiving = services.sharedFiles.archive(
      openedShare(request),
      await pathsOf(request),
      requestSignal(request),
      (archive, signal) => sendArchive(archive, request, reply, signal),
    )
    await asTransfer(app, archiving)
  })
}

/** @throws INVALID_INPUT */
async function pathsOf(request: FastifyRequest<{ Body: Buffer | undefined }>): Promise<string[]> {
  const { body } = request
  const message =
    'The body must be a JSON object with a list of "paths", or a form with this object in the field "selection".'
  // Browsers change line breaks in the fields of forms, but JSON has none.
  const json = isForm(request) ? Buffer.from(new URLSearchParams(body?.toString()).get('selection') ?? '') : body
  const { paths } = await parseObject(json, message)
  if (!isListOfTexts(paths)) throw new AppError('INVALID_INPUT', message)
  return paths
}

/** Serves `POST ?path=` with the file as the body. */
function dropRoute({ app, services, authenticate }: ShareRoutes): void {
  const config = {
    authenticate,
    continuesLater: true,
    body: { kind: 'file', authorize: openedShare },
    audit: 'UPLOAD',
    operations: { POST: dropFile },
  } as const
  app.post(`${sharePath}/files`, { config }, async (request, reply) => {
    requirePlainBody(request.headers)
    const file = fileBody(request)
    if (file.mimeType?.toLowerCase().startsWith('multipart/')) {
      throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send each file as the body of a request of its own, not as a form.')
    }
    continueOnRead(request.raw, reply)
    const { path } = parseQuery(request.raw.url ?? '', dropParameters)
    const drop = { path: requireParameter(path, 'path'), ...file }
    reply.status(201)
    return asTransfer(app, services.sharedFiles.upload(openedShare(request), drop, requestSignal(request)))
  })
}
