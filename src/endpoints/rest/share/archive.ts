import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../../errors.ts'
import { requestSignal } from '../../../http/connection/client-abort.ts'
import { asTransfer } from '../../../http/connection/graceful-close.ts'
import { sendArchive } from '../../../http/content/archive/send-archive.ts'
import { authenticateShare, openedShare, sharePath } from '../../../http/share-link.ts'
import type { Services } from '../../../services/index.ts'
import { isForm, isListOfTexts, maxArchiveBody, parseObject } from '../archive-body.ts'
import { archiveShared } from './operations.ts'

/** Serves `POST` with paths in the share, as JSON or as a form of a page. */
export function sharedArchiveRoute(app: FastifyInstance, services: Services): void {
  const authenticate = authenticateShare(services)
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
