/** Serves `/openapi.json`, made of the operations that the routes state. */
import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { formatTag, namesTag } from '../content/conditions.ts'
import { sharedPayload } from '../memory.ts'
import { errorResponses, errorSchema } from './errors.ts'
import {
  type DescribedResponse,
  type JsonSchema,
  type MediaTypes,
  type Operation,
  type RequestParameters,
  type ResponseHeader,
  type SecurityScheme,
  text,
} from './operation.ts'

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

interface DescribedRoute {
  /** In upper case. */
  method: string
  /** With parameters in the form of Fastify: `/uploads/:id`. */
  url: string
  operation: Operation
}

const description = `The REST endpoints of Stowage, a storage gateway: uploads, downloads, resumable uploads and health. Everything else
is in the GraphQL API at \`/graphql\`, which describes itself.

Every error has one shape, the schema \`Errors\`. The description of an error response lists its reasons. A request that is
not valid HTTP gets 400, 408 or 431 in the same shape, an unknown URL 404, and a method that a URL does not have 405.`

const securitySchemes: Record<SecurityScheme, JsonSchema> = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key or the token of a session.' },
  consoleCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'stowage_session',
    description: "The console's session, which `POST /console/session` sets. It requires `consoleHeader`.",
  },
  consoleHeader: { type: 'apiKey', in: 'header', name: 'X-Stowage-Console', description: 'Any value.' },
  downloadLink: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: 'A link from the GraphQL field `downloadUrl` contains it. It needs no other credential.',
  },
}

const requestId: ResponseHeader = {
  description: 'The ID of the request in the log of the server.',
  schema: { type: 'string' },
}

/** Composes an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html). */
function createDocument(routes: readonly DescribedRoute[], basePath: string) {
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, url, operation } of routes) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, method) }
  }
  const schemas = Object.assign({ Errors: errorSchema }, ...routes.map(({ operation }) => operation.schemas))
  return {
    openapi: '3.1.1',
    info: { title: 'Stowage', version: '1', description, license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } },
    // Relative to the address of the document.
    servers: [{ url: basePath || '/' }],
    tags: [...new Set(routes.map(({ operation }) => operation.tag))].map(name => ({ name })),
    paths,
    components: { schemas, securitySchemes },
  }
}

function describe(operation: Operation, method: string): object {
  const { id: operationId, tag, summary, description, security, body } = operation
  const parameters = [
    ...parametersIn('path', operation.path),
    ...parametersIn('query', operation.query),
    ...parametersIn('header', operation.headers),
  ]
  const responses = Object.entries({ ...operation.responses, ...errorResponses(operation) })
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description && { description }),
    security: security.map(schemes => Object.fromEntries(schemes.map(name => [name, []]))),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { ...body, content: contentOf(body.content) } }),
    responses: Object.fromEntries(responses.map(([status, response]) => [status, responseOf(response, method)])),
  }
}

function parametersIn(location: string, parameters: RequestParameters = {}): object[] {
  const required = location === 'path' ? { required: true } : {}
  return Object.entries(parameters).map(([name, parameter]) => ({ name, in: location, ...required, ...parameter }))
}

function responseOf({ description, headers, content }: DescribedResponse, method: string): object {
  return {
    description,
    headers: { ...headers, 'X-Request-Id': requestId },
    ...(content && method !== 'HEAD' && { content: contentOf(content) }),
  }
}

function contentOf(content: MediaTypes): object {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, schema ? { schema } : {}]))
}
