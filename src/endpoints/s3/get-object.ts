/** Sends an object, its headers or its tags. */
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { lastModified, type Presentation } from '../../http/content/download-response.ts'
import { openFor, serveDownload } from '../../http/content/serve-download.ts'
import { contentType, type FileEntry } from '../../services/files/index.ts'
import { emptyTag, tagOf } from './conditions.ts'
import { noSuchKey, S3Error } from './errors.ts'
import { parseVersion, versionHeader } from './list-versions.ts'
import { timeMetadata } from './metadata.ts'
import { lockHeaders } from './object-lock.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { element, result, sendXml } from './xml.ts'

/** The parameters that replace a header of the response. */
const overrides = {
  'response-cache-control': 'Cache-Control',
  'response-content-disposition': 'Content-Disposition',
  'response-content-encoding': 'Content-Encoding',
  'response-content-language': 'Content-Language',
  'response-content-type': 'Content-Type',
  'response-expires': 'Expires',
} as const

/** A field value of RFC 9110, section 5.5, in ASCII. */
const headerText = /^[\t\x20-\x7e]{0,1000}$/
const folderType = 'application/x-directory'

export const getObject: S3Operation<ObjectCall> = {
  method: 'GET',
  takes: [...Object.keys(overrides), 'versionId'],
  run: call => asTransfer(call.request.server, sendObject(call)),
}

export const headObject: S3Operation<ObjectCall> = { ...getObject, method: 'HEAD' }

async function sendObject({
  services,
  request,
  reply,
  providerId,
  path,
  isFolder,
  query,
  signal,
}: ObjectCall): Promise<void> {
  const replaced = parseOverrides(query)
  const version = parseVersion(query.get('versionId'))
  if (version !== undefined) reply.header('x-amz-version-id', query.get('versionId'))
  const open = isFolder ? null : openFor(request, null)
  const object = { providerId, path, version }
  let locks = {}
  await serveDownload(request, reply, {
    withDownload: use =>
      services.files.download(request.viewer, object, signal, open, async (download, running) => {
        const found = await services.objectLocks.of(request.viewer, object)
        locks = { ...lockHeaders(found), ...(version === undefined && versionHeader(found)) }
        return use(download, running)
      }),
    present({ entry }) {
      if (isFolder) throw noSuchKey()
      return presentationOf(entry, { ...replaced, ...locks })
    },
    async sendFolder({ entry }) {
      if (!isFolder) throw noSuchKey()
      if (entry.modifiedAt) reply.header('Last-Modified', lastModified(entry.modifiedAt))
      reply.headers({ ETag: formatTag(emptyTag), 'Content-Type': folderType, 'Content-Length': '0' }).send('')
      return null
    },
    sendfile: null,
  })
}

function presentationOf(entry: FileEntry, { 'Content-Type': type, ...headers }: Record<string, string>): Presentation {
  return {
    etag: entry.etag === null ? null : tagOf(entry.etag),
    contentType: type ?? contentType(entry.mimeType),
    headers: { ...timeMetadata(entry.modifiedAt), ...headers },
  }
}

/** @throws S3Error */
function parseOverrides(query: ObjectCall['query']): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [parameter, header] of Object.entries(overrides)) {
    const value = query.get(parameter)
    if (value === undefined) continue
    if (!headerText.test(value)) throw new S3Error('InvalidArgument', `"${parameter}" is not a valid header.`)
    headers[header] = value
  }
  return headers
}

/** Returns no tags, because objects cannot have any. The AWS CLI asks before it copies a large object. */
export const getObjectTagging: S3Operation<ObjectCall> = {
  method: 'GET',
  selects: ['tagging'],
  async run({ services, request, reply, providerId, path, isFolder, signal }) {
    const { kind } = await services.files.stat(request.viewer, { providerId, path }, signal)
    if ((kind === 'directory') !== isFolder) throw noSuchKey()
    return sendXml(reply, result('Tagging', [element('TagSet', [])]))
  },
}
