/** GET and HEAD: RFC 4918, section 9.4. */
import { openFirst } from '../../http/content/download-conditions.ts'
import { canProxySend } from '../../http/content/proxy-sendfile.ts'
import { serveDownload } from '../../http/content/serve-download.ts'
import { contentDisposition, contentType, type UseDownload } from '../../services/files/index.ts'
import type { DavRequest } from './dav-request.ts'
import { formatOcChecksum } from './oc-headers.ts'

const folderText = 'This is a folder. Open its address in a WebDAV client.\n'

export async function get({ request, reply, viewer, target, options, signal }: DavRequest): Promise<void> {
  const { services, sendfile } = options
  // The proxy opens the file itself.
  const open = sendfile && canProxySend(request) ? null : openFirst(request.method, request.headers)
  await serveDownload(request, reply, {
    withDownload: <T>(use: UseDownload<T>) => services.files.download(viewer, target, signal, open, use),
    present: ({ entry }) => ({
      etag: entry.etag,
      contentType: contentType(entry.mimeType),
      headers: { 'Content-Disposition': contentDisposition(entry, false), ...formatOcChecksum(entry.checksums) },
    }),
    async sendFolder() {
      reply.type('text/plain; charset=utf-8').send(request.method === 'HEAD' ? '' : folderText)
      return null
    },
    sendfile,
  })
}
