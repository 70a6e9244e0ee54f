import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import type { Download, UseDownload } from '../../services/files/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import { type Presentation, prepareResponse, sendResponse, sendThroughProxy, spansOf } from './download-response.ts'
import { openContent } from './file-content.ts'
import { canProxySend, proxySendfileHeader } from './proxy-sendfile.ts'

/** The decisions of a front end about a download. */
export interface Serving<D extends Download> {
  /** Opens the file or folder for the duration of a function. */
  withDownload<T>(use: UseDownload<T, D>): Promise<T>
  present(download: D): Presentation
  /** Sends or refuses a folder. */
  sendFolder(download: D, signal: AbortSignal): Promise<null>
  /** Null if the proxy sends no files. */
  sendfile: Sendfile | null
}

/** Sends a file as the response to a GET or HEAD request, under its conditions. @throws as `Files.download`, UNAVAILABLE */
export async function serveDownload<D extends Download>(
  request: FastifyRequest,
  reply: FastifyReply,
  { withDownload, present, sendFolder, sendfile }: Serving<D>,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const changed = await withDownload(async (download, signal) => {
      if (download.entry.kind === 'directory') return sendFolder(download, signal)
      const presentation = present(download)
      const body = prepareResponse(request, reply, download, presentation)
      try {
        if (sendfile && body.kind !== 'none' && canProxySend(request)) {
          const header = await proxySendfileHeader(sendfile, download.location, download.entry.etag, signal)
          if (header) {
            sendThroughProxy(reply, body, download, presentation, header)
            return null
          }
        }
        const content = body.kind === 'none' ? null : await openContent(download, spansOf(body), signal)
        await sendResponse(request, reply, body, content, download, signal)
        return null
      } catch (error) {
        if (error instanceof AppError && error.reason === 'PRECONDITION_FAILED') return error
        throw error
      }
    })
    if (!changed) return
    // The file was replaced between stat and open. That can happen once; retry, then report it.
    if (!isFirst) throw new AppError('UNAVAILABLE', 'The file is being changed: try again.', { cause: changed })
  }
}
