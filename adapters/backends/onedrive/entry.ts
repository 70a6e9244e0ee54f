import type { Entry } from '../../contract.ts'

/** A file or a folder (learn.microsoft.com/graph/api/resources/driveitem). */
export interface DriveItem {
  id: string
  name: string
  size?: number
  /** Changes with the metadata, too. */
  eTag?: string
  /** Changes with the content only. Folders have none. */
  cTag?: string
  lastModifiedDateTime?: string
  fileSystemInfo?: { lastModifiedDateTime?: string }
  file?: { hashes?: { quickXorHash?: string; sha1Hash?: string; sha256Hash?: string } }
  folder?: { childCount?: number }
  parentReference?: { driveId?: string }
  /** Present in a notebook of OneNote, which is neither a file nor a folder. */
  package?: object
  /** Present in a shortcut to an item of another drive. */
  remoteItem?: object
  '@microsoft.graph.downloadUrl'?: string
}

/** The properties that entries need. */
export const itemFields =
  'id,name,size,eTag,cTag,lastModifiedDateTime,fileSystemInfo,file,folder,parentReference,package,remoteItem'

export const isFolder = ({ folder }: DriveItem): boolean => folder !== undefined

/**
 * Returns false for shortcuts and notebooks, which are not shown and not followed: anybody who can write to one folder could
 * add a shortcut to an item that they may not read here.
 */
export const isShown = ({ remoteItem, file, folder, ...item }: DriveItem): boolean =>
  remoteItem === undefined && item.package === undefined && (file !== undefined || folder !== undefined)

/** @param name the name in the path, whose case can differ from that in OneDrive */
export function toEntry(name: string, item: DriveItem): Entry {
  // Item ids are unique in their drive.
  const fileId = `onedrive:${item.parentReference?.driveId ?? ''}/${item.id}`
  const time = item.fileSystemInfo?.lastModifiedDateTime ?? item.lastModifiedDateTime
  const modifiedAt = time === undefined ? null : new Date(time)
  if (isFolder(item)) return { name, kind: 'directory', size: null, modifiedAt, etag: null, mimeType: null, fileId }
  const sha256 = item.file?.hashes?.sha256Hash?.toLowerCase()
  return {
    name,
    kind: 'file',
    size: item.size ?? null,
    modifiedAt,
    etag: item.cTag?.replaceAll('"', '') ?? null,
    // OneDrive takes no type. It derives one from the name, as the host does.
    mimeType: null,
    fileId,
    ...(sha256 !== undefined && { checksums: { sha256 } }),
  }
}
