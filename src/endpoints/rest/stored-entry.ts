import { formatPath } from '../../auth/path.ts'
import type { JsonSchema } from '../../http/openapi/operation.ts'
import { entryId, type FileEntry } from '../../services/files/index.ts'

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

export const storedEntrySchema: JsonSchema = {
  type: 'object',
  description: 'A stored file. The names are those of the GraphQL schema.',
  required: Object.keys(properties),
  properties,
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
