/** Office documents as PDF. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { formatTag, namesTag } from '../../http/content/conditions.ts'
import { reasonsAtPaths } from '../../http/openapi/errors.ts'
import {
  locationParameters,
  type Operation,
  type RequestParameters,
  text,
  withCredential,
} from '../../http/openapi/operation.ts'
import { parseQuery, requireParameter } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import type { Rendition } from '../../services/renditions/index.ts'

const validators = { ETag: { description: 'Changes with the file.', schema: text } }

export const documentConditions = {
  'If-None-Match': { description: 'The ETags of documents that the client has.', schema: text },
} satisfies RequestParameters

export const documentResponses: Operation['responses'] = {
  200: { description: 'The document.', headers: validators, content: { 'application/pdf': null } },
  304: { description: 'The client has the current document.', headers: validators },
}

const rendition: Operation = {
  id: 'rendition',
  tag: 'Files',
  summary: 'Returns an office document as PDF.',
  description: 'LibreOffice makes the document, where it is installed on the server.',
  security: withCredential,
  query: locationParameters,
  headers: documentConditions,
  responses: documentResponses,
  reasons: [...reasonsAtPaths, 'NO_RENDITION'],
}

/** Serves `GET ?providerId=&path=`. */
export function renditionRoute(app: FastifyInstance, { renditions }: Services): void {
  app.get('/api/rendition', { config: { operations: { GET: rendition } } }, async (request, reply) => {
    const { providerId, path } = parseQuery(request.raw.url ?? '', locationParameters)
    requireScope(request.viewer, 'read')
    const location = {
      providerId: requireParameter(providerId, 'providerId'),
      path: requireParameter(path, 'path'),
    }
    return sendDocument(
      reply,
      await renditions.read(request.viewer, location, isKnownDocument(request), requestSignal(request)),
    )
  })
}

export function isKnownDocument({ headers }: FastifyRequest): (etag: string) => boolean {
  const known = headers['if-none-match']
  return etag => known !== undefined && namesTag(known, etag, 'weak')
}

/** Browsers may keep the document, and ask with each use whether they may still show it. */
export function sendDocument(reply: FastifyReply, { etag, document }: Rendition): FastifyReply {
  reply.headers({ 'Cache-Control': 'private, no-cache', ETag: formatTag(etag) })
  if (document === null) return reply.status(304).send()
  return reply.headers({ 'Content-Security-Policy': 'sandbox' }).type('application/pdf').send(document)
}
