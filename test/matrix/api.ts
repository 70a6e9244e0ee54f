/** Calls the running server over keep-alive connections, and reads its schema and routes. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http'

export interface Call {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** Translates the response into that of a REST endpoint. */
  interpret?: (answer: Answer, headers: IncomingHttpHeaders) => Answer
  /** Performs a call of another protocol than HTTP with the value of the Authorization header. */
  perform?: (authorization: string | null) => Promise<Answer>
}

export interface Answer {
  status: number
  /** The parsed JSON, or the bytes as text. */
  body: unknown
  text: string
  errors: { message: string; path?: (string | number)[]; extensions?: { code?: string; reason?: string } }[]
}

const agent = new Agent({ keepAlive: true, maxSockets: 24 })

/** Resolves with the first event of a stream, and disconnects. @param authorization the value of the header; null sends none */
export function send(url: string, authorization: string | null, call: Call): Promise<Answer> {
  if (call.perform) return call.perform(authorization)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const { interpret = answer => answer } = call
  const headers = {
    ...call.headers,
    ...(authorization !== null && { authorization }),
    ...(call.body !== undefined && { 'content-length': String(Buffer.byteLength(call.body)) }),
  }
  const { hostname, port } = new URL(url)
  // A URL would resolve the dot segments of the path.
  const sent = request({ hostname, port, path: call.path, agent, method: call.method, headers }, response => {
    const chunks: Buffer[] = []
    const isEvents = /event-stream/.test(response.headers['content-type'] ?? '')
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      const [, data] = (isEvents && /^event: next\ndata: (.*)\n\n/m.exec(Buffer.concat(chunks).toString())) || []
      if (data === undefined) return
      const body = JSON.parse(data)
      resolve({ status: response.statusCode ?? 0, body, text: data, errors: body.errors ?? [] })
      sent.destroy()
    })
    response.on('error', reject)
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const isJson = /json/.test(response.headers['content-type'] ?? '')
      const body = isJson && text !== '' ? JSON.parse(text) : text
      const answer = { status: response.statusCode ?? 0, body, text, errors: body.errors ?? [] }
      resolve(interpret(answer, response.headers))
    })
  })
  sent.on('error', reject)
  sent.end(call.body)
  return promise
}

/** Sends a call with the header and cookies of a credential. */
export function sendAs(
  url: string,
  { header, beside }: { header: string | null; beside?: Readonly<Record<string, string>> },
  call: Call,
): Promise<Answer> {
  return send(url, header, { ...call, headers: { ...call.headers, ...beside } })
}

export function hangUp(): void {
  agent.destroy()
}

export function post(query: string, variables: Record<string, unknown> = {}): Call {
  const body = JSON.stringify({ query, variables })
  return { method: 'POST', path: '/graphql', headers: { 'content-type': 'application/json' }, body }
}

/** The schema as introspection returns it. */
interface TypeRef {
  kind: string
  name: string | null
  ofType: TypeRef | null
}
interface Argument {
  name: string
  type: TypeRef
}
export interface Field {
  name: string
  args: Argument[]
  type: TypeRef
}
interface Type {
  kind: string
  name: string
  fields: Field[] | null
  inputFields: Argument[] | null
  possibleTypes: { name: string }[] | null
}

export interface Schema {
  types: ReadonlyMap<string, Type>
}

const typeRef = 'kind name ofType { kind name ofType { kind name ofType { kind name } } }'
const introspection = `{ __schema { types { kind name possibleTypes { name } inputFields { name type { ${typeRef} } }
  fields(includeDeprecated: true) { name args { name type { ${typeRef} } } type { ${typeRef} } } } } }`

export async function readSchema(url: string): Promise<Schema> {
  const answer = await send(url, null, post(introspection))
  const { data } = answer.body as { data: { __schema: { types: Type[] } } }
  return { types: new Map(data.__schema.types.map(type => [type.name, type])) }
}

export function named(type: TypeRef): string {
  return type.ofType ? named(type.ofType) : (type.name ?? '')
}

export function fieldsOf(schema: Schema, type: string): Field[] {
  return schema.types.get(type)?.fields ?? []
}

/** Lists the object and interface types that responses can contain, without those of introspection. */
export function outputTypes(schema: Schema): Type[] {
  return [...schema.types.values()].filter(type => type.fields && !type.name.startsWith('__'))
}

