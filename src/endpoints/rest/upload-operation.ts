/** The description of the uploads in `/openapi.json`: the parameters that they parse, and the entry that they return. */
import { formatPath } from '../../auth/path.ts'
import { conflictSchema, modifiedAtSchema, uploadConditionParameters } from '../../http/content/body-headers.ts'
import { digestParameters } from '../../http/content/digests.ts'
import { reasonsAtPaths, reasonsToStore } from '../../http/openapi/errors.ts'
import {
  type JsonSchema,
  locationParameters,
  type Operation,
  type RequestParameters,
  withCredential,
} from '../../http/openapi/operation.ts'
import { entryId, type FileEntry } from '../../services/files/index.ts'
import { idempotencyParameters } from './idempotency.ts'

export const uploadParameters = {
  ...locationParameters,
  conflict: { description: 'The behavior if the name is taken.', schema: conflictSchema },
  modifiedAt: {
    description: 'The modification time for the file, which is kept where the back end can store it.',
    schema: modifiedAtSchema,
  },
} satisfies RequestParameters

const { providerId, path, conflict, modifiedAt } = uploadParameters

const form: JsonSchema = {
  type: 'object',
  description: 'The fields, followed by the files. The query can replace a field.',
  properties: {
    providerId: { ...providerId.schema, description: providerId.description },
    path: { ...path.schema, description: 'The folder; by default the root.' },
    conflict: { ...conflict.schema, description: conflict.description },
    modifiedAt: { ...modifiedAt.schema, description: modifiedAt.description },
  },
  additionalProperties: {
    description: 'Files, in parts with any name. The file name of a part is the name of its file.',
    type: 'string',
    contentMediaType: 'application/octet-stream',
  },
}

/** A stored file in the response to an upload. The names are those of the GraphQL schema. */
export interface StoredEntry {
  id: string
  providerId: string
  /** The absolute path within the provider. */
  path: string
  name: string
  /** Bytes. */
  size: number | null
  mimeType: string | null
  etag: string | null
  /** ISO 8601. */
  modifiedAt: string | null
  checksums: { algorithm: string; hex: string }[]
}

const properties: Record<keyof StoredEntry, JsonSchema> = {
  id: { type: 'string' },
  providerId: { type: 'string' },
  path: { type: 'string', description: 'The absolute path within the provider.' },
  name: { type: 'string' },
  size: { type: ['integer', 'null'], description: 'Bytes.' },
  mimeType: { type: ['string', 'null'] },
  etag: { type: ['string', 'null'] },
  modifiedAt: { type: ['string', 'null'], format: 'date-time' },
  checksums: {
    type: 'array',
    items: {
      type: 'object',
      required: ['algorithm', 'hex'],
      properties: { algorithm: { type: 'string' }, hex: { type: 'string' } },
    },
  },
}

const storedEntrySchema: JsonSchema = {
  type: 'object',
  description: 'A stored file. The names are those of the GraphQL schema.',
  required: Object.keys(properties),
  properties,
}

export const upload: Operation = {
  id: 'upload',
  tag: 'Files',
  summary: 'Stores the body, or the files of a form.',
  description:
    'Except for a form, `providerId` and `path` are required in the query, where `path` includes the file name. A form cannot have digests, conditions or an `Idempotency-Key`.',
  security: withCredential,
  query: uploadParameters,
  headers: { ...uploadConditionParameters, ...digestParameters, ...idempotencyParameters },
  body: {
    description: 'The file, whose `Content-Type` is stored with it, without a `Content-Encoding`.',
    content: { '*/*': null, 'multipart/form-data': form },
  },
  responses: {
    201: {
      description: 'The stored file; for a form, the stored files.',
      headers: {
        Location: { description: 'The address of the file.', schema: { type: 'string', format: 'uri-reference' } },
        ETag: { description: 'The version of the stored file, if the back end has etags.', schema: { type: 'string' } },
        'Idempotency-Replayed': {
          description: '`true` if this is the response to an earlier request with the same key.',
          schema: { const: 'true' },
        },
      },
      content: {
        'application/json': {
          oneOf: [
            { $ref: '#/components/schemas/StoredEntry' },
            {
              type: 'object',
              required: ['entries'],
              properties: { entries: { type: 'array', items: { $ref: '#/components/schemas/StoredEntry' } } },
            },
          ],
        },
      },
    },
  },
  reasons: [...reasonsAtPaths, ...reasonsToStore, 'DIGEST_MISMATCH', 'IDEMPOTENCY_KEY_REUSED', 'REQUEST_UNDER_WAY'],
  schemas: { StoredEntry: storedEntrySchema },
}

export function storedEntry(entry: FileEntry): StoredEntry {
  const { providerId, name, size, mimeType, etag } = entry
  return {
    id: entryId(entry),
    providerId,
    path: formatPath(entry.path),
    name,
    size,
    mimeType,
    etag,
    modifiedAt: entry.modifiedAt?.toISOString() ?? null,
    checksums: Object.entries(entry.checksums).map(([algorithm, hex]) => ({ algorithm, hex })),
  }
}
