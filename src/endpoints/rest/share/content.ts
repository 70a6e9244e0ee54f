import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../errors.ts'
import { requestSignal } from '../../../http/connection/client-abort.ts'
import { asTransfer } from '../../../http/connection/graceful-close.ts'
import { sendArchive } from '../../../http/content/archive/send-archive.ts'
import { openFirst } from '../../../http/content/download-conditions.ts'
import { canProxySend } from '../../../http/content/proxy-sendfile.ts'
import { serveDownload } from '../../../http/content/serve-download.ts'
import { parseQuery } from '../../../http/query.ts'
import { authenticateShare, openedShare, sharePath } from '../../../http/share-link.ts'
import { contentDisposition, contentType, type UseDownload } from '../../../services/files/index.ts'
import type { Services } from '../../../services/index.ts'
import type { Sendfile } from '../../../settings/index.ts'
import { dispositions } from '../download-operation.ts'
import { contentParameters, downloadShared, headShared } from './operations.ts'

const parameterNames = Object.keys(contentParameters) as (keyof typeof contentParameters)[]

/** Serves `GET|HEAD ?path=&disposition=`, a file of a share, or a folder as a ZIP archive. */
export function sharedContentRoute(app: FastifyInstance, services: Services, sendfile: Sendfile | null): void {
  const config = {
    authenticate: authenticateShare(services),
    audit: 'DOWNLOAD',
    operations: { GET: downloadShared, HEAD: headShared },
  } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: `${sharePath}/content`,
    config,
    handler: async (request, reply) => {
      const { path = '/', disposition = 'attachment' } = parseQuery(request.raw.url ?? '', parameterNames)
      if (!dispositions.some(known => known === disposition)) {
        throw new AppError('INVALID_INPUT', '"disposition" must be "inline" or "attachment".')
      }
      const opened = openedShare(request)
      // Ranges would count the parts of a file as downloads of their own.
      const isWhole = opened.share.maxDownloads !== null
      const proxy = isWhole ? null : sendfile
      // The proxy opens the file itself.
      const open = proxy && canProxySend(request) ? null : openFirst(request.method, isWhole ? {} : request.headers)
      const isPart = request.headers.range !== undefined
      let isCounted = request.method === 'HEAD'
      const withDownload = <T>(use: UseDownload<T>) => {
        const sending = { counts: !isCounted, isPart, open }
        isCounted = true
        return services.sharedFiles.download(opened, path, sending, requestSignal(request), use)
      }
      const serving = serveDownload(request, reply, {
        withDownload,
        present: ({ entry }) => ({
          etag: entry.etag,
          contentType: contentType(entry.mimeType),
          headers: {
            'Content-Disposition': contentDisposition(entry, disposition === 'inline'),
            'X-Robots-Tag': 'noindex, nofollow',
          },
          isWhole,
        }),
        sendFolder: (download, signal) => sendArchive({ ...download, isFolder: true }, request, reply, signal),
        sendfile: proxy,
      })
      await asTransfer(app, serving)
    },
  })
}
