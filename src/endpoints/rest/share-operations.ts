/** The descriptions of the endpoints of share links in `/openapi.json`, and the parameters that they parse. */

import { downloadConditionParameters } from '../../http/content/conditions.ts'
import { digestParameters, wantedDigestParameters } from '../../http/content/digests.ts'
import { reasonsAtPaths, reasonsToStore } from '../../http/openapi/errors.ts'
import {
  bytes,
  type JsonSchema,
  locationParameters,
  type Operation,
  type RequestParameters,
  type ResponseHeaders,
  text,
} from '../../http/openapi/operation.ts'
import { sharePasswordParameter, shareTokenParameter } from '../../http/share-link.ts'
import { archive, selectedPaths } from './archive.ts'
import { dispositions, download } from './download-operation.ts'
import { documentConditions, documentResponses } from './rendition.ts'
import { imageConditions, imageResponses, sizeParameter } from './thumbnail-operations.ts'

const tag = 'Share links'
const reasons = ['SHARE_ENDED', 'SHARE_PASSWORD_REQUIRED', 'WRONG_SHARE_PASSWORD'] as const
const common = { tag, security: [], path: shareTokenParameter, headers: sharePasswordParameter } as const

const path = {
  ...locationParameters.path,
  description: 'A path in the share. Its top is `/`: the shared folder, or the list of what is shared.',
}
const time: JsonSchema = { type: ['string', 'null'], format: 'date-time' }
const count: JsonSchema = { type: ['integer', 'null'], minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

export const maxEntries = 1000
export const listParameters = {
  path,
  first: {
    description: `The maximum number of entries, 1 to ${maxEntries}.`,
    schema: { type: 'integer', minimum: 1, maximum: maxEntries },
  },
  after: { description: 'The cursor `next` of the page before.', schema: text },
} satisfies RequestParameters

export const contentParameters = {
  path,
  disposition: {
    description: 'With `inline`, browsers display types that cannot run scripts.',
    schema: { type: 'string', enum: dispositions },
  },
} satisfies RequestParameters

export const sharedRenditionParameters = { path } satisfies RequestParameters

export const sharedThumbnailParameters = { path, ...sizeParameter } satisfies RequestParameters

export const dropParameters = {
  path: {
    ...path,
    description: 'The path of the new file in the share, including its name. A file whose name is taken gets a number.',
  },
} satisfies RequestParameters

const facts: JsonSchema = {
  type: 'object',
  description: 'What a share link gives access to, and its limits.',
  properties: {
    kind: { enum: ['VIEW', 'DROP'], description: 'VIEW reads. DROP only adds files.' },
    name: { type: ['string', 'null'], description: 'The name of what is shared, or null for several entries.' },
    isFolder: { type: 'boolean', description: 'Whether the top of the share is a folder.' },
    note: { type: 'string' },
    sharedBy: { type: ['string', 'null'], description: 'The name of the person who made the link.' },
    expiresAt: time,
    downloadsLeft: { ...count, description: 'Null if there is no limit.' },
    bytesLeft: { ...count, description: 'Bytes that the link still accepts. Null if there is no limit.' },
    fileTypes: {
      type: 'array',
      items: text,
      description: 'Endings of names that the link accepts; empty accepts all.',
    },
    hasPassword: { type: 'boolean' },
  },
}

const entry: JsonSchema = {
  type: 'object',
  description: 'A file or folder in a share.',
  properties: {
    path: text,
    name: text,
    kind: { enum: ['file', 'directory'] },
    size: { ...count, description: 'Bytes.' },
    mimeType: { type: ['string', 'null'] },
    modifiedAt: time,
  },
}

export const describeShare: Operation = {
  ...common,
  id: 'describeShare',
  summary: 'Returns what a share link gives access to.',
  responses: {
    200: {
      description: 'The share.',
      content: { 'application/json': { $ref: '#/components/schemas/Share' } },
    },
  },
  reasons,
  schemas: { Share: required(facts), SharedEntry: required(entry) },
}

export const unlockShare: Operation = {
  ...common,
  id: 'unlockShare',
  summary: 'Stores a proof of the password in a cookie, for browsers.',
  responses: {
    204: {
      description: 'The cookie is set.',
      headers: { 'Set-Cookie': { description: 'The proof, which ends with the password.', schema: text } },
    },
  },
  reasons,
}

export const listShare: Operation = {
  ...common,
  id: 'listShare',
  summary: 'Lists a folder of a share.',
  query: listParameters,
  responses: {
    200: {
      description: 'One page of the folder.',
      content: {
        'application/json': {
          type: 'object',
          required: ['entries', 'next'],
          properties: {
            entries: { type: 'array', items: { $ref: '#/components/schemas/SharedEntry' } },
            next: { type: ['string', 'null'], description: 'The cursor of the next page, if there is one.' },
          },
        },
      },
    },
  },
  reasons: [...reasonsAtPaths, ...reasons, 'INVALID_CURSOR'],
}

/** Search engines do not index what a link shows. */
const robots: ResponseHeaders = {
  'X-Robots-Tag': {
    description: 'Keeps files out of search engines. Not in an archive.',
    schema: { const: 'noindex, nofollow' },
  },
}

export const downloadShared: Operation = {
  ...download,
  ...common,
  id: 'downloadShared',
  summary: 'Downloads a file of a share, or a folder as a ZIP archive.',
  description:
    'Each GET counts towards the limit of downloads, if the share has one. Such a share ignores ranges and conditions.',
  query: contentParameters,
  responses: withRobots(download.responses),
  errorHeaders: { ...download.errorHeaders, ...robots },
  headers: { ...common.headers, ...downloadConditionParameters, ...wantedDigestParameters },
  reasons: [...reasonsAtPaths, ...reasons, 'DOWNLOADS_USED_UP', 'RANGE_NOT_SATISFIABLE', 'TOO_MANY_ARCHIVES'],
}

export const headShared: Operation = {
  ...downloadShared,
  id: 'headShared',
  summary: 'Returns the headers of a download, which is not counted.',
}

export const archiveShared: Operation = {
  ...common,
  id: 'archiveShared',
  summary: 'Downloads several files and folders of a share as one ZIP archive.',
  description: 'An archive counts as one download.',
  body: {
    description: 'The files and folders.',
    required: true,
    content: {
      'application/json': {
        type: 'object',
        required: ['paths'],
        properties: {
          paths: selectedPaths(path),
        },
      },
      'application/x-www-form-urlencoded': {
        type: 'object',
        required: ['selection'],
        properties: { selection: { ...text, description: 'The object as JSON, for pages.' } },
      },
    },
  },
  responses: archive.responses,
  errorHeaders: { ...archive.errorHeaders },
  reasons: [...reasonsAtPaths, ...reasons, 'DOWNLOADS_USED_UP', 'TOO_MANY_ARCHIVES'],
}

export const dropFile: Operation = {
  ...common,
  id: 'dropFile',
  summary: 'Stores the body as a new file in the folder of a drop link.',
  query: dropParameters,
  headers: { ...common.headers, ...digestParameters },
  body: {
    description: 'The file, whose `Content-Type` is stored with it, without a `Content-Encoding`.',
    content: { '*/*': null },
  },
  responses: {
    201: {
      description: 'The file was stored. The response does not say whether its name was taken.',
      content: {
        'application/json': {
          type: 'object',
          required: ['path', 'name', 'size'],
          properties: { path: text, name: text, size: { ...bytes, type: ['integer', 'null'] } },
        },
      },
    },
  },
  reasons: [...reasonsAtPaths, ...reasonsToStore, ...reasons, 'FILE_TYPE_NOT_ALLOWED', 'DIGEST_MISMATCH'],
}

function withRobots(responses: Operation['responses']): Operation['responses'] {
  const described = Object.entries(responses).map(([status, response]) => [
    status,
    { ...response, headers: { ...response.headers, ...robots } },
  ])
  return Object.fromEntries(described)
}

/** All properties are present. */
function required(schema: JsonSchema): JsonSchema {
  return { ...schema, required: Object.keys(Object(schema.properties)) }
}

export const thumbnailOfShared: Operation = {
  ...common,
  id: 'thumbnailOfShared',
  summary: 'Returns a small image of a file of a share.',
  description: 'A link with a limit of downloads has images of at most 256 pixels, which do not count.',
  query: sharedThumbnailParameters,
  headers: { ...common.headers, ...imageConditions },
  responses: imageResponses,
  reasons: [...reasonsAtPaths, ...reasons, 'NO_THUMBNAIL'],
}

export const renditionOfShared: Operation = {
  ...common,
  id: 'renditionOfShared',
  summary: 'Returns an office document of a share as PDF.',
  description: 'A link with a limit of downloads has none.',
  query: sharedRenditionParameters,
  headers: { ...common.headers, ...documentConditions },
  responses: documentResponses,
  reasons: [...reasonsAtPaths, ...reasons, 'NO_RENDITION'],
}
