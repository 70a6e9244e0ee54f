/** Reads `/openapi.json`, and sends the requests that it describes. */
import { type Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Validator } from '@seriousme/openapi-schema-validator'

export type Schema = Readonly<Record<string, unknown>>

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
}

interface Content {
  content?: Readonly<Record<string, { schema?: Schema }>>
}

export interface Described {
  operationId: string
  security: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: Content & { required?: boolean }
  responses: Readonly<Record<string, Content & { description: string; headers: Record<string, { schema: Schema }> }>>
}

export interface DescribedCall {
  /** In upper case. */
  method: string
  /** With parameters such as `{id}`. */
  path: string
  operation: Described
}

export interface OpenApi {
  servers: { url: string }[]
  paths: Record<string, Record<string, Described>>
}

export async function readDocument(url: string): Promise<OpenApi> {
  const response = await fetch(`${url}/openapi.json`)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as OpenApi
}

/** Returns all operations, without references. @throws if the document is not valid */
export async function readCalls(url: string): Promise<DescribedCall[]> {
  const validator = new Validator()
  const { valid, errors } = await validator.validate({ ...(await readDocument(url)) })
  if (!valid) throw new Error(JSON.stringify(errors))
  const { paths } = validator.resolveRefs() as unknown as OpenApi
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

export interface Sent {
  status: number
  headers: Readonly<Record<string, string>>
  body: Buffer
}

export interface RawCall {
  method: string
  path: string
  headers: Record<string, string>
  body?: Buffer | string | undefined
}

/** Sends any header, even those that `fetch` sets itself. */
export async function sendRaw(agent: Agent, url: string, { method, path, headers, body }: RawCall): Promise<Sent> {
  const { promise, resolve, reject } = Promise.withResolvers<Sent>()
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const sent = request(url + path, { agent, method, headers: { ...headers, ...length } }, response => {
    buffer(response).then(body => {
      const entries = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const)
      resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(entries), body })
    }, reject)
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}