/** Selects all scalars of a type, or those of its objects if it has none. Returns an empty string for a scalar. */
export function selection(schema: Schema, type: string): string {
  const fields = fieldsOf(schema, type)
  if (fields.length === 0) return ''
  const [leaves, objects] = [
    fields.filter(field => isLeaf(schema, field)),
    fields.filter(field => !isLeaf(schema, field)),
  ]
  const inner = leaves.length > 0 ? [] : objects.map(field => `${field.name} ${selection(schema, named(field.type))}`)
  return `{ __typename ${[...leaves.map(field => field.name), ...inner].join(' ')} }`
}

export function isLeaf(schema: Schema, field: Field): boolean {
  return fieldsOf(schema, named(field.type)).length === 0
}

/** Builds a call of one field of Query, Mutation or Subscription. `name` has the form "Query.file". */
export function operation(schema: Schema, name: string, args: Record<string, unknown>, select?: string): Call {
  const [root = '', fieldName = ''] = name.split('.')
  const field = fieldsOf(schema, root).find(field => field.name === fieldName)
  if (!field) throw new Error(`${name} is missing in the schema`)
  const given = field.args.filter(argument => argument.name in args)
  const list = (items: string[]) => (items.length > 0 ? `(${items.join(', ')})` : '')
  const variables = list(given.map(argument => `$${argument.name}: ${print(argument.type)}`))
  const values = list(given.map(argument => `${argument.name}: $${argument.name}`))
  const wanted = select ?? selection(schema, named(field.type))
  const call = post(`${root.toLowerCase()} ${variables} { ${fieldName}${values} ${wanted} }`, args)
  return root === 'Subscription' ? { ...call, headers: { ...call.headers, accept: 'text/event-stream' } } : call
}

/**
 * Returns the deepest selections of a type, one per path of fields without a repeated field, with all scalars on the path.
 * @param depth of fields, at most
 */
export function walks(schema: Schema, type: string, depth: number, met: ReadonlySet<string> = new Set()): string[] {
  const own = [type, ...(schema.types.get(type)?.possibleTypes ?? []).map(({ name }) => name)]
  const ways = own.flatMap(name => fieldsOf(schema, name).map(field => ({ name, field })))
  const spread = (name: string, text: string) => (name === type ? text : `... on ${name} { ${text} }`)
  const leaves = ways.filter(({ field }) => isLeaf(schema, field)).map(({ name, field }) => spread(name, field.name))
  const deeper = ways
    .filter(({ name, field }) => depth > 1 && !isLeaf(schema, field) && !met.has(`${name}.${field.name}`))
    .flatMap(({ name, field }) => {
      const page = field.args.some(argument => argument.name === 'first') ? '(first: 3)' : ''
      const inner = walks(schema, named(field.type), depth - 1, new Set([...met, `${name}.${field.name}`]))
      return inner.map(text => spread(name, `${field.name}${page} ${text}`))
    })
  return (deeper.length > 0 ? deeper : ['']).map(text => `{ __typename ${leaves.join(' ')} ${text} }`)
}

/** Lists every argument of a field and every field of its input object, as "input.path". */
export function argumentsOf(schema: Schema, field: Field): string[] {
  return field.args.flatMap(argument => {
    const inner = schema.types.get(named(argument.type))?.inputFields
    return inner ? inner.map(({ name }) => `${argument.name}.${name}`) : [argument.name]
  })
}

/** Parses Fastify's list of routes into strings such as "GET /healthz". */
export function parseRoutes(printed: string): string[] {
  const routes: string[] = []
  const open: { indent: number; path: string }[] = []
  for (const line of printed.split('\n')) {
    const match = /^([│ ]*)[├└]── (\S*) ?(?:\(([A-Z, -]+)\))?/.exec(line)
    if (!match) continue
    const [, indent = '', path = '', methods] = match
    while ((open.at(-1)?.indent ?? -1) >= indent.length) open.pop()
    const whole = (open.at(-1)?.path ?? '') + path
    open.push({ indent: indent.length, path: whole })
    for (const method of methods?.split(', ') ?? []) if (method !== '-') routes.push(`${method} ${whole}`)
  }
  return routes
}

function print(type: TypeRef): string {
  if (type.kind === 'NON_NULL' && type.ofType) return `${print(type.ofType)}!`
  if (type.kind === 'LIST' && type.ofType) return `[${print(type.ofType)}]`
  return type.name ?? ''
}
