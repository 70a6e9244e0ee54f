import { applyMask, checkMask, type Mask, parseMask } from './fields.ts'
import { type Item, type Store, shortcutType } from './store.ts'

const fileFields =
  'kind id name mimeType parents trashed explicitlyTrashed createdTime modifiedTime version size quotaBytesUsed md5Checksum sha1Checksum sha256Checksum headRevisionId originalFilename fileExtension driveId teamDriveId ownedByMe owners shortcutDetails capabilities exportLinks description starred spaces webViewLink'.split(
    ' ',
  )

const defaultMask = parseMask('kind,id,name,mimeType')

/** The export formats of Google's own documents (developers.google.com/workspace/drive/api/guides/ref-export-formats). */
const openXml = 'application/vnd.openxmlformats-officedocument'
export const exportTypes: Record<string, readonly string[]> = {
  'application/vnd.google-apps.document': [
    `${openXml}.wordprocessingml.document`,
    'application/vnd.oasis.opendocument.text',
    'application/rtf',
    'application/pdf',
    'text/plain',
    'application/zip',
    'application/epub+zip',
    'text/markdown',
  ],
  'application/vnd.google-apps.spreadsheet': [
    `${openXml}.spreadsheetml.sheet`,
    'application/x-vnd.oasis.opendocument.spreadsheet',
    'application/pdf',
    'application/zip',
    'text/csv',
    'text/tab-separated-values',
  ],
  'application/vnd.google-apps.presentation': [
    `${openXml}.presentationml.presentation`,
    'application/vnd.oasis.opendocument.presentation',
    'application/pdf',
    'text/plain',
    'image/jpeg',
    'image/png',
    'image/svg+xml',
  ],
  'application/vnd.google-apps.drawing': ['application/pdf', 'image/jpeg', 'image/png', 'image/svg+xml'],
  'application/vnd.google-apps.script': ['application/vnd.google-apps.script+json'],
  'application/vnd.google-apps.vid': ['video/mp4'],
  'application/vnd.google-apps.form': [],
}

export function fileResource(store: Store, account: string, item: Item): Record<string, unknown> {
  const role = store.roleOf(account, item)
  const target = item.shortcutTargetId === null ? undefined : store.items.get(item.shortcutTargetId)
  const canWrite = role === 'writer' || role === 'owner'
  return {
    kind: 'drive#file',
    id: item.id,
    name: item.name,
    mimeType: item.mimeType,
    // Leave out parents that the account may not see.
    ...(item.parent !== null && isVisible(store, account, item.parent) ? { parents: [item.parent] } : {}),
    trashed: store.isTrashed(item),
    explicitlyTrashed: item.explicitlyTrashed,
    starred: false,
    spaces: ['drive'],
    createdTime: new Date(item.createdTime).toISOString(),
    modifiedTime: new Date(item.modifiedTime).toISOString(),
    version: String(item.version),
    quotaBytesUsed: String(item.content?.size ?? 0),
    capabilities: { canEdit: canWrite, canTrash: role === 'owner' || item.driveId !== null, canDownload: true },
    ...(item.driveId === null
      ? { ownedByMe: item.owner === account, owners: [{ kind: 'drive#user', emailAddress: item.owner }] }
      : { driveId: item.driveId, teamDriveId: item.driveId }),
    ...(item.content && {
      size: String(item.content.size),
      md5Checksum: item.content.md5,
      sha1Checksum: item.content.sha1,
      sha256Checksum: item.content.sha256,
      headRevisionId: item.headRevisionId,
      originalFilename: item.name,
      fileExtension: /\.([^.]+)$/.exec(item.name)?.[1] ?? '',
    }),
    ...(item.mimeType === shortcutType && {
      shortcutDetails: { targetId: item.shortcutTargetId, ...(target && { targetMimeType: target.mimeType }) },
    }),
    ...(exportTypes[item.mimeType] && {
      exportLinks: Object.fromEntries((exportTypes[item.mimeType] ?? []).map(type => [type, `export?id=${item.id}`])),
    }),
  }
}

function isVisible(store: Store, account: string, id: string): boolean {
  const item = store.items.get(id)
  return item !== undefined && store.roleOf(account, item) !== undefined
}

/** @throws 400 invalidParameter */
export function fileMask(fields: string | null): Mask {
  if (fields === null) return defaultMask
  const mask = parseMask(fields)
  checkMask(mask, fileFields, 'fields')
  return mask
}

/** @throws 400 invalidParameter */
export function listMask(fields: string | null, collection: string): Mask {
  if (fields === null) {
    return new Map([
      ...['kind', 'incompleteSearch', 'nextPageToken'].map(name => [name, null] as const),
      [collection, defaultMask],
    ])
  }
  const mask = parseMask(fields)
  checkMask(mask, ['kind', 'incompleteSearch', 'nextPageToken', collection], 'fields')
  if (collection === 'files') checkMask(mask?.get('files') ?? null, fileFields, 'fields')
  return mask
}

export function masked(resource: Record<string, unknown>, mask: Mask): unknown {
  return applyMask(resource, mask)
}
