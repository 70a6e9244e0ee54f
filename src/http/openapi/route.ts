import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { formatTag, namesTag } from '../content/validators.ts'
import { sharedPayload } from '../memory.ts'
import { createDocument, type DescribedRoute } from './document.ts'
import { type Operation, text } from './operation.ts'

const documentPath = '/openapi.json'

const readDocument: Operation = {
  id: 'getOpenApi',
  tag: 'Service',
  summary: 'Returns this document.',
  security: [],
  headers: { 'If-None-Match': { description: 'Returns 304 if the document has this etag.', schema: text } },
  responses: {
    200: {
      description: 'An OpenAPI 3.1 document.',
      headers: { ETag: { description: 'Changes with the document.', schema: text } },
      content: { 'application/json': { type: 'object' } },
    },
    304: {
      description: 'The client has the current document.',
      headers: { ETag: { description: 'The etag of the document.', schema: text } },
    },
  },
  reasons: [],
}

/**
 * Serves the description of all routes that have `operations`. Call this before you add any of them.
 * @param basePath "/stowage"; empty for the root
 */
export function describeRoutes(app: FastifyInstance, basePath: string): void {
  const routes: DescribedRoute[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    for (const name of [method].flat()) {
      const { operations = {} } = config ?? {}
      const operation = operations[name] ?? (name === 'HEAD' && operations.GET ? headOf(operations.GET) : undefined)
      if (operation) routes.push({ method: name, url, operation })
    }
  })
  let document: { body: Buffer; etag: string } | undefined
  app.get(documentPath, { config: { operations: { GET: readDocument } } }, (request, reply) => {
    document ??= serialize(routes, basePath)
    reply.headers({ ETag: formatTag(document.etag), 'Cache-Control': 'no-cache' })
    if (namesTag(request.headers['if-none-match'] ?? '', document.etag, 'weak')) return reply.status(304).send()
    return reply.type('application/json; charset=utf-8').send(document.body)
  })
}

/** Fastify adds HEAD to each GET. */
function headOf(operation: Operation): Operation {
  const { id } = operation
  return { ...operation, id: `head${id[0]?.toUpperCase()}${id.slice(1)}` }
}

function serialize(routes: readonly DescribedRoute[], basePath: string): { body: Buffer; etag: string } {
  const body = sharedPayload(JSON.stringify(createDocument(routes, basePath)))
  return { body, etag: hash('sha256', body, 'hex').slice(0, 32) }
}
