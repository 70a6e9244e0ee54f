import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { LocationInput } from './entry.ts'
import type { SelectionInput } from './selection.ts'

/** Seconds: a week. */
const maxLifetime = 7 * 24 * 60 * 60
/** Part of the signature, so that a ticket of one kind is not valid as one of the other. */
const ofSelection = 'selection'

/** The credential that made a link. The link works only while it is valid and may read the files. */
export interface LinkMaker {
  credential: Pick<Viewer, 'kind' | 'credentialId'>
}

/** The content of a download link. */
export interface DownloadLink extends LinkMaker, LocationInput {
  inline: boolean
}

/** @throws INVALID_INPUT */
export function sealLink(
  secrets: Secrets,
  viewer: Viewer,
  file: LocationInput,
  { expiresIn, inline }: { expiresIn: number; inline: boolean },
): string {
  const payload = [viewer.kind, viewer.credentialId, file.providerId, file.path, expiryOf(expiresIn), inline]
  return secrets.sign('download-link', JSON.stringify(payload))
}

/** @throws LINK_EXPIRED */
export function openLink(secrets: Secrets, sealed: string): DownloadLink {
  const [kind, credentialId, providerId, path, expires, inline] = open(secrets, sealed)
  requireUnexpired(expires)
  return { credential: { kind, credentialId }, providerId, path, inline }
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
export function openSelection(secrets: Secrets, sealed: string): LinkMaker & SelectionInput {
  const [kind, credentialId, providerId, paths, expires] = open(secrets, sealed, ofSelection)
  requireUnexpired(expires)
  return { credential: { kind, credentialId }, providerId, paths }
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
