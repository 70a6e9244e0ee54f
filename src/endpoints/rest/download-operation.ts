/** The description of the downloads in `/openapi.json`, and the parameters that they parse. */

import { downloadConditionParameters } from '../../http/content/conditions.ts'
import { wantedDigestParameters } from '../../http/content/digests.ts'
import { reasonsAtPaths } from '../../http/openapi/errors.ts'
import {
  bytes,
  locationParameters,
  type Operation,
  type RequestParameters,
  type ResponseHeaders,
  text,
  withCredential,
} from '../../http/openapi/operation.ts'

export const dispositions = ['inline', 'attachment'] as const

/** The parameters of a download link. */
export const linkParameters = {
  ticket: { description: 'The token of a download link, which names the file.', schema: text },
  disposition: {
    description: 'With `inline`, browsers display types that cannot run scripts. The default of a link is its own.',
    schema: { type: 'string', enum: dispositions },
  },
} satisfies RequestParameters

export const downloadParameters = {
  ...locationParameters,
  version: { description: 'The ID of an earlier version of the file, as `File.versions` has it.', schema: text },
  ...linkParameters,
} satisfies RequestParameters

const acceptRanges: ResponseHeaders = {
  'Accept-Ranges': { description: 'Whether ranges can be requested.', schema: { enum: ['bytes', 'none'] } },
}
const contentRange: ResponseHeaders = {
  'Content-Range': { description: 'The range and the size of the file; with 416, `bytes */<size>`.', schema: text },
}
const validators: ResponseHeaders = {
  ...acceptRanges,
  ETag: { description: 'The version of the file, if the back end has etags.', schema: text },
  'Last-Modified': { description: 'The time of the last change, if it is known.', schema: text },
}
const disposition: ResponseHeaders = { 'Content-Disposition': { description: 'The file name.', schema: text } }
const content: ResponseHeaders = {
  ...validators,
  ...disposition,
  'Content-Length': { description: 'Missing if the size is unknown, as that of an archive.', schema: bytes },
  'Repr-Digest': { description: 'The checksum of the whole file, if the request wants it.', schema: text },
}

export const download: Operation = {
  id: 'download',
  tag: 'Files',
  summary: 'Downloads a file, or a folder as a ZIP archive.',
  description: 'Send `providerId` and `path` with a credential, or the `ticket` of a download link without one.',
  security: [...withCredential, ['downloadLink']],
  query: downloadParameters,
  headers: { ...downloadConditionParameters, ...wantedDigestParameters },
  responses: {
    200: {
      description: 'The whole file, or the archive.',
      headers: {
        ...content,
        'Content-Digest': { description: 'The checksum of the body, if the request wants it.', schema: text },
      },
      content: { '*/*': null, 'application/zip': null },
    },
    206: {
      description: 'The requested ranges.',
      headers: { ...content, ...contentRange },
      content: { '*/*': null, 'multipart/byteranges': null },
    },
    304: { description: 'The client has the current version.', headers: { ...validators, ...disposition } },
  },
  reasons: [...reasonsAtPaths, 'LINK_EXPIRED', 'RANGE_NOT_SATISFIABLE', 'TOO_MANY_ARCHIVES'],
  errorHeaders: { ...acceptRanges, ...contentRange },
}

export const headDownload: Operation = {
  ...download,
  id: 'headDownload',
  summary: 'Returns the headers of a download.',
}

export const downloadNamed: Operation = {
  ...download,
  id: 'downloadNamed',
  summary: 'Serves a download link whose path ends in a name.',
  description: 'Viewers and `curl -O` take the name of a file from its address. The server ignores it.',
  security: [['downloadLink']],
  path: { name: { description: 'Any name.', required: true, schema: { type: 'string', minLength: 1 } } },
  query: { ...linkParameters, ticket: { ...linkParameters.ticket, required: true } },
}

export const headDownloadNamed: Operation = {
  ...downloadNamed,
  id: 'headDownloadNamed',
  summary: 'Returns the headers of a download link whose path ends in a name.',
}
