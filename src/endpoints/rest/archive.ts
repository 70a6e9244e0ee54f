/** Downloads of several files and folders as one ZIP archive. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { originOf } from '../../http/authentication.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { sendArchive } from '../../http/content/archive/send-archive.ts'
import { parseJsonBody } from '../../http/json.ts'
import { reasonsAtPaths } from '../../http/openapi/errors.ts'
import { locationParameters, type Operation, text, withCredential } from '../../http/openapi/operation.ts'
import { maxSelected, type SelectionInput, type UseArchive } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'

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

/** Bytes of a body. The paths have at most 256 KiB together, in JSON, in a form or in a ticket. */
export const maxArchiveBody = 1024 * 1024

/** A page can send a form without a script that reads the response, so the browser downloads it. */
export function isForm({ headers }: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** @throws INVALID_INPUT with `message` */
export async function parseObject(json: Buffer | undefined, message: string): Promise<Record<string, unknown>> {
  const value = json && (await parseJsonBody(json))
  if (typeof value === 'object' && value !== null) return { ...value }
  throw new AppError('INVALID_INPUT', message)
}

export function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(text => typeof text === 'string')
}

const { providerId, path } = locationParameters

/** Returns the JSON Schema of the paths in a body. @param path describes one of them */
export const selectedPaths = ({ schema, description }: typeof path) =>
  ({ type: 'array', minItems: 1, maxItems: maxSelected, items: { ...schema, description } }) as const

export const archive: Operation = {
  id: 'downloadArchive',
  tag: 'Files',
  summary: 'Downloads several files and folders of one provider as one ZIP archive.',
  description:
    'Send JSON with a credential, or a form with the `ticket` of the GraphQL field `archiveTicket` without one.',
  security: [...withCredential, []],
  body: {
    description: 'The files and folders.',
    required: true,
    content: {
      'application/json': {
        type: 'object',
        required: ['providerId', 'paths'],
        properties: {
          providerId: { ...providerId.schema, description: providerId.description },
          paths: selectedPaths(path),
        },
      },
      'application/x-www-form-urlencoded': {
        type: 'object',
        required: ['ticket'],
        properties: { ticket: { ...text, description: 'The ticket.' } },
      },
    },
  },
  responses: {
    200: {
      description: 'The archive, whose length is unknown. It has each entry at its top, under a name of its own.',
      headers: {
        'Accept-Ranges': { description: 'An archive has no ranges.', schema: { const: 'none' } },
        'Content-Disposition': { description: 'The file name.', schema: text },
      },
      content: { 'application/zip': null },
    },
  },
  reasons: [...reasonsAtPaths, 'LINK_EXPIRED', 'TOO_MANY_ARCHIVES'],
  errorHeaders: { 'Accept-Ranges': { description: 'An archive has no ranges.', schema: { const: 'none' } } },
}
