/** Reads and writes the few documents of the REST API. */
import { SaxesParser } from 'saxes'
import type { KeyPage } from '../../bases/objects/driver.ts'
import { StorageError } from '../../contract.ts'
import { type Described, dateOf, etagOf, isMarked } from './entry.ts'

export interface Block {
  /** In base64, as it was given. */
  id: string
  size: number
}

/** One element with its texts, by the path of its names. */
type Texts = Map<string, string>

/** https://learn.microsoft.com/rest/api/storageservices/list-blobs */
export function parseListing(xml: string): KeyPage<Described> {
  const page: KeyPage<Described> = { items: [], next: undefined }
  forEachElement(xml, ['Blob', 'BlobPrefix', 'NextMarker'], (name, texts, isEncoded) => {
    if (name === 'NextMarker') page.next = texts.get('') || undefined
    else {
      page.items.push({ key: keyIn(texts, isEncoded), facts: name === 'Blob' ? described(texts) : undefined })
    }
  })
  return page
}

/** A version of a blob, or its present content. */
export interface ListedVersion {
  /** Undefined for a name that is not UTF-8. */
  key: string | undefined
  /** Undefined for content from before the account kept versions. */
  id: string | undefined
  isCurrent: boolean
  facts: Described
}

/** Parses a listing with `include=versions`. */
export function parseVersions(xml: string): { items: ListedVersion[]; next: string | undefined } {
  const items: ListedVersion[] = []
  let next: string | undefined
  forEachElement(xml, ['Blob', 'NextMarker'], (name, texts, isEncoded) => {
    if (name === 'NextMarker') next = texts.get('') || undefined
    else {
      const id = texts.get('VersionId')
      const isCurrent = id === undefined || texts.get('IsCurrentVersion') === 'true'
      items.push({ key: keyIn(texts, isEncoded), id, isCurrent, facts: described(texts) })
    }
  })
  return { items, next }
}

/** https://learn.microsoft.com/rest/api/storageservices/get-block-list */
export function parseBlocks(xml: string): Block[] {
  const blocks: Block[] = []
  forEachElement(xml, ['Block'], (_, texts) => {
    blocks.push({ id: texts.get('Name') ?? '', size: Number(texts.get('Size') ?? 0) })
  })
  return blocks
}

/** @param ids in base64 */
export function blockList(ids: readonly string[]): string {
  const blocks = ids.map(id => `<Latest>${id}</Latest>`).join('')
  return `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks}</BlockList>`
}

function described(texts: Texts): Described {
  const metadata: Record<string, string> = {}
  for (const [path, text] of texts) {
    const [, name] = /^Metadata\/(.+)$/.exec(path) ?? []
    if (name !== undefined) metadata[name.toLowerCase()] = text
  }
  const property = (name: string) => texts.get(`Properties/${name}`)
  return {
    size: Number(property('Content-Length') ?? 0),
    etag: etagOf(property('Etag')),
    lastModified: dateOf(property('Last-Modified')),
    contentType: property('Content-Type') || null,
    md5: property('Content-MD5') || null,
    metadata,
    isFolder: isMarked(metadata) || property('ResourceType') === 'directory',
  }
}

/**
 * Calls `take` for each element with one of these names. The texts of its descendants have the path of their names.
 * @throws UNAVAILABLE for text that is not XML
 */
function forEachElement(
  xml: string,
  names: readonly string[],
  take: (name: string, texts: Texts, hasEncodedName: boolean) => void,
): void {
  const parser = new SaxesParser()
  const open: string[] = []
  let start = 0
  let texts: Texts = new Map()
  let isEncoded = false
  let text = ''
  parser.on('error', cause => {
    throw new StorageError('UNAVAILABLE', 'The server sent a listing that is not XML: check the endpoint.', { cause })
  })
  parser.on('opentag', ({ name, attributes }) => {
    open.push(name)
    text = ''
    if (start === 0 && names.includes(name)) {
      start = open.length
      texts = new Map()
      isEncoded = false
    } else if (start > 0 && name === 'Name') isEncoded = String(attributes.Encoded) === 'true'
  })
  parser.on('text', piece => {
    text += piece
  })
  parser.on('closetag', ({ name }) => {
    if (start > 0 && text !== '') texts.set(open.slice(start).join('/'), text)
    text = ''
    if (start === open.length) {
      take(name, texts, isEncoded)
      start = 0
    }
    open.pop()
  })
  parser.write(xml).close()
}

function keyIn(texts: Texts, isEncoded: boolean): string | undefined {
  const name = texts.get('Name')
  return isEncoded ? decoded(name ?? '') : name
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
