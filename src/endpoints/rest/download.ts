/** Downloads of a file, or of a folder as a ZIP archive. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseVersionId } from '../../auth/id.ts'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendArchive } from '../../http/content/archive/send-archive.ts'
import { asStored, openFor, serveDownload } from '../../http/content/serve-download.ts'
import { parseQuery, requireParameter } from '../../http/url.ts'
import type { Download, UseDownload } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import {
  dispositions,
  download,
  downloadNamed,
  downloadParameters,
  headDownload,
  headDownloadNamed,
  linkParameters,
} from './download-operation.ts'

export const downloadPath = '/api/download/proxy'

/**
 * Serves `GET|HEAD ?providerId=&path=` with a credential, or `?ticket=`. A folder is sent as a ZIP archive. A link also works
 * with a name after its path, because viewers take the title of a file from the address.
 */
export function downloadRoute(app: FastifyInstance, { files }: Services, sendfile: Sendfile | null): void {
  const send = async (request: FastifyRequest, reply: FastifyReply, query: DownloadQuery) => {
    const signal = requestSignal(request)
    const open = openFor(request, sendfile)
    const withDownload = <T>(use: UseDownload<T, RequestedDownload>) =>
      query.ticket === undefined
        ? files.download(request.viewer, query, signal, open, (download, signal) =>
            use({ ...download, inline: false }, signal),
          )
        : files.downloadLink(query.ticket, originOf(request), signal, open, use)
    const serving = serveDownload(request, reply, {
      withDownload,
      present: ({ entry, inline }) => asStored(entry, query.inline ?? inline),
      sendFolder: (download, signal) => sendArchive({ ...download, isFolder: true }, request, reply, signal),
      sendfile,
    })
    await asTransfer(app, serving)
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: downloadPath,
    config: { audit: 'DOWNLOAD', operations: { GET: download, HEAD: headDownload } },
    handler: (request, reply) => send(request, reply, parseDownload(request)),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: `${downloadPath}/:name`,
    config: { audit: 'DOWNLOAD', operations: { GET: downloadNamed, HEAD: headDownloadNamed } },
    handler: (request, reply) => send(request, reply, parseNamedLink(request)),
  })
}

type RequestedDownload = Download & { inline: boolean }

interface DownloadQuery {
  ticket: string | undefined
  providerId: string
  path: string
  /** The id of an earlier version. */
  version?: string | undefined
  /** If undefined, the ticket decides. */
  inline: boolean | undefined
}

function parseDownload({ raw, viewer }: FastifyRequest): DownloadQuery {
  const query = parseQuery(raw.url ?? '', downloadParameters)
  const { ticket } = query
  if (ticket === undefined) requireScope(viewer, 'read')
  const inline = parseDisposition(query.disposition)
  if (ticket === undefined) {
    const providerId = requireParameter(query.providerId, 'providerId')
    const path = requireParameter(query.path, 'path')
    const version = query.version === undefined ? undefined : parseVersionId(query.version).id
    return { ticket, providerId, path, version, inline }
  }
  if (query.providerId !== undefined || query.path !== undefined || query.version !== undefined) {
    throw new AppError('INVALID_INPUT', 'Send either "ticket", or "providerId" and "path".')
  }
  return { ticket, providerId: '', path: '', inline }
}

/** The name in the path is for the reader of the address. */
function parseNamedLink({ raw }: FastifyRequest): DownloadQuery {
  const { ticket, disposition } = parseQuery(raw.url ?? '', linkParameters)
  const inline = parseDisposition(disposition)
  return { ticket: requireParameter(ticket, 'ticket'), providerId: '', path: '', inline }
}

/** Returns whether browsers may display the file; undefined without the parameter. @throws INVALID_INPUT */
export function parseDisposition(disposition: string | undefined): boolean | undefined {
  if (disposition !== undefined && !dispositions.some(known => known === disposition)) {
    throw new AppError('INVALID_INPUT', '"disposition" must be "inline" or "attachment".')
  }
  return disposition === undefined ? undefined : disposition === 'inline'
}
