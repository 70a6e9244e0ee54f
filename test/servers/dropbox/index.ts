/**
 * A fake Dropbox on loopback: the HTTP behavior that Dropbox publishes, with files in memory and faults on demand. It does
 * not depend on the adapter. `dropbox.test.ts` checks it with Dropbox's own SDK.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FakeServer } from '../cloud/fake-server.ts'
import { parseRange, readBody, sendChunks, sendJson, slice } from '../cloud/http.ts'
import { OAuthServer } from '../cloud/oauth.ts'
import { type Node, randomId } from '../cloud/tree.ts'
import { badRequest, DropboxError, errorOf, refused } from './errors.ts'
import { Files } from './files.ts'
import { Lister } from './list.ts'
import { Uploads } from './upload.ts'

const home = '1001'
const scopes = ['account_info.read', 'files.metadata.read', 'files.content.read', 'files.content.write']

type Args = Record<string, unknown>

export class Dropbox extends FakeServer {
  readonly oauth = new OAuthServer({
    clientId: randomId('', 9).toLowerCase(),
    clientSecret: randomId('', 9),
    isOffline: query => query.get('token_access_type') === 'offline',
    scopes,
    lifetime: 14_400,
    prefix: 'sl.',
  })
  protected readonly errorOf = errorOf
  protected readonly sendError = sendError
  readonly files = new Files()
  readonly lister = new Lister(this.files)
  readonly uploads = new Uploads(this.files)
  /** The namespace of the account's root: its own, or that of its team. */
  rootNamespace = home
  /** Replaces the space of an individual account. */
  spaceAllocation: object | undefined
  /** The connection of the next download is cut after this many bytes. */
  cutDownloadAfter: number | undefined
  /** If true, the connection stalls instead of being cut. */
  cutIsStall = false

  /** Puts the account into a team: its files are in a folder of the team's space, beside team folders. */
  joinTeam(folders: readonly string[]): void {
    const { tree, namespaces } = this.files
    this.rootNamespace = '2002'
    this.files.home = tree.folder('Jane Doe') ?? tree.root
    namespaces.set(this.files.home, home)
    for (const [index, name] of folders.entries()) {
      const folder = tree.folder(name)
      if (folder) namespaces.set(folder, `300${index}`)
    }
  }

  /** Adds a file like another client, directly and without HTTP. */
  addFile(path: string, content: string | Buffer = '', base: Node = this.files.home): Node {
    return this.files.tree.addFile(path, content, base)
  }

  /** Adds a document that can only be exported. */
  addDocument(path: string, text: string): Node {
    const node = this.addFile(path)
    this.files.documents.set(node, text)
    return node
  }

  protected async route(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const { pathname, searchParams } = new URL(url, this.url)
    if (pathname === '/oauth2/authorize') return this.oauth.authorize(searchParams, response)
    if (pathname === '/oauth2/token') return await this.oauth.token(request, searchParams, response)
    const route = /^\/2\/(.+)$/.exec(pathname)?.[1]
    if (route === undefined || request.method !== 'POST') throw new DropboxError(404, 'Unknown API function')
    const state = this.oauth.stateOf(request)
    if (state !== 'valid') throw refused(state === 'expired' ? 'expired_access_token' : 'invalid_access_token', {}, 401)
    const base = this.#base(request)
    if (route === 'files/download' || route === 'files/export') {
      request.resume()
      return await this.#download(route, request, response, base)
    }
    const body = await readBody(request)
    const isContent = request.headers['content-type'] === 'application/octet-stream'
    const args = isContent ? headerArgs(request) : parse(body.toString() || 'null')
    sendJson(response, this.#call(route, args, isContent ? body : Buffer.alloc(0), base) ?? null)
  }

  /** The node of `Dropbox-API-Path-Root`. */
  #base(request: IncomingMessage): Node {
    const header = request.headers['dropbox-api-path-root']
    if (header === undefined) return this.files.home
    const root = parse(String(header))
    if (root['.tag'] === 'home') return this.files.home
    if (root['.tag'] === 'root' && root.root === this.rootNamespace) return this.files.tree.root
    if (root['.tag'] === 'root') throw refused('invalid_root', { invalid_root: this.#rootInfo() }, 422)
    const found = [...this.files.namespaces].find(([, id]) => id === root.namespace_id)
    if (!found) throw refused('no_permission', {}, 422)
    return found[0]
  }

  #rootInfo(): object {
    const isTeam = this.rootNamespace !== home
    const ids = { root_namespace_id: this.rootNamespace, home_namespace_id: home }
    return { '.tag': isTeam ? 'team' : 'user', ...ids, ...(isTeam && { home_path: '/Jane Doe' }) }
  }

  #call(route: string, args: Args, body: Buffer, base: Node): object | undefined {
    const { files, lister, uploads } = this
    switch (route) {
      case 'users/get_current_account':
        return { account_id: 'dbid:fake', email: 'jane@example.com', root_info: this.#rootInfo() }
      case 'users/get_space_usage':
        return { used: files.tree.usage(), allocation: this.spaceAllocation ?? individual(files.storageLimit) }
      case 'files/get_metadata':
        if (args.path === '') throw badRequest('path: The root folder is unsupported.')
        return files.metadata(files.lookUp(String(args.path), base, 'path'))
      case 'files/list_folder':
        return lister.start(String(args.path), args.limit === undefined ? undefined : Number(args.limit), base)
      case 'files/list_folder/get_latest_cursor':
        return lister.latest(String(args.path), Number(args.limit ?? 2000), base)
      case 'files/list_folder/continue':
        return lister.next(String(args.cursor))
      case 'files/create_folder_v2':
        return files.createFolder(String(args.path), base)
      case 'files/delete_v2':
        return files.remove(
          String(args.path),
          args.parent_rev === undefined ? undefined : String(args.parent_rev),
          base,
        )
      case 'files/copy_v2':
      case 'files/move_v2':
        return files.relocate(
          route === 'files/copy_v2' ? 'copy' : 'move',
          String(args.from_path),
          String(args.to_path),
          base,
        )
      case 'files/list_revisions': {
        const before = args.before_rev === undefined ? undefined : String(args.before_rev)
        return files.listRevisions(String(args.path), { limit: Number(args.limit ?? 10), before }, base)
      }
      case 'files/restore':
        return files.restore(String(args.path), String(args.rev), base)
      case 'files/upload':
        return uploads.upload(args, body, base)
      case 'files/upload_session/start':
        return uploads.start(args, body)
      case 'files/upload_session/append_v2':
        return void uploads.append(args, body)
      case 'files/upload_session/finish':
        return uploads.finish(args, body, base)
      default:
        throw new DropboxError(404, 'Unknown API function')
    }
  }

  async #download(route: string, request: IncomingMessage, response: ServerResponse, base: Node): Promise<void> {
    const { files } = this
    const path = String(headerArgs(request).path)
    const node = path.startsWith('rev:') ? files.revision(path.slice(4)) : files.lookUp(path, base, 'path')
    if (node.children) throw refused('path/not_file')
    const text = files.documents.get(node)
    if ((text !== undefined) !== (route === 'files/export')) {
      throw refused(route === 'files/export' ? 'non_exportable' : 'unsupported_file')
    }
    const chunks = text === undefined ? node.chunks : [Buffer.from(text)]
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    const range = text === undefined ? parseRange(request.headers.range, size) : undefined
    if (range === 'unsatisfiable') {
      response.writeHead(416, { 'content-range': `bytes */${size}` }).end()
      return
    }
    const { start, end } = range ?? { start: 0, end: size }
    const file = files.metadata(node, false)
    const result = text === undefined ? file : { export_metadata: { name: 'x.html', size }, file_metadata: file }
    response.writeHead(range ? 206 : 200, {
      'content-type': 'application/octet-stream',
      'dropbox-api-result': asciiJson(result),
      'content-length': String(end - start),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
    })
    const cut = this.cutDownloadAfter
    this.cutDownloadAfter = undefined
    await sendChunks(response, slice(chunks, start, end), cut, this.cutIsStall)
  }
}

const individual = (allocated: number) => ({ '.tag': 'individual', allocated })

function headerArgs(request: IncomingMessage): Args {
  const header = String(request.headers['dropbox-api-arg'] ?? '')
  if (/[^\x20-\x7e]/.test(header)) throw badRequest('HTTP header "Dropbox-API-Arg": could not decode input as JSON')
  return parse(header)
}

function parse(text: string): Args {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    throw badRequest('could not decode input as JSON')
  }
}

const asciiJson = (value: object) =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const { status, body, headers } = error instanceof DropboxError ? error : new DropboxError(500, String(error))
  if (typeof body !== 'string') sendJson(response, body, status, headers)
  else response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body)
}

export async function startDropbox(t: { teardown(end: () => Promise<void>): void }): Promise<Dropbox> {
  const dropbox = await new Dropbox().start()
  t.teardown(() => dropbox.stop())
  return dropbox
}
