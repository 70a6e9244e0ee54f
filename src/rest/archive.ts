import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireScope } from '../auth/policy.ts'
import { AppError } from '../errors.ts'
import { originOf } from '../http/authentication.ts'
import { bufferBodies } from '../http/body-parsers.ts'
import { requestSignal } from '../http/connection/client-abort.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { sendArchive } from '../http/content/archive/send-archive.ts'
import type { SelectionInput, UseArchive } from '../services/files/index.ts'
import type { Services } from '../services/index.ts'
import { archive } from './archive-operation.ts'

/** Bytes of a body. The paths have at most 256 KiB together, in JSON or in a ticket. */
const maxBody = 1024 * 1024

/**
 * Serves `POST` with the paths as JSON and a credential, or with a form that contains a ticket. Call it in a scope of its own,
 * because it replaces the body parsers.
 */
export function archiveRoute(app: FastifyInstance, { files }: Services): void {
  bufferBodies(app)
  const config = { audit: 'DOWNLOAD', operations: { POST: archive } } as const
  app.post<{ Body: Buffer | undefined }>(
    '/api/download/archive',
    { bodyLimit: maxBody, config },
    async (request, reply) => {
      const signal = requestSignal(request)
      const use: UseArchive<null> = (archive, signal) => sendArchive(archive, request, reply, signal)
      const ticket = isForm(request) ? parseTicket(request.body) : null
      if (ticket !== null) {
        await asTransfer(app, files.archiveLink(ticket, originOf(request), signal, use))
        return
      }
      requireScope(request.viewer, 'read')
      await asTransfer(app, files.archive(request.viewer, parseSelection(request.body), signal, use))
    },
  )
}

/** A page can send a form without a script that reads the response, so the browser downloads it. */
function isForm({ headers }: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** @throws INVALID_INPUT */
function parseTicket(body: Buffer | undefined): string {
  const ticket = new URLSearchParams(body?.toString()).get('ticket')
  if (!ticket) throw new AppError('INVALID_INPUT', 'The form must have the field "ticket".')
  return ticket
}

/** @throws INVALID_INPUT */
function parseSelection(body: Buffer | undefined): SelectionInput {
  const { providerId, paths } = parseObject(body)
  if (typeof providerId !== 'string' || !Array.isArray(paths) || !paths.every(path => typeof path === 'string')) {
    throw new AppError('INVALID_INPUT', 'The body must have a "providerId" and a list of "paths".')
  }
  return { providerId, paths }
}

/** @throws INVALID_INPUT */
function parseObject(body: Buffer | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body?.toString() ?? '')
    if (typeof value === 'object' && value !== null) return { ...value }
  } catch {
    // The error below says what to send.
  }
  throw new AppError('INVALID_INPUT', 'The body must be a JSON object, or a form with a "ticket".')
}
