import type { Selectable } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Shared } from '../../auth/viewer.ts'
import { type Creator, toCreator } from '../creator.ts'
import type { Schema } from '../schema.ts'

/** A share, and who made it with which credential. */
export interface ShareRecord extends Creator, Shared {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** Whether the share consists of one folder, whose content is at the top of what its link shows. */
  isFolder: boolean
  /** The sealed token. */
  token: Buffer
  /** argon2id in PHC string format; null if the link needs no password. */
  passwordHash: string | null
  /** For the recipients; may be empty. */
  note: string
  expiresAt: Date | null
  /** Null is no limit. */
  maxDownloads: number | null
  downloads: number
  /** Bytes of all files that a drop link accepts together; null is no limit. */
  maxBytes: number | null
  /** Bytes of the files that came through a drop link, and of those that are under way. */
  receivedBytes: number
  /** The endings of names that a drop link accepts, in lower case and without a dot; empty accepts all. */
  fileTypes: string[]
  /** Whether its maker gets emails about files that arrive through a drop link. */
  notify: boolean
  createdAt: Date
  revokedAt: Date | null
  lastUsedAt: Date | null
}

export const shareColumns = [
  'shares.id',
  'shares.workspace_id',
  'shares.user_id',
  'shares.credential_kind',
  'shares.credential_id',
  'shares.kind',
  'shares.provider_id',
  'shares.paths',
  'shares.is_folder',
  'shares.token',
  'shares.password_hash',
  'shares.note',
  'shares.expires_at',
  'shares.max_downloads',
  'shares.downloads',
  'shares.max_bytes',
  'shares.received_bytes',
  'shares.file_types',
  'shares.notify',
  'shares.created_at',
  'shares.revoked_at',
  'shares.last_used_at',
] as const

export function toShare(row: Omit<Selectable<Schema['shares']>, 'token_hash'>): ShareRecord {
  return {
    id: row.id,
    ...toCreator(row),
    kind: row.kind,
    providerId: row.provider_id,
    paths: row.paths as StoragePath[],
    isFolder: row.is_folder,
    token: row.token,
    passwordHash: row.password_hash,
    note: row.note,
    expiresAt: row.expires_at,
    maxDownloads: row.max_downloads,
    downloads: Number(row.downloads),
    maxBytes: row.max_bytes === null ? null : Number(row.max_bytes),
    receivedBytes: Number(row.received_bytes),
    fileTypes: row.file_types,
    notify: row.notify,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  }
}
