/**
 * A fake Microsoft Graph on loopback with the drives of one account: the HTTP behavior that Microsoft publishes, with files in
 * memory and faults on demand. The fake does not depend on the adapter. `onedrive.test.ts` checks it with Microsoft's own client.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FakeServer } from '../cloud/fake-server.ts'
import { parseRange, readBody, sendChunks, sendJson, slice } from '../cloud/http.ts'
import { OAuthServer } from '../cloud/oauth.ts'
import { fold, type Node, randomId } from '../cloud/tree.ts'
import { type Behavior, Drive } from './drive.ts'
import { errorOf, GraphError, invalid, notFound, taken } from './errors.ts'
import { onVersions } from './versions.ts'

/** Every range but the last one is a multiple of this number of bytes. */
const unit = 320 * 1024
const behaviorName = '@microsoft.graph.conflictBehavior'

interface Session {
  drive: Drive
  parent: Node
  name: string
  behavior: Behavior
  modified: number | undefined
  chunks: Buffer[]
  received: number
  total: number | undefined
}

interface Copy {
  drive: Drive
  source: Node
  parent: Node
  name: string
  behavior: Behavior
  polls: number
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  query: URLSearchParams
  drive: Drive
  node: () => Node
  /** The item that the path starts from, and the rest of the path. */
  from: Node
  path: string
}

export class OneDrive extends FakeServer {
  readonly oauth = new OAuthServer({
    clientId: '11111111-2222-3333-4444-555555555555',
    clientSecret: randomId('', 30),
    isOffline: query => (query.get('scope') ?? '').split(' ').includes('offline_access'),
    scopes: ['offline_access', 'Files.ReadWrite.All', 'Sites.Read.All'],
    lifetime: 3600,
    prefix: 'EwB',
  })
  protected readonly errorOf = errorOf
  protected readonly sendError = sendError
  /** The drive of the account. */
  readonly drive = new Drive('business')
  /** The default library of https://contoso.sharepoint.com/sites/Team. */
  readonly library = new Drive('documentLibrary')
  /** The tenants that have accounts. */
  readonly tenants = ['common', 'contoso.example']
  /** The address in links, for a client that follows only those of https. */
  publicUrl: string | undefined
  /** The number of looks at a copy before it is complete. */
  copyPolls = 1
  /** The connection of the next download is cut after this many bytes. */
  cutDownloadAfter: number | undefined
  /** If true, the connection stalls instead of being cut. */
  cutIsStall = false
  readonly #sessions = new Map<string, Session>()
  readonly #copies = new Map<string, Copy>()
  readonly #pages = new Map<string, string>()
  /** The changes that the positions of `delta` have seen. */
  readonly #deltas = new Map<string, number>()
  #deltaTokens = 0

