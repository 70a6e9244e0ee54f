import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendArchive } from '../../http/content/archive/send-archive.ts'
import type { SelectionInput, UseArchive } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { isForm, isListOfTexts, maxArchiveBody, parseObject } from './archive-body.ts'
import { archive } from './archive-operation.ts'

/**
 * Serves `POST` with the paths as JSON and a credential, or with a form that contains a ticket.
 */
export function archiveRoute(app: FastifyInstance, { files }: Services): void {
  // A ticket in a form is a credential of its own.
  const authorize = (request: FastifyRequest) => isForm(request) || requireScope(request.viewer, 'read')
  const body = { kind: 'parsed', maxBytes: maxArchiveBody, authorize } as const
  const config = { audit: 'DOWNLOAD', operations: { POST: archive }, body } as const
  app.post<{ Body: Buffer | undefined }>('/api/download/archive', { config }, async (request, reply) => {
    const signal = requestSignal(request)
    const use: UseArchive<null> = (archive, signal) => sendArchive(archive, request, reply, signal)
    const ticket = isForm(request) ? parseTicket(request.body) : null
    if (ticket !== null) {
      await asTransfer(app, files.archiveLink(ticket, originOf(request), signal, use))
      return
    }
    requireScope(request.viewer, 'read')
    const selection = await parseSelection(request.body)
    await asTransfer(app, files.archive(request.viewer, selection, signal, use))
  })
}

/** @throws INVALID_INPUT */
function parseTicket(body: Buffer | undefined): string {
  const ticket = new URLSearchParams(body?.toString()).get('ticket')
  if (!ticket) throw new AppError('INVALID_INPUT', 'The form must have the field "ticket".')
  return ticket
}

/** @throws INVALID_INPUT */
async function parseSelection(body: Buffer | undefined): Promise<SelectionInput> {
  const { providerId, paths } = await parseObject(body, 'The body must be a JSON object, or a form with a "ticket".')
  if (typeof providerId !== 'string' || !isListOfTexts(paths)) {
    throw new AppError('INVALID_INPUT', 'The body must have a "providerId" and a list of "paths".')
  }
  return { providerId, paths }
}
