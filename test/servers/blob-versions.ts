/**
 * Azurite keeps no versions of blobs. This proxy in front of it adds what Microsoft documents about an account with versioning: each write and
 * deletion keeps the content before it, `versionid` reads, copies and deletes a version, and `include=versions` lists them, the oldest first.
 * https://learn.microsoft.com/azure/storage/blobs/versioning-overview
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { BlobItem, ContainerClient } from '@azure/storage-blob'

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

interface Version {
  id: string
  /** What Azurite says about the content. */
  blob: BlobItem
  /** The content, in memory. */
  bytes: Buffer
}

export interface BlobVersions {
  endpoint: string
  /** The names that have versions, each with their number, without those that are only present content. */
  versions(): Record<string, number>
}

/** Stands in for the seven digits of a fraction of a second, so that ids are in order. */
function idGenerator(): () => string {
  let count = 0
  return () => `${new Date().toISOString().slice(0, 19)}.${String(++count).padStart(7, '0')}Z`
}

export async function blobVersions(t: Scope, container: ContainerClient): Promise<BlobVersions> {
  const upstream = new URL(container.url)
  const blobPath = `${upstream.pathname}/`
  const kept = new Map<string, Version[]>()
  const present = new Map<string, string>()
  const nextId = idGenerator()
  /** Writes take turns, so that no content is lost between the copy of the old one and the new one. */
  let queue: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work, work)
    queue = done.catch(() => {})
    return done
  }

  async function itemOf(key: string): Promise<BlobItem | undefined> {
    for await (const item of container.listBlobsFlat({ prefix: key, includeMetadata: true })) {
      if (item.name === key) return item
    }
    return undefined
  }

  /** Returns a function that keeps the present content, once it was replaced or deleted. */
  async function keeping(key: string): Promise<() => void> {
    const blob = await itemOf(key)
    if (!blob) return () => {}
    const bytes = await container.getBlobClient(key).downloadToBuffer()
    const id = present.get(key) ?? nextId()
    return () => void kept.set(key, [...(kept.get(key) ?? []), { id, blob, bytes }])
  }

  const find = (key: string, id: string) => kept.get(key)?.find(version => version.id === id)

  function describe({ id, blob, bytes }: Version): Record<string, string> {
    const { etag = '', lastModified, contentType = '', contentMD5 } = blob.properties
    const metadata = Object.entries(blob.metadata ?? {}).map(([name, value]) => [`x-ms-meta-${name}`, value])
    return {
      etag: quoted(etag),
      'last-modified': lastModified.toUTCString(),
      'content-type': contentType,
      'content-length': String(bytes.length),
      'x-ms-version-id': id,
      ...(contentMD5 && { 'content-md5': Buffer.from(contentMD5).toString('base64') }),
      ...Object.fromEntries(metadata),
    }
  }

  /** Answers a request about one version. */
  async function answerVersion(incoming: IncomingMessage, response: ServerResponse, key: string, id: string) {
    const { method, headers } = incoming
    const version = find(key, id)
    if (method === 'DELETE') {
      if (present.get(key) === id) return refuse(response, 403, 'OperationNotAllowedOnRootBlob')
      if (!version) return refuse(response, 404, 'BlobNotFound')
      kept.set(
        key,
        (kept.get(key) ?? []).filter(each => each !== version),
      )
      response.writeHead(202).end()
      return
    }
    const current = present.get(key) === id ? await itemOf(key) : undefined
    if (!/^\d{4}-/.test(id)) return refuse(response, 400, 'InvalidQueryParameterValue')
    if (!version && !current) return refuse(response, 404, 'BlobNotFound')
    const bytes = version?.bytes ?? (await container.getBlobClient(key).downloadToBuffer())
    const facts = describe(version ?? { id, blob: current as BlobItem, bytes })
    const isCurrent = current ? { 'x-ms-is-current-version': 'true' } : {}
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
    if (first === undefined) {
      response.writeHead(200, { ...facts, ...isCurrent }).end(method === 'HEAD' ? undefined : bytes)
      return
    }
    const part = bytes.subarray(Number(first), last ? Number(last) + 1 : undefined)
    if (part.length === 0) return refuse(response, 416, 'InvalidRange')
    const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`
    const { 'content-md5': md5, ...others } = facts
    const checksum = md5 === undefined ? {} : { 'x-ms-blob-content-md5': md5 }
    response
      .writeHead(206, { ...others, ...checksum, 'content-range': range, 'content-length': String(part.length) })
      .end(part)
  }

  /** Copies a version to a name. */
  async function promote(incoming: IncomingMessage, response: ServerResponse, key: string, source: URL) {
    const { headers } = incoming
    const version = find(
      decodeURIComponent(source.pathname.slice(blobPath.length)),
      source.searchParams.get('versionid') ?? '',
    )
    if (!version) return refuse(response, 404, 'BlobNotFound')
    const wanted = headers['x-ms-source-if-match']
    if (wanted !== undefined && wanted !== quoted(version.blob.properties.etag)) {
      return refuse(response, 412, 'SourceConditionNotMet')
    }
    const given = Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('x-ms-meta-') ? [[name.slice('x-ms-meta-'.length), String(value)]] : [],
    )
    const keep = await keeping(key)
    const { contentType = '', contentMD5 } = version.blob.properties
    const metadata = given.length > 0 ? Object.fromEntries(given) : version.blob.metadata
    const stored = await container.getBlockBlobClient(key).upload(version.bytes, version.bytes.length, {
      blobHTTPHeaders: { blobContentType: contentType, ...(contentMD5 && { blobContentMD5: contentMD5 }) },
      ...(metadata && { metadata }),
    })
    keep()
    const id = nextId()
    present.set(key, id)
    response
      .writeHead(202, {
        etag: quoted(stored.etag),
        'last-modified': stored.lastModified?.toUTCString() ?? '',
        'x-ms-version-id': id,
        'x-ms-copy-id': randomUUID(),
        'x-ms-copy-status': 'success',
      })
      .end()
  }

  async function list(response: ServerResponse, { searchParams }: URL) {
    const prefix = searchParams.get('prefix') ?? ''
    const all: { key: string; id: string | undefined; isCurrent: boolean; blob: BlobItem; size: number }[] = []
    for await (const blob of container.listBlobsFlat({ includeMetadata: true, ...(prefix && { prefix }) })) {
      const size = blob.properties.contentLength ?? 0
      all.push({ key: blob.name, id: present.get(blob.name), isCurrent: true, blob, size })
    }
    for (const [key, versions] of kept) {
      if (!key.startsWith(prefix)) continue
      for (const { id, blob, bytes } of versions) all.push({ key, id, isCurrent: false, blob, size: bytes.length })
    }
    const order = (item: { key: string; id: string | undefined }) => `${item.key}\0${item.id ?? ''}`
    const sorted = all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
    const begin = Number(searchParams.get('marker') ?? 0)
    const end = begin + Number(searchParams.get('maxresults') ?? 5000)
    const items = sorted.slice(begin, end).map(({ key, id, isCurrent, blob, size }) => {
      const { etag, lastModified, contentType = '' } = blob.properties
      const metadata = Object.entries(blob.metadata ?? {}).map(
        ([name, value]) => `<${name}>${escaped(value)}</${name}>`,
      )
      const version = id === undefined ? '' : `<VersionId>${id}</VersionId>`
      const current = isCurrent && id !== undefined ? '<IsCurrentVersion>true</IsCurrentVersion>' : ''
      return `<Blob><Name>${escaped(key)}</Name>${version}${current}<Properties>
        <Last-Modified>${lastModified.toUTCString()}</Last-Modified><Etag>${escaped(quoted(etag))}</Etag>
        <Content-Length>${size}</Content-Length><Content-Type>${escaped(contentType)}</Content-Type></Properties>
        <Metadata>${metadata.join('')}</Metadata></Blob>`
    })
    const next = end < sorted.length ? `<NextMarker>${end}</NextMarker>` : '<NextMarker />'
    const body = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${items.join('')}</Blobs>${next}</EnumerationResults>`
    response.writeHead(200, { 'content-type': 'application/xml' }).end(body)
  }

  /** Sends a request to Azurite. @param body undefined to pass on that of the request */
  async function pass(incoming: IncomingMessage, body?: Buffer): Promise<IncomingMessage> {
    const outgoing = request({
      host: upstream.hostname,
      port: upstream.port,
      path: incoming.url,
      method: incoming.method,
      headers: incoming.headers,
      agent: false,
    })
    outgoing.on('error', () => incoming.socket.destroy())
    if (body) outgoing.end(body)
    else incoming.pipe(outgoing)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return answer
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse) {
    const url = new URL(incoming.url ?? '', upstream)
    const key = decodeURIComponent(url.pathname.slice(blobPath.length))
    const { method } = incoming
    const id = url.searchParams.get('versionid')
    const source = URL.parse(incoming.headers['x-ms-copy-source']?.toString() ?? '')
    const isWrite = method === 'PUT' && url.searchParams.get('comp') !== 'block'
    if (id !== null) return inTurn(() => answerVersion(incoming, response, key, id))
    if (url.searchParams.get('include')?.includes('versions')) return inTurn(() => list(response, url))
    if (source?.searchParams.has('versionid')) return inTurn(() => promote(incoming, response, key, source))
    if (key === '' || (!isWrite && method !== 'DELETE')) {
      const answered = await pass(incoming)
      response.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(response)
      return
    }
    // The body may need the client, so it is read before the turn.
    const body = await buffer(incoming)
    await inTurn(async () => {
      const keep = await keeping(key)
      const answered = await pass(incoming, body)
      const { statusCode = 502 } = answered
      if (statusCode < 300) keep()
      const stored = statusCode < 300 && isWrite ? nextId() : undefined
      if (stored !== undefined) present.set(key, stored)
      else if (statusCode < 300) present.delete(key)
      response.writeHead(statusCode, { ...answered.headers, ...(stored && { 'x-ms-version-id': stored }) })
      answered.pipe(response)
    })
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => incoming.socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    endpoint: origin + upstream.pathname.slice(0, -container.containerName.length),
    versions: () => Object.fromEntries([...kept].flatMap(([key, { length }]) => (length > 0 ? [[key, length]] : []))),
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'x-ms-error-code': code }).end()
}

function quoted(etag = ''): string {
  return `"${etag.replaceAll('"', '')}"`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