  get #links(): string {
    return this.publicUrl ?? this.url
  }

  get openSessions(): number {
    return this.#sessions.size
  }

  expireSessions(): void {
    this.#sessions.clear()
  }

  /** Makes the links to further pages invalid. */
  expirePages(): void {
    this.#pages.clear()
    this.#deltas.clear()
  }

  /** Adds a file like another client, directly and without HTTP. */
  addFile(path: string, content: string | Buffer = '', { tree } = this.drive): Node {
    return tree.addFile(path, content)
  }

  protected async route(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const { pathname, searchParams: query } = new URL(url, this.url)
    const login = /^\/login\/([^/]+)\/oauth2\/v2\.0\/(authorize|token)$/.exec(pathname)
    if (login) {
      if (!this.tenants.includes(login[1] ?? '')) throw new GraphError(400, 'invalid_request')
      if (login[2] === 'authorize') return this.oauth.authorize(query, response)
      return await this.oauth.token(request, query, response)
    }
    const [, kind, id = ''] = /^\/(upload|download|monitor)\/([^/]+)$/.exec(pathname) ?? []
    if (kind === 'upload') return await this.#upload(request, response, id)
    if (kind === 'download') return await this.#download(request, response, decodeURIComponent(id))
    if (kind === 'monitor') return this.#monitor(response, id)
    if (this.oauth.stateOf(request) !== 'valid') throw new GraphError(401, 'InvalidAuthenticationToken')
    await this.#drives(request, response, pathname, query)
  }

  async #drives(
    request: IncomingMessage,
    response: ServerResponse,
    pathname: string,
    query: URLSearchParams,
  ): Promise<void> {
    const address = /^\/v1\.0\/(me\/drive|drives\/[^/]+|sites\/[^/:]+:[^:]+:\/drive|sites\/[^/:]+\/drive)(\/.*)?$/.exec(
      pathname,
    )
    const drive = this.#driveAt(decodeURIComponent(address?.[1] ?? ''))
    const rest = address?.[2]
    if (rest === undefined) return sendJson(response, drive.resource())
    if (rest === '/root/delta') return this.#delta(request, response, drive, query)
    const versions = /^\/items\/([^/:]+)\/versions(\/.*)?$/.exec(rest)
    if (versions) {
      const node = drive.byId(decodeURIComponent(versions[1] ?? ''))
      const url = new URL(request.url ?? '', this.#links).href
      const downloadUrl = (each: Node) => `${this.#links}download/${encodeURIComponent(`${each.id}!${each.version}`)}`
      const asked = { method: request.method ?? '', rest: versions[2] ?? '', url, downloadUrl }
      return await onVersions({ drive, node, query, response }, asked)
    }
    const item = /^\/(?:root|items\/([^/:]+))(?::((?:\/[^/:]+)+):?)?(?:\/(children|content|createUploadSession|copy))?$/
    const match = item.exec(rest)
    if (!match) throw invalid()
    const [, id, encoded = '', action = ''] = match
    const from = id === undefined ? drive.tree.root : drive.byId(decodeURIComponent(id))
    const path = encoded.split('/').map(decodeURIComponent).join('/')
    const node = () => {
      const found = drive.tree.find(path, from)
      if (!found) throw notFound()
      return found
    }
    const exchange = { request, response, query, drive, node, from, path }
    const run = this.#actions[`${request.method} ${action}`.trim()]
    if (!run) throw invalid()
    await run(exchange)
  }

  #driveAt(address: string): Drive {
    if (address === 'me/drive') return this.drive
    if (address === 'sites/contoso.sharepoint.com:/sites/Team:/drive') return this.library
    const found = [this.drive, this.library].find(({ id }) => address === `drives/${id}`)
    if (!found) throw notFound()
    return found
  }

  readonly #actions: Record<string, (exchange: Exchange) => void | Promise<void>> = {
    GET: exchange => this.#send(exchange, exchange.node()),
    DELETE: ({ request, response, drive, node }) => {
      const found = node()
      if (found.parent === null) throw invalid()
      drive.checkMatch(found, request.headers['if-match'])
      drive.tree.remove(found)
      response.writeHead(204).end()
    },
    PATCH: exchange => this.#patch(exchange),
    'GET children': exchange => this.#list(exchange),
    'POST children': async exchange => {
      const { drive, node, request } = exchange
      const json = await readJson(request)
      const parent = node()
      const name = drive.checkName(json.name)
      if (!parent.children || json.folder === undefined) throw invalid()
      if (parent.children.has(fold(name))) throw taken()
      const made = drive.tree.folder(name, parent)
      if (made) this.#send(exchange, made, 201)
    },
    'GET content': ({ response, node }) => {
      response.writeHead(302, { location: this.#downloadUrl(node()) }).end()
    },
    'PUT content': async exchange => {
      const { drive, from, path, request, query } = exchange
      const body = await readBody(request)
      const { parent, name } = drive.target(path, from)
      const behavior = (query.get(behaviorName) ?? 'replace') as Behavior
      this.#send(exchange, drive.store(parent, name, [body], { behavior }), 201)
    },
    'POST createUploadSession': async ({ drive, from, path, request, response }) => {
      const { item = {} } = await readJson(request)
      const { parent, name } = drive.target(path, from)
      const behavior = (item[behaviorName] ?? 'replace') as Behavior
      drive.checkConflict(parent, name, behavior)
      const set = item.fileSystemInfo?.lastModifiedDateTime
      const id = randomId('s', 40)
      const modified = set === undefined ? undefined : Date.parse(set)
      this.#sessions.set(id, { drive, parent, name, behavior, modified, chunks: [], received: 0, total: undefined })
      sendJson(response, { uploadUrl: `${this.#links}upload/${id}`, expirationDateTime: inAWeek() })
    },
    'POST copy': async ({ drive, node, request, response, query }) => {
      const { name, parentReference } = await readJson(request)
      const source = node()
      const parent = drive.byId(String(parentReference?.id))
      const behavior = (query.get(behaviorName) ?? 'fail') as Behavior
      const id = randomId('c', 20)
      this.#copies.set(id, { drive, source, parent, name: drive.checkName(name), behavior, polls: this.copyPolls })
      response.writeHead(202, { location: `${this.#links}monitor/${id}` }).end()
    },
  }

  async #patch(exchange: Exchange): Promise<void> {
    const { drive, node, request } = exchange
    const json = await readJson(request)
    const found = node()
    drive.checkMatch(found, request.headers['if-match'])
    const parent = json.parentReference === undefined ? found.parent : drive.byId(String(json.parentReference.id))
    const name = json.name === undefined ? found.name : drive.checkName(json.name)
    if (!parent?.children) throw invalid()
    for (let above: Node | null = parent; above; above = above.parent) if (above === found) throw invalid()
    const existing = parent.children.get(fold(name))
    if (existing && existing !== found) throw taken()
    if (parent !== found.parent || name !== found.name) drive.tree.move(found, parent, name)
    const set = json.fileSystemInfo?.lastModifiedDateTime
    if (set !== undefined) found.modified = Date.parse(set)
    drive.tree.touch(found)
    this.#send(exchange, found)
  }

  #list(exchange: Exchange): void {
    const { node, query, response, drive, request } = exchange
    const { children } = node()
    if (!children) throw invalid()
    const token = query.get('$skiptoken')
    const after = token === null ? '' : this.#pages.get(token)
    if (after === undefined) throw new GraphError(410, 'resyncRequired')
    const top = Math.min(Number(query.get('$top') ?? 200), 1000)
    const names = [...children.keys()].filter(name => name > after).sort()
    const value = names.slice(0, top).flatMap(name => {
      const child = children.get(name)
      return child ? [selected(drive.item(child, this.#downloadUrl), query.get('$select'))] : []
    })
    if (names.length <= top) {
      sendJson(response, { value })
      return
    }
    const next = `p${this.#pages.size.toString(36)}`
    this.#pages.set(next, names[top - 1] ?? '')
    const link = new URL(request.url ?? '', this.#links)
    link.searchParams.set('$skiptoken', next)
    sendJson(response, { value, '@odata.nextLink': link.href })
  }

  /** Items without paths, and the folders around them: learn.microsoft.com/graph/api/driveitem-delta. */
  #delta(request: IncomingMessage, response: ServerResponse, drive: Drive, query: URLSearchParams): void {
    const { tree } = drive
    const token = query.get('token')
    const since = token === 'latest' ? tree.changes : this.#deltas.get(token ?? '')
    if (since === undefined) throw new GraphError(410, 'resyncRequired')
    const link = (seen: number) => {
      const next = `d${this.#deltaTokens++}`
      this.#deltas.set(next, seen)
      const url = new URL(request.url ?? '', this.#links)
      url.search = `?token=${next}`
      return url.href
    }
    const removed = tree.removed
      .filter(({ at }) => at > since)
      .map(({ id, at }) => ({
        at,
        item: { id, deleted: { state: 'deleted' }, parentReference: { driveId: drive.id } },
      }))
    const present = [...tree.all()].filter(({ version }) => version > since)
    const around = new Set(present.flatMap(node => (node.parent ? [node.parent] : [])))
    const changed = [...new Set([...present, ...around])].map(node => {
      const item = selected(drive.item(node, this.#downloadUrl), query.get('$select')) as Record<string, object>
      const { path: _path, ...reference } = (item.parentReference ?? {}) as { path?: string }
      return { at: Math.max(node.version, since + 1), item: { ...item, parentReference: reference } }
    })
    // A moved item was removed from its folder, but exists.
    const ids = new Set(changed.map(({ item }) => (item as unknown as { id: string }).id))
    const there = new Set(Array.from(tree.all(), ({ id }) => id))
    const all = [...removed.filter(({ item }) => !ids.has(item.id) && !there.has(item.id)), ...changed].sort(
      (a, b) => a.at - b.at,
    )
    const rest = all[Number(query.get('$top') ?? 200)]
    const shown = rest ? all.filter(({ at }) => at < rest.at || at === all[0]?.at) : all
    const seen = rest ? (shown.at(-1)?.at ?? since) : tree.changes
    const value = token === 'latest' ? [] : shown.map(({ item }) => item)
    sendJson(response, { value, [rest ? '@odata.nextLink' : '@odata.deltaLink']: link(seen) })
  }

  #send({ response, drive, query }: Exchange, node: Node, status = 200): void {
    sendJson(response, selected(drive.item(node, this.#downloadUrl), query.get('$select')), status)
  }

  readonly #downloadUrl = (node: Node) => `${this.#links}download/${encodeURIComponent(node.id)}?tempauth=secret`

  async #upload(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const session = this.#sessions.get(id)
    if (!session) throw notFound()
    const status = { expirationDateTime: inAWeek(), nextExpectedRanges: [`${session.received}-`] }
    if (request.method === 'GET') return sendJson(response, status)
    if (request.method === 'DELETE') {
      this.#sessions.delete(id)
      response.writeHead(204).end()
      return
    }
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(request.headers['content-range'] ?? '')
    if (!range) throw invalid()
    const [start, end, total] = [Number(range[1]), Number(range[2]) + 1, Number(range[3])]
    const body = await readBody(request)
    if (body.length !== end - start || end > total || (session.total ?? total) !== total) throw invalid()
    if (start !== session.received) throw new GraphError(416, 'invalidRange')
    if (end < total && (end - start) % unit !== 0) throw invalid()
    session.total = total
    if (end < total) {
      session.chunks.push(body)
      session.received = end
      return sendJson(response, { ...status, nextExpectedRanges: [`${end}-`] }, 202)
    }
    const { drive, parent, name, behavior, modified } = session
    const options = { behavior, ...(modified !== undefined && { modified }) }
    const stored = drive.store(parent, name, [...session.chunks, body], options)
    this.#sessions.delete(id)
    sendJson(response, drive.item(stored, this.#downloadUrl), 201)
  }

  #nodes(): Node[] {
    return [this.drive, this.library].flatMap(({ tree }) => [...tree.all()])
  }

  async #download(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const [nodeId, version] = id.split('!')
    const current = this.#nodes().find(each => each.id === nodeId)
    const earlier = [this.drive, this.library].flatMap(drive => (current ? drive.versionsOf(current) : []))
    const node = version === undefined ? current : earlier.find(each => each.version === Number(version))
    if (!node || node.children) throw notFound()
    const range = parseRange(request.headers.range, node.size)
    if (range === 'unsatisfiable') throw new GraphError(416, 'invalidRange')
    const { start, end } = range ?? { start: 0, end: node.size }
    response.writeHead(range ? 206 : 200, {
      'content-length': String(end - start),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${node.size}` }),
    })
    const cut = this.cutDownloadAfter
    this.cutDownloadAfter = undefined
    await sendChunks(response, slice(node.chunks, start, end), cut, this.cutIsStall)
  }

  #monitor(response: ServerResponse, id: string): void {
    const copy = this.#copies.get(id)
    if (!copy) throw notFound()
    copy.polls -= 1
    if (copy.polls >= 0) {
      sendJson(response, { status: 'inProgress', percentageComplete: 50 }, 202)
      return
    }
    this.#copies.delete(id)
    const { drive, source, parent, name, behavior } = copy
    try {
      drive.checkConflict(parent, name, behavior)
      drive.checkQuota(source.size)
    } catch (error) {
      const [code = ''] = String(error instanceof Error && error.message).split('/')
      sendJson(response, { status: 'failed', error: { code, message: 'The copy failed.' } })
      return
    }
    const made = drive.tree.copy(source, parent, name)
    made.modified = Date.now()
    sendJson(response, { status: 'completed', percentageComplete: 100, resourceId: made.id })
  }
}

const inAWeek = () => new Date(Date.now() + 7 * 86_400_000).toISOString()

interface Json {
  [name: string]: unknown
  name?: unknown
  folder?: unknown
  item?: { [name: string]: unknown; fileSystemInfo?: { lastModifiedDateTime?: string } }
  parentReference?: { id?: unknown }
  fileSystemInfo?: { lastModifiedDateTime?: string }
}

async function readJson(request: IncomingMessage): Promise<Json> {
  try {
    return JSON.parse((await readBody(request)).toString() || '{}')
  } catch {
    throw invalid()
  }
}

function selected(item: Record<string, unknown>, select: string | null): object {
  if (select === null) return item
  const names = select.split(',')
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name)))
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const { status, body, headers } = error instanceof GraphError ? error : new GraphError(500, `generalException`)
  sendJson(response, body, status, headers)
}

export async function startOneDrive(t: { teardown(end: () => Promise<void>): void }): Promise<OneDrive> {
  const onedrive = await new OneDrive().start()
  t.teardown(() => onedrive.stop())
  return onedrive
}
