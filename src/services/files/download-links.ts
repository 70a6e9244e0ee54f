import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { LocationInput } from './entry.ts'

/** Seconds: a week. */
const maxLifetime = 7 * 24 * 60 * 60

/** The content of a download link. It works only while the credential that made it is valid and may read the file. */
export interface DownloadLink extends LocationInput {
  credential: Pick<Viewer, 'kind' | 'credentialId'>
  inline: boolean
}

/** @throws INVALID_INPUT */
export function sealLink(
  secrets: Secrets,
  viewer: Viewer,
  file: LocationInput,
  options: { expiresIn: number; inline: boolean },
): string {
  const { expiresIn, inline } = options
  if (expiresIn < 1 || expiresIn > maxLifetime) {
    throw new AppError('INVALID_INPUT', `"expiresIn" is a number of seconds from 1 to ${maxLifetime}.`)
  }
  const expires = Math.floor(Date.now() / 1000) + expiresIn
  const payload = [viewer.kind, viewer.credentialId, file.providerId, file.path, expires, inline]
  return secrets.sign('download-link', JSON.stringify(payload))
}

/** @throws LINK_EXPIRED */
export function openLink(secrets: Secrets, sealed: string): DownloadLink {
  const payload = secrets.verify('download-link', sealed)
  if (payload === null) throw new AppError('LINK_EXPIRED', 'The download link is malformed: ask for a new one.')
  const [kind, credentialId, providerId, path, expires, inline] = JSON.parse(payload)
  if (expires * 1000 <= Date.now())
    throw new AppError('LINK_EXPIRED', 'The download link has expired: ask for a new one.')
  return { credential: { kind, credentialId }, providerId, path, inline }
}
