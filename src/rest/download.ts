import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../auth/policy.ts'
import { AppError } from '../errors.ts'
import { originOf } from '../http/authentication.ts'
import { requestSignal } from '../http/connection/client-abort.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { sendArchive } from '../http/content/archive/send-archive.ts'
import { openFirst } from '../http/content/download-conditions.ts'
import { openContent } from '../http/content/file-content.ts'
import { canProxySend, proxySendfileHeader } from '../http/content/proxy-sendfile.ts'
import { parseQuery, requireParameter } from '../http/query.ts'
import type { Download, UseDownload } from '../services/files/index.ts'
import type { Services } from '../services/index.ts'
import type { Sendfile } from '../settings.ts'
import { dispositions, download, downloadParameters, headDownload } from './download-operation.ts'
import { prepareResponse, sendResponse, sendThroughProxy, spansOf } from './download-response.ts'

export const downloadPath = '/api/download/proxy'

const parameterNames = Object.keys(downloadParameters) as (keyof typeof downloadParameters)[]

/** Serves `GET|HEAD ?providerId=&path=` with a credential, or `?ticket=`. A folder is sent as a ZIP archive. */
export function downloadRoute(app: FastifyInstance, { files }: Services, sendfile: Sendfile | null): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: downloadPath,
    config: { audit: 'DOWNLOAD', operations: { GET: download, HEAD: headDownload } },
    handler: async (request, reply) => {
      const query = parseDownload(request)
      const signal = requestSignal(request)
      // The proxy opens the file itself.
      const open = sendfile && canProxySend(request) ? null : openFirst(request.method, request.headers)
      const withDownload: WithDownload = use =>
        query.ticket === undefined
          ? files.download(request.viewer, query, signal, open, (download, signal) =>
              use({ ...download, inline: false }, signal),
            )
          : files.downloadLink(query.ticket, originOf(request), signal, open, use)
      await asTransfer(app, respond(withDownload, query.inline, request, reply, sendfile))
    },
  })
}

type RequestedDownload = Download & { inline: boolean }
type WithDownload = <T>(use: UseDownload<T, RequestedDownload>) => Promise<T>

interface DownloadQuery {
  ticket: string | undefined
  providerId: string
  path: string
  /** If undefined, the ticket decides. */
  inline: boolean | undefined
}

function parseDownload({ raw, viewer }: FastifyRequest): DownloadQuery {
  const query = parseQuery(raw.url ?? '', parameterNames)
  const { ticket, disposition } = query
  if (ticket === undefined) requireScope(viewer, 'read')
  if (disposition !== undefined && !dispositions.some(known => known === disposition)) {
    throw new AppError('INVALID_INPUT', '"disposition" must be "inline" or "attachment".')
  }
  const inline = disposition === undefined ? undefined : disposition === 'inline'
  if (ticket === undefined) {
    const providerId = requireParameter(query.providerId, 'providerId')
    return { ticket, providerId, path: requireParameter(query.path, 'path'), inline }
  }
  if (query.providerId !== undefined || query.path !== undefined) {
    throw new AppError('INVALID_INPUT', 'Send either "ticket", or "providerId" and "path".')
  }
  return { ticket, providerId: '', path: '', inline }
}

async function respond(
  withDownload: WithDownload,
  inline: boolean | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  sendfile: Sendfile | null,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const changed = await withDownload(async (download, signal) => {
      if (download.entry.kind === 'directory') return sendArchive(download, request, reply, signal)
      const body = prepareResponse(request, reply, download, inline ?? download.inline)
      try {
        if (sendfile && body.kind !== 'none' && canProxySend(request)) {
          const header = await proxySendfileHeader(sendfile, download.location, download.entry.etag, signal)
          if (header) {
            sendThroughProxy(reply, body, download, header)
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
