import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../errors.ts'
import { requestSignal } from '../../../http/connection/client-abort.ts'
import { awaitsContinue, continueOnRead } from '../../../http/connection/expect-continue.ts'
import { asTransfer } from '../../../http/connection/graceful-close.ts'
import { parseContentLength, parseMimeType, requirePlainBody } from '../../../http/content/body-headers.ts'
import { parseDigests } from '../../../http/content/digests.ts'
import { parseQuery, requireParameter } from '../../../http/query.ts'
import { authenticateShare, openedShare, sharePath } from '../../../http/share-link.ts'
import type { Services } from '../../../services/index.ts'
import { dropFile, dropParameters } from './operations.ts'

const parameterNames = Object.keys(dropParameters) as (keyof typeof dropParameters)[]

/** Serves `POST ?path=` with the file as the body. */
export function dropRoute(app: FastifyInstance, services: Services): void {
  const config = {
    authenticate: authenticateShare(services),
    continuesLater: true,
    body: { kind: 'file', authorize: openedShare },
    audit: 'UPLOAD',
    operations: { POST: dropFile },
  } as const
  app.post(`${sharePath}/files`, { config }, async (request, reply) => {
    const { headers, raw } = request
    requirePlainBody(headers)
    const mimeType = parseMimeType(headers['content-type'])
    if (mimeType?.toLowerCase().startsWith('multipart/')) {
      throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send each file as the body of a request of its own, not as a form.')
    }
    continueOnRead(raw, reply)
    const { path } = parseQuery(raw.url ?? '', parameterNames)
    const drop = {
      path: requireParameter(path, 'path'),
      body: raw,
      size: parseContentLength(headers),
      mimeType,
      digests: parseDigests(headers),
      isAwaiting: awaitsContinue(raw),
    }
    reply.status(201)
    return asTransfer(app, services.sharedFiles.upload(openedShare(request), drop, requestSignal(request)))
  })
}
