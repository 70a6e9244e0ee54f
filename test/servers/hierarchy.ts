/**
 * Azurite has no hierarchical namespaces. This proxy adds what Microsoft documents about them: real folders, which have the
 * metadata `hdi_isfolder` and are listed as prefixes, and the operations on folders at an address of their own.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ContainerClient } from '@azure/storage-blob'

/** The number of entries that one request deletes. At Azure, it is in the thousands. */
const deletedAtOnce = 3

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

interface Refusal {
  status: number
  code: string
}

export interface Hierarchy {
  endpoint: string
  dfsEndpoint: string
  /** The requests for folders: `PUT`, `DELETE` or `rename`. */
  operations: string[]
}

export async function hierarchy(t: Scope, container: ContainerClient): Promise<Hierarchy> {
  const upstream = new URL(container.url)
  const blobPath = `${upstream.pathname}/`
  const dfsPath = `/dfs/${container.containerName}/`
  const operations: string[] = []
  /** Each operation waits for the one before, so that each is atomic. */
  let queue: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work, work)
    queue = done.catch(() => {})
    return done
  }

  const blob = (name: string) => container.getBlockBlobClient(name)
  const kindOf = async (name: string): Promise<'file' | 'folder' | undefined> => {
    const found = await blob(name)
      .getProperties()
      .catch(() => undefined)
    return found && (found.metadata?.hdi_isfolder ? 'folder' : 'file')
  }
  const below = async (name: string): Promise<string[]> => {
    const names: string[] = []
    for await (const found of container.listBlobsFlat({ prefix: `${name}/` })) names.push(found.name)
    return names
  }
  const makeParents = async (name: string): Promise<void> => {
    const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')))
    if (parent === '' || (await kindOf(parent)) !== undefined) return
    await makeParents(parent)
    await blob(parent).upload('', 0, { metadata: { hdi_isfolder: 'true' } })
  }

  async function makeFolder(name: string): Promise<Refusal | undefined> {
    if (await kindOf(name)) return { status: 409, code: 'PathAlreadyExists' }
    await makeParents(`${name}/x`)
    return undefined
  }

  async function rename(from: string, to: string, isNew: boolean): Promise<Refusal | undefined> {
    const [source, destination] = [await kindOf(from), await kindOf(to)]
    if (!source) return { status: 404, code: 'SourcePathNotFound' }
    if (destination && isNew) return { status: 409, code: 'PathAlreadyExists' }
    const parent = to.slice(0, Math.max(0, to.lastIndexOf('/')))
    if (parent !== '' && !(await kindOf(parent))) return { status: 404, code: 'RenameDestinationParentPathNotFound' }
    for (const name of [from, ...(source === 'folder' ? await below(from) : [])]) {
      const copy = await blob(to + name.slice(from.length)).beginCopyFromURL(blob(name).url)
      await copy.pollUntilDone()
      await blob(name).delete()
    }
    return undefined
  }

  async function remove(name: string, isRecursive: boolean): Promise<Refusal | 'more' | undefined> {
    if (!(await kindOf(name))) return { status: 404, code: 'PathNotFound' }
    const names = await below(name)
    if (names.length > 0 && !isRecursive) return { status: 409, code: 'DirectoryNotEmpty' }
    for (const found of names.toReversed().slice(0, deletedAtOnce)) await blob(found).delete()
    if (names.length > deletedAtOnce) return 'more'
    await blob(name).delete()
    return undefined
  }

  async function answerDfs(incoming: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    incoming.resume()
    const name = decodeURIComponent(url.pathname.slice(dfsPath.length))
    const { method = '', headers } = incoming
    const source = headers['x-ms-rename-source']?.toString()
    operations.push(source === undefined ? method : 'rename')
    const from = decodeURIComponent(source?.slice(container.containerName.length + 2) ?? '')
    const run = () => {
      if (source !== undefined) return rename(from, name, headers['if-none-match'] === '*')
      return method === 'DELETE' ? remove(name, url.searchParams.get('recursive') === 'true') : makeFolder(name)
    }
    const refusal = await inTurn(run)
    if (refusal === 'more') response.setHeader('x-ms-continuation', 'more')
    else if (refusal) {
      response.writeHead(refusal.status, { 'x-ms-error-code': refusal.code }).end()
      return
    }
    response.writeHead(method === 'DELETE' ? 200 : 201).end()
  }

  async function pass(incoming: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { method, headers } = incoming
    const outgoing = request({
      host: upstream.hostname,
      port: upstream.port,
      path: incoming.url,
      method,
      headers,
      agent: false,
    })
    outgoing.on('error', () => incoming.socket.destroy())
    incoming.on('close', () => incoming.readableEnded || outgoing.destroy())
    incoming.pipe(outgoing)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const { statusCode = 502 } = answer
    const isWrite = method === 'PUT' && !['block'].includes(url.searchParams.get('comp') ?? '') && statusCode < 300
    if (isWrite) await inTurn(() => makeParents(decodeURIComponent(url.pathname.slice(blobPath.length))))
    if (url.searchParams.get('delimiter') === '/' && statusCode === 200) {
      const body = foldersAsPrefixes(await text(answer))
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body)
      return
    }
    response.writeHead(statusCode, answer.headers)
    answer.pipe(response)
  }

  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '', upstream)
    if (url.searchParams.get('restype') === 'account') {
      incoming.resume()
      response.writeHead(200, { 'x-ms-is-hns-enabled': 'true' }).end()
      return
    }
    const work = url.pathname.startsWith(dfsPath) ? answerDfs : pass
    work(incoming, response, url).catch(() => incoming.socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const account = upstream.pathname.slice(0, -container.containerName.length)
  return { endpoint: origin + account, dfsEndpoint: `${origin}/dfs/`, operations }
}

/** A listing with a delimiter has each folder once, as a prefix. Every folder is a blob here. */
function foldersAsPrefixes(xml: string): string {
  return xml.replace(/<BlobPrefix>.*?<\/BlobPrefix>/gs, '').replace(/<Blob>.*?<\/Blob>/gs, item => {
    const [, name = ''] = /<Name[^>]*>(.*?)<\/Name>/.exec(item) ?? []
    if (!item.includes('<hdi_isfolder>')) return item
    return `<BlobPrefix><Name>${name}/</Name><Properties><ResourceType>directory</ResourceType></Properties></BlobPrefix>`
  })
}
