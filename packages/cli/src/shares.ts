/** Shares as the commands print them. */
import type { schema } from '../../client/src/index.ts'

export const shareFields = [
  'id',
  'kind',
  'state',
  'url',
  'providerId',
  'paths',
  'hasPassword',
  'note',
  'expiresAt',
  'maxDownloads',
  'downloads',
  'maxBytes',
  'receivedBytes',
  'fileTypes',
  'notify',
  'createdAt',
  'revokedAt',
  'lastUsedAt',
] as const

export type ListedShare = Pick<schema.Share, (typeof shareFields)[number]>

export const shareSelection = shareFields.join(' ')

export function shareLines({ id, kind, state, paths, expiresAt, url }: ListedShare): string[] {
  const [first = '', ...others] = paths
  const path = others.length > 0 ? `${first} and ${others.length} more` : first
  const line = `${id}  ${state.padEnd(7)}  ${kind.padEnd(4)}  ${(expiresAt ?? 'never expires').padEnd(24)}  ${path}`
  return url === null ? [line] : [line, `  ${url}`]
}
