/**
 * Links that lead a client straight to the back end. They work for whoever has them until they expire, whatever becomes of
 * the credential, and name the back end's address: so they live for minutes, and an operator can forbid them.
 */
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath, root, type StoragePath } from '../../auth/path.ts'
import { grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Presigned, WriteLocation } from '../../storage/location.ts'
import type { Audit } from '../audit/index.ts'
import { type ConflictBehavior, candidates, nameTaken, statOrNull } from './conflict.ts'
import { contentDisposition, contentType } from './content-headers.ts'
import type { FileEntry, LocationInput } from './entry.ts'

export interface DirectContext {
  storage: Storage
  audit: Audit
  /** Seconds that such a link may live; 0: none is given. */
  directSeconds: number
  /** Bytes; a back end that is written to directly knows of no limit, so that with one nothing goes there directly. */
  maxBytes: number
}

export interface UploadTicket extends Presigned {
  /** Where the file goes, its name included. */
  path: StoragePath
  expiresAt: Date
}

export type DirectFile = LocationInput & Pick<FileEntry, 'name' | 'mimeType'>

/** Seconds. @throws INVALID_INPUT */
function lifetime(asked: number, longest: number): number {
  if (asked < 1) throw new AppError('INVALID_INPUT', '"expiresIn" is a number of seconds from 1.')
  return Math.min(asked, longest)
}

/** To download a file; null where it has to go through this server. @throws as `files.stat`, INVALID_INPUT */
export async function directDownload(
  { storage, audit, directSeconds }: DirectContext,
  viewer: Viewer | null,
  { providerId, path, name, mimeType }: DirectFile,
  { expiresIn, inline }: { expiresIn: number; inline: boolean },
  signal: AbortSignal,
): Promise<string | null> {
  const location = { providerId, path }
  const [granted] = authorize(viewer, needs.read, location)
  const seconds = lifetime(expiresIn, directSeconds)
  if (seconds === 0) return null
  const answer = {
    contentType: contentType(mimeType),
    contentDisposition: contentDisposition({ name, mimeType }, inline),
  }
  const link = await (await storage.readAt(granted)).presignRead(signal, seconds, answer)
  // A browser that follows a link sends no headers of ours.
  if (!link || Object.keys(link.headers).length > 0) return null
  audit.note(granted.viewer, 'DIRECT_DOWNLOAD', { location, details: { seconds } })
  return link.url.href
}

/**
 * To upload one file; null where it has to go through this server. The name is looked at now: what comes to stand there
 * before the file arrives is replaced by it.
 * @throws as `upload`
 */
export function directUpload(
  { storage, audit, directSeconds, maxBytes }: DirectContext,
  viewer: Viewer | null,
  input: LocationInput & { conflict: ConflictBehavior; expiresIn: number },
  signal: AbortSignal,
): Promise<UploadTicket | null> {
  const { providerId, conflict } = input
  const location = { providerId, path: input.path }
  return audit.recorded(viewer, 'DIRECT_UPLOAD', { location, details: { conflict } }, async recording => {
    const [granted] = authorize(viewer, needs.create, location)
    const at = (candidate: StoragePath) =>
      storage.writeAt(grant(viewer, { scope: 'write', providerId, path: candidate }))
    const first = await storage.writeAt(granted)
    if (granted.path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, its name included.')
    const seconds = lifetime(input.expiresIn, directSeconds)
    if (seconds === 0 || maxBytes !== Number.MAX_SAFE_INTEGER) return null
    const target = conflict === 'REPLACE' ? first : await firstFree(first, conflict, at, signal)
    const expiresAt = new Date(Date.now() + seconds * 1000)
    const link = await target.presignWrite(signal, seconds)
    recording.add({ location: { providerId, path: formatPath(target.path) }, details: { isDirect: link !== null } })
    return link && { ...link, path: target.path, expiresAt }
  })
}

async function firstFree(
  first: WriteLocation,
  conflict: 'FAIL' | 'RENAME',
  at: (path: StoragePath) => Promise<WriteLocation>,
  signal: AbortSignal,
): Promise<WriteLocation> {
  for (const path of conflict === 'FAIL' ? [first.path] : candidates(first.path, 'file')) {
    const location = path === first.path ? first : await at(path)
    if (!(await statOrNull(location, signal))) return location
  }
  throw nameTaken(first.path)
}
