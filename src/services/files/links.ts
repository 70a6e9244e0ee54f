/**
 * Links to files. A link to this server works only while the credential that created it is valid. A direct link sends a client to the
 * back end: anybody who has it can use it until it expires, even after the credential is revoked, and it reveals the address of the back
 * end. So it expires within minutes, and operators can disable these links.
 */
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { formatPath, root, type StoragePath } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Presigned } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { Audit } from '../audit/index.ts'
import type { ExpectedChanges } from '../catalogue/index.ts'
import type { Credentials } from '../people/credentials.ts'
import type { UploadScans } from '../scans/index.ts'
import type { SelectionInput } from './archive.ts'
import { type ConflictBehavior, candidates, nameTaken, statOrNull } from './conflict.ts'
import { contentDisposition, contentType } from './content.ts'
import { type AskedToRead, type FileEntry, type LocationInput, locationOf } from './entry.ts'

interface DirectContext {
  storage: Storage
  audit: Audit
  expected: Pick<ExpectedChanges, 'uploaded'>
  /** Nobody scans what goes directly to the back end. */
  scans: Pick<UploadScans, 'applies'>
  /** The maximum lifetime of a link, in seconds; 0 disables direct links. */
  directSeconds: number
  /** Bytes. A back end cannot enforce this limit, so direct uploads are disabled where one is set. */
  maxBytes: number
}

export interface UploadTicket extends Presigned {
  /** The file's path, including its name. */
  path: StoragePath
  expiresAt: Date
}

export type DirectFile = AskedToRead & Pick<FileEntry, 'name' | 'mimeType'>

/** Seconds. @throws INVALID_INPUT */
function lifetime(asked: number, longest: number): number {
  if (asked < 1) throw new AppError('INVALID_INPUT', '"expiresIn" is a number of seconds from 1.')
  return Math.min(asked, longest)
}

/** Returns a link that downloads a file; null if the file must pass through this server. @throws as `files.stat`, INVALID_INPUT */
export async function directDownload(
  { storage, audit, directSeconds }: DirectContext,
  viewer: Viewer | null,
  file: DirectFile,
  { expiresIn, inline }: { expiresIn: number; inline: boolean },
  signal: AbortSignal,
): Promise<string | null> {
  const [granted] = authorize(viewer, needs.read, file)
  const seconds = lifetime(expiresIn, directSeconds)
  if (seconds === 0) return null
  const headers = {
    contentType: contentType(file.mimeType),
    contentDisposition: contentDisposition(file, inline),
  }
  const link = await (await storage.readAt(granted)).presignRead(signal, seconds, headers)
  // A browser that follows a link cannot send extra headers.
  if (!link || Object.keys(link.headers).length > 0) return null
  audit.note(granted.viewer, 'DIRECT_DOWNLOAD', { location: granted, details: { seconds } })
  return link.url.href
}

/**
 * Returns a link that uploads one file; null if the file must pass through this server. Conflicts are checked now: the
 * upload replaces a file that is created at this path in the meantime.
 * @throws as `upload`
 */
