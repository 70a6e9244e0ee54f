import { errorResponses, errorSchema } from './errors.ts'
import type {
  DescribedResponse,
  JsonSchema,
  MediaTypes,
  Operation,
  RequestParameters,
  ResponseHeader,
  SecurityScheme,
} from './operation.ts'

export interface DescribedRoute {
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
export function createDocument(routes: readonly DescribedRoute[], basePath: string) {
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

function parametersIn(place: string, parameters: RequestParameters = {}): object[] {
  const required = place === 'path' ? { required: true } : {}
  return Object.entries(parameters).map(([name, parameter]) => ({ name, in: place, ...required, ...parameter }))
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
