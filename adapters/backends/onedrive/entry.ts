import { controlCharacters, whiteSpace } from '../../bases/cloud/names.ts'
import { type Entry, joinSegments, StorageError, type StoragePath, segmentsOf, type Traits } from '../../contract.ts'

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
  parentReference?: { driveId?: string; id?: string; path?: string }
  /** Present in the root of a drive. */
  root?: object
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

/** Item ids are unique in their drive. */
export function fileIdOf({ id, parentReference }: DriveItem): string {
  return `onedrive:${parentReference?.driveId ?? ''}/${id}`
}

/** Returns the path of an item below the root folder; null outside of it. @param root the path of the root folder in the drive */
export function pathBelow(root: string, item: DriveItem): StoragePath | null {
  const { name, parentReference } = item
  // Encoded, behind the address of the drive: `/drive/root:/a%20b`.
  const folder = /^[^:]*root:(.*)$/s.exec(parentReference?.path ?? '')?.[1]
  const path = item.root !== undefined ? '' : folder === undefined ? null : `${decodeURIComponent(folder)}/${name}`
  const isWithin = path !== null && `${path}/`.toLowerCase().startsWith(`${root}/`.toLowerCase())
  return isWithin ? joinSegments(path.split('/').slice(root.split('/').length)) : null
}

/** @param name the name in the path, whose case can differ from that in OneDrive */
export function toEntry(name: string, item: DriveItem): Entry {
  const fileId = fileIdOf(item)
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

/** Characters of a name and of a whole path in a drive (support.microsoft.com, "Restrictions and limitations in OneDrive"). */
const [maxName, maxPath] = [255, 400]

/** Names that OneDrive would refuse or store as other ones, from the same page. */
export const nameTraits = {
  forbiddenInNames: `"*:<>?\\|${controlCharacters}`,
  forbiddenAtEndOfNames: `.${whiteSpace}`,
  reservedNames: [
    '.lock',
    'desktop.ini',
    'con',
    'prn',
    'aux',
    'nul',
    ...Array.from('0123456789', digit => [`com${digit}`, `lpt${digit}`]).flat(),
  ],
} satisfies Partial<Traits>

/** Names that OneDrive refuses for how they begin, or for a part of them. */
const refused = /^\s|^~\$|_vti_/i

/** Returns true for a name that OneDrive would refuse, although the traits allow it. */
export function isUnstorable(name: string): boolean {
  return name.length > maxName || refused.test(name)
}

/** @param root the path of the root folder, which counts for the length. @throws INVALID_PATH */
export function requireStorable(path: StoragePath, root: string): void {
  if (segmentsOf(path).some(isUnstorable)) throw badName()
  if (root.length + path.length > maxPath) {
    throw new StorageError('INVALID_PATH', `OneDrive stores paths of at most ${maxPath} characters: use shorter names.`)
  }
}

export const badName = () =>
  new StorageError('INVALID_PATH', 'OneDrive cannot store exactly this name: choose another.')