export function directUpload(
  { storage, audit, expected, scans, directSeconds, maxBytes }: DirectContext,
  viewer: Viewer | null,
  input: Asked<typeof needs.create> & { conflict: ConflictBehavior; expiresIn: number },
  signal: AbortSignal,
): Promise<UploadTicket | null> {
  const { conflict } = input
  const location = locationOf(input)
  return audit.recorded(viewer, 'DIRECT_UPLOAD', { location, details: { conflict } }, async recording => {
    const [granted] = authorize(viewer, needs.create, input)
    const { providerId } = granted
    const at = (candidate: StoragePath) =>
      storage.writeAt(grant(viewer, { scope: 'write', providerId, path: candidate }))
    const first = await storage.writeAt(granted)
    if (granted.path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, including its name.')
    const seconds = lifetime(input.expiresIn, directSeconds)
    if (seconds === 0 || maxBytes !== Number.MAX_SAFE_INTEGER || (await scans.applies(granted.viewer))) return null
    const target = conflict === 'REPLACE' ? first : await firstFree(first, conflict, at, signal)
    const expiresAt = new Date(Date.now() + seconds * 1000)
    const link = await target.presignWrite(signal, seconds)
    recording.add({ location: { providerId, path: formatPath(target.path) }, details: { isDirect: link !== null } })
    if (!link) return null
    await expected.uploaded(target, seconds)
    return { ...link, path: target.path, expiresAt }
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

/** Seconds: a week. */
const maxLifetime = 7 * 24 * 60 * 60
/** Part of the signature, so that a ticket of one kind is not valid as one of the other. */
const ofSelection = 'selection'
const ofThumbnail = 'thumbnail'

/** The credential that created a link. The link works only while it is valid and may read the files. */
export interface LinkCreator {
  credential: Pick<Viewer, 'kind' | 'credentialId'>
}

/** The content of a download link. */
interface DownloadLink extends LinkCreator, LocationInput, LinkedContent {}

interface LinkedContent {
  inline: boolean
  /** The id of an earlier version; undefined for the content that the file has when the link is used. */
  version?: string | undefined
}

/** @throws INVALID_INPUT */
export function sealLink(
  secrets: Secrets,
  { viewer, providerId, path }: Grant<'read'>,
  { expiresIn, inline, version }: LinkedContent & { expiresIn: number },
): string {
  const expires = expiryOf(expiresIn)
  const payload = [viewer.kind, viewer.credentialId, providerId, formatPath(path), expires, inline, version]
  return secrets.sign('download-link', JSON.stringify(payload))
}

/** @throws LINK_EXPIRED */
export function openLink(secrets: Secrets, sealed: string): DownloadLink {
  const [kind, credentialId, providerId, path, expires, inline, version] = open(secrets, sealed)
  requireUnexpired(expires)
  return { credential: { kind, credentialId }, providerId, path, inline, version: version ?? undefined }
}

/** @throws INVALID_INPUT */
export function sealSelection(
  secrets: Secrets,
  viewer: Viewer,
  { providerId, paths }: SelectionInput,
  expiresIn: number,
): string {
  const payload = [viewer.kind, viewer.credentialId, providerId, paths, expiryOf(expiresIn)]
  return secrets.sign('download-link', JSON.stringify(payload), ofSelection)
}

/** @throws LINK_EXPIRED */
export function openSelection(secrets: Secrets, sealed: string): LinkCreator & SelectionInput {
  const [kind, credentialId, providerId, paths, expires] = open(secrets, sealed, ofSelection)
  requireUnexpired(expires)
  return { credential: { kind, credentialId }, providerId, paths }
}

/** Seconds. Addresses stay the same for half of it, so that browsers can keep the images. */
const thumbnailLifetime = 24 * 60 * 60

export function sealThumbnailLink(secrets: Secrets, { viewer, providerId, path }: Grant<'read'>): string {
  const step = thumbnailLifetime / 2
  const expires = (Math.floor(Date.now() / 1000 / step) + 2) * step
  const payload = [viewer.kind, viewer.credentialId, providerId, formatPath(path), expires]
  return secrets.sign('download-link', JSON.stringify(payload), ofThumbnail)
}

/** @throws LINK_EXPIRED */
export function openThumbnailLink(secrets: Secrets, sealed: string): LinkCreator & LocationInput {
  const [kind, credentialId, providerId, path, expires] = open(secrets, sealed, ofThumbnail)
  requireUnexpired(expires)
  return { credential: { kind, credentialId }, providerId, path }
}

/** Returns the viewer that created a link. @throws LINK_EXPIRED */
export function recallCreator(
  credentials: Pick<Credentials, 'recall'>,
  credential: LinkCreator['credential'],
  origin: Origin,
): Promise<Viewer> {
  return credentials.recall({ ...credential, origin }).catch(cause => {
    if (!(cause instanceof AppError)) throw cause
    throw new AppError('LINK_EXPIRED', 'The credential that made this link is no longer valid: ask for a new link.', {
      cause,
    })
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the signature proves that this file wrote the values
function open(secrets: Secrets, sealed: string, context?: string): any[] {
  const payload = secrets.verify('download-link', sealed, context)
  if (payload === null) throw new AppError('LINK_EXPIRED', 'The download link is malformed: ask for a new one.')
  return JSON.parse(payload)
}

/** Seconds since 1970. @throws INVALID_INPUT */
function expiryOf(expiresIn: number): number {
  if (expiresIn < 1 || expiresIn > maxLifetime) {
    throw new AppError('INVALID_INPUT', `"expiresIn" is a number of seconds from 1 to ${maxLifetime}.`)
  }
  return Math.floor(Date.now() / 1000) + expiresIn
}

/** @throws LINK_EXPIRED */
function requireUnexpired(expires: number): void {
  if (expires * 1000 <= Date.now())
    throw new AppError('LINK_EXPIRED', 'The download link has expired: ask for a new one.')
}
