/** Sends requests with a key that is limited to a base path, and checks every response. */
import { Agent, request } from 'node:http'
import type { Test } from 'tap'
import { requireArchivers } from '../http/archive-tools.ts'
import { metadataHeader, tusPath } from '../http/tus.ts'
import { base } from '../matrix/world.ts'
import { connectSsh, RawSftp, SftpClient, serveSftp } from '../sftp/server.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type ToolOutcome, toolCall, toolOutcome } from '../support/mcp.ts'
import { makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { type BackEnd, secret, seed } from './back-ends.ts'

export interface Answer {
  status: number
  headers: [name: string, value: string][]
  body: Buffer
  text: string
}

interface Call {
  method: string
  path: string
  headers?: Record<string, string>
  body?: Buffer | string
  /** Whether to send no credential. */
  isWithout?: true
}

export interface Attack {
  app: TestApp
  backEnd: BackEnd
  providerId: string
  /** The header of a key that may write, only below the base path. */
  authorization: string
  /** A session of SFTP with the same key. */
  sftp: SftpClient
  /** The tokens of share links to the base path. */
  links: { view: string; drop: string }
  /** The number of hostile requests so far. */
  count: number
  wrong: string[]
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

export async function attack(t: Test, backEnd: BackEnd): Promise<Attack> {
  await requireArchivers()
  t.teardown(() => agent.destroy())
  const app = await startApp(t, { adapters: backEnd.adapters, settings: { logLevel: 'error' } })
  const { token } = await app.register('owner@example.org')
  const config = await backEnd.config(app.folder)
  await seed(backEnd)
  const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
  const input = { type: backEnd.type, name: backEnd.type, config, encryption: backEnd.encryption ?? null }
  const providerId: string = (await app.ask(connect, { input }, token)).connectProvider.provider.id
  // The id is also the name of the bucket.
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { slug } }'
  await app.ask(update, { input: { id: providerId, slug: providerId } }, token)
  const providerAccess = { restrictions: [{ providerId, basePath: base }] }
  const { key } = await app.createKey(token, { name: 'inside', scopes: ['write'], providerAccess })
  const share = async (kind: string) => (await makeShare(app, token, { providerId, path: base, kind })).link
  const links = { view: await share('VIEW'), drop: await share('DROP') }
  const ssh = await connectSsh(t, await serveSftp(t, app), { password: key })
  const sftp = new SftpClient(await RawSftp.start(ssh))
  return { app, backEnd, providerId, authorization: `Bearer ${key}`, sftp, links, count: 0, wrong: [] }
}

function send(url: string, { method, path, headers, body }: Call): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const { hostname, port } = new URL(url)
  const all = { ...headers, ...length }
  // A URL would resolve the dot segments of the path.
  const sent = request({ hostname, port, path, agent, method, headers: all }, response => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
    response.on('end', () => {
      const raw = response.rawHeaders
      const pairs = raw.flatMap((name, i): [string, string][] =>
        i % 2 ? [] : [[name.toLowerCase(), raw[i + 1] ?? '']],
      )
      const whole = Buffer.concat(chunks)
      resolve({ status: response.statusCode ?? 0, headers: pairs, body: whole, text: whole.toString() })
    })
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

/** Sends one hostile request and checks what must hold for every response. */
export async function tryCall(on: Attack, what: string, call: Call): Promise<Answer> {
  on.count += 1
  const credential = call.isWithout ? {} : { authorization: on.authorization }
  const answer = await send(on.app.url, { ...call, headers: { ...credential, ...call.headers } })
  const fail = (how: string) => on.wrong.push(`${what}: ${how}: ${answer.status} ${answer.text.slice(0, 200)}`)
  if (answer.status >= 500) fail('an internal error')
  if (answer.text.includes(secret)) fail('reveals content outside the base path')
  const type = headerOf(answer, 'content-type') ?? ''
  for (const [name, value] of answer.headers) {
    if (name === 'x-injected' || name === 'set-cookie') fail(`the header ${name}`)
    if (/\p{Cc}/u.test(value)) fail(`a control character in ${name}`)
  }
  if (answer.text !== '' && headerOf(answer, 'x-content-type-options') !== 'nosniff') fail('no nosniff header')
  const policy = headerOf(answer, 'content-security-policy')
  // S3 has no default of its own for the disposition, and XML for everything else.
  // XML of WebDAV can contain elements of clients, which a browser must not run.
  const isHarmless = /^\/(?:s3|dav)\//.test(call.path) && /^(?:sandbox$|default-src 'none')/.test(policy ?? '')
  const isShown = !isHarmless && !headerOf(answer, 'content-disposition')?.startsWith('attachment')
  if (isShown && /html|svg|xml|script/.test(type)) fail(`shown as ${type}`)
  return answer
}

export const headerOf = ({ headers }: Answer, name: string) => headers.find(([known]) => known === name)?.[1]

export const json = (answer: Answer) => JSON.parse(answer.text)

export function graphql(on: Attack, query: string, variables: object): Promise<Answer> {
  const body = JSON.stringify({ query, variables })
  const headers = { 'content-type': 'application/json' }
  return tryCall(on, JSON.stringify(variables).slice(0, 200), { method: 'POST', path: '/graphql', headers, body })
}

const archivePath = '/api/download/archive'
const address = (on: Attack, path: string, more = '') =>
  `?providerId=${on.providerId}&path=${encodeURIComponent(path.toWellFormed())}${more}`

export function download(on: Attack, path: string, more = '', method = 'GET'): Promise<Answer> {
  const call = { method, path: `/api/download/proxy${address(on, path, more)}` }
  return tryCall(on, `${method} ${JSON.stringify(path.slice(0, 100))}`, call)
}

export function thumbnail(on: Attack, path: string): Promise<Answer> {
  const call = { method: 'GET', path: `/api/thumbnail${address(on, path)}` }
  return tryCall(on, `thumbnail ${JSON.stringify(path.slice(0, 100))}`, call)
}

export function rendition(on: Attack, path: string): Promise<Answer> {
  const call = { method: 'GET', path: `/api/rendition${address(on, path)}` }
  return tryCall(on, `rendition ${JSON.stringify(path.slice(0, 100))}`, call)
}

/** Downloads an archive of these paths. */
export async function archive(on: Attack, paths: readonly string[]): Promise<Answer> {
  const body = JSON.stringify({ providerId: on.providerId, paths })
  const call = { method: 'POST', path: archivePath, headers: { 'content-type': 'application/json' }, body }
  let answer = await tryCall(on, `archive ${body.slice(0, 200)}`, call)
  // A credential can download a few archives at once, and the requests of a test run at once.
  await until(
    async () => {
      if (!answer.text.includes('TOO_MANY_ARCHIVES')) return true
      answer = await tryCall(on, `archive ${body.slice(0, 200)}`, call)
      return 'waiting for an archive'
    },
    { every: 20 },
  )
  return answer
}

/** Downloads the archive of a ticket, without a credential. */
export function redeem(on: Attack, ticket: string): Promise<Answer> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = String(new URLSearchParams({ ticket }))
  return tryCall(on, 'a ticket', { method: 'POST', path: archivePath, headers, body, isWithout: true })
}

export function upload(on: Attack, path: string, body: string): Promise<Answer> {
  const call = { method: 'POST', path: `/api/upload/proxy${address(on, path)}`, body }
  const headers = { 'content-type': 'application/octet-stream' }
  return tryCall(on, `upload ${JSON.stringify(path.slice(0, 100))}`, { ...call, headers })
}

/** @param filename the parameter of Content-Disposition, such as `filename="a"` */
export function form(on: Attack, folder: string, filename: string, body: string): Promise<Answer> {
  const line = '--boundary-of-this-test\r\nContent-Disposition: form-data; name='
  const fields = `${line}"providerId"\r\n\r\n${on.providerId}\r\n${line}"path"\r\n\r\n${folder}\r\n`
  const whole = `${fields}${line}"file"; ${filename}\r\n\r\n${body}\r\n--boundary-of-this-test--\r\n`
  return tryCall(on, `form ${JSON.stringify([folder.slice(0, 100), filename.slice(0, 100)])}`, {
    method: 'POST',
    path: '/api/upload/proxy',
    headers: { 'content-type': 'multipart/form-data; boundary=boundary-of-this-test' },
    body: whole,
  })
}

/** Sends a form of S3. @param filename the name of its file */
export function objectForm(on: Attack, key: string, filename: string): Promise<Answer> {
  const line = '--boundary-of-this-test\r\nContent-Disposition: form-data; name='
  const file = `${line}"file"; filename*=UTF-8''${encodeURIComponent(filename)}\r\n\r\nform\r\n`
  return tryCall(on, `form over S3 ${JSON.stringify([key.slice(0, 100), filename.slice(0, 100)])}`, {
    method: 'POST',
    path: `/s3/${on.providerId}`,
    headers: { 'content-type': 'multipart/form-data; boundary=boundary-of-this-test' },
    body: `${line}"key"\r\n\r\n${key}\r\n${file}--boundary-of-this-test--\r\n`,
  })
}

export function tus(on: Attack, path: string, body: string): Promise<Answer> {
  return tryCall(on, `resumable ${JSON.stringify(path.slice(0, 100))}`, {
    method: 'POST',
    path: tusPath,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': String(Buffer.byteLength(body)),
      'upload-metadata': metadataHeader({ providerId: on.providerId, path }),
      'content-type': 'application/offset+octet-stream',
    },
    body,
  })
}

