import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { bufferBodies } from '../../http/body-parsers.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendArchive } from '../../http/content/archive/send-archive.ts'
import { authenticateShare, openedShare, sharePath } from '../../http/share-link.ts'
import type { Services } from '../../services/index.ts'
import { isForm, isListOfTexts, maxArchiveBody, parseObject } from '../archive-body.ts'
import { archiveShared } from './operations.ts'

/**
 * Serves `POST` with paths in the share, as JSON or as a form of a page. Call it in a scope of its own, because it replaces the
 * body parsers.
 */
export function sharedArchiveRoute(app: FastifyInstance, services: Services): void {
  bufferBodies(app)
  const authenticate = authenticateShare(services)
  const config = { authenticate, audit: 'DOWNLOAD', operations: { POST: archiveShared } } as const
  app.post<{ Body: Buffer | undefined }>(
    `${sharePath}/archive`,
    { bodyLimit: maxArchiveBody, config },
    async (request, reply) => {
      const archiving = services.sharedFiles.archive(
        openedShare(request),
        pathsOf(request),
        requestSignal(request),
        (archive, signal) => sendArchive(archive, request, reply, signal),
      )
      await asTransfer(app, archiving)
    },
  )
}

/** @throws INVALID_INPUT */
function pathsOf(request: FastifyRequest<{ Body: Buffer | undefined }>): string[] {
  const { body } = request
  const message =
    'The body must be a JSON object with a list of "paths", or a form with this object in the field "selection".'
  // Browsers change line breaks in the fields of forms, but JSON has none.
  const text = isForm(request) ? new URLSearchParams(body?.toString()).get('selection') : body?.toString()
  const { paths } = parseObject(text, message)
  if (!isListOfTexts(paths)) throw new AppError('INVALID_INPUT', message)
  return paths
}