/** Calls a tool of the MCP server. */
export async function tool(on: Attack, name: string, args: object): Promise<ToolOutcome> {
  const answer = await tryCall(on, `${name} ${JSON.stringify(args).slice(0, 200)}`, toolCall(name, args))
  return toolOutcome(answer.status, answer.text)
}

/** Calls a method of WebDAV. @param more.destination a path in the same provider */
export function dav(
  on: Attack,
  method: string,
  path: string,
  { destination, headers, body }: { destination?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const addressOf = (at: string) =>
    `/dav/${on.providerId}${at.startsWith('/') ? '' : '/'}${at.toWellFormed().split('/').map(encodeURIComponent).join('/')}`
  const target = destination === undefined ? {} : { destination: addressOf(destination) }
  return tryCall(on, `${method} ${JSON.stringify([path.slice(0, 100), destination?.slice(0, 100)])}`, {
    method,
    path: addressOf(path),
    headers: { ...headers, ...target },
    ...(body !== undefined && { body }),
  })
}

/** Follows a link without a credential. */
export async function follow(on: Attack, url: string): Promise<Answer | null> {
  if (!url.startsWith(on.app.url)) return null
  return tryCall(on, 'a link', { method: 'GET', path: url.slice(on.app.url.length), isWithout: true })
}
