/** Reads electronic books (EPUB 3.3, W3C): a ZIP archive of XHTML documents. Ranges of the file are read, as far as they are shown. */
import { type Entry, type FileEntry, ZipReader } from '@zip.js/zip.js/index-native.js'
import { StowageError } from '../../../../api/client.ts'
import type { ViewedFile } from '../../viewer.ts'
import { RangeReader } from '../archive/zip.ts'
import { TooLarge } from '../bytes.ts'

const entity = /<!ENTITY/i

/** Bytes that are read of a book while it is open. */
const maxRead = 128 * 1024 * 1024
const maxEntries = 10_000
/** Bytes of a description, of a document and of a picture. */
const maxPackage = 2 * 1024 * 1024
const maxDocument = 4 * 1024 * 1024
const maxPicture = 8 * 1024 * 1024
/** Bytes of the pictures of a document. */
const maxPictures = 32 * 1024 * 1024
const maxChapters = 2000
/** Characters of the titles of all chapters, and of one of them. */
const maxTitles = 1024 * 1024
const maxTitle = 200

export interface Chapter {
  /** The path in the archive. */
  path: string
  title: string | null
}

export interface Book {
  title: string | null
  author: string | null
  chapters: readonly Chapter[]
  /** Returns the document of a chapter. @throws Error if it is damaged; StowageError */
  document: (chapter: Chapter) => Promise<Document>
  /**
   * Returns a picture as a data URL, and null for what is no picture, damaged or too much.
   * @param path relative to the document
   * @throws StowageError
   */
  picture: (chapter: Chapter, path: string, budget: { bytes: number }) => Promise<string | null>
}

export const pictureBudget = () => ({ bytes: maxPictures })

const pictureTypes: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
}

/**
 * @param signal ends all reading of the book, also that of its chapters
 * @throws StowageError; any other error if the file is no book
 */
export async function openBook(file: ViewedFile, signal: AbortSignal): Promise<Book> {
  const archive = new ZipReader(new RangeReader(file, signal, maxRead), { useWebWorkers: false })
  const entries = new Map<string, FileEntry>()
  let count = 0
  for await (const entry of archive.getEntriesGenerator() as AsyncIterable<Entry>) {
    count += 1
    if (count > maxEntries) throw new TooLarge()
    if (!entry.directory) entries.set(entry.filename, entry)
  }
  const read = (path: string, limit: number) => bytesOf(entries.get(path), limit)
  const xml = async (path: string, limit: number) => parseXml(await read(path, limit))

  const container = await xml('META-INF/container.xml', maxPackage)
  const packagePath = container.getElementsByTagNameNS('*', 'rootfile')[0]?.getAttribute('full-path')
  if (!packagePath) throw new Error('The book has no package.')
  const description = await xml(packagePath, maxPackage)
  const textOf = (name: string) => titleOf(description.getElementsByTagNameNS('*', name)[0]?.textContent) || null
  const items = [...description.getElementsByTagNameNS('*', 'item')].slice(0, maxEntries).map(item => ({
    id: item.getAttribute('id'),
    path: resolve(packagePath, item.getAttribute('href') ?? ''),
    isContents: /\bnav\b/.test(item.getAttribute('properties') ?? ''),
    isOldContents: item.getAttribute('media-type') === 'application/x-dtbncx+xml',
  }))
  const contents = items.find(({ isContents }) => isContents) ?? items.find(({ isOldContents }) => isOldContents)
  const pathOf = new Map(items.map(({ id, path }) => [id, path]))
  // Without a table of contents, the chapters have numbers.
  const titles = contents ? await titlesOf(contents.path, xml).catch(() => new Map<string, string>()) : new Map()
  const chapters = [...description.getElementsByTagNameNS('*', 'itemref')].slice(0, maxChapters).flatMap(reference => {
    const path = pathOf.get(reference.getAttribute('idref'))
    return path === undefined ? [] : [{ path, title: titles.get(path) ?? null }]
  })
  if (chapters.length === 0) throw new Error('The book has no chapters.')
  return {
    title: textOf('title'),
    author: textOf('creator'),
    chapters,
    async document({ path }) {
      const content = new TextDecoder().decode(await read(path, maxDocument))
      // A browser reports the handlers of events in a document, although they never run in this one.
      const text = content.replace(/\son(?=[a-z]{1,30}\s?=)/gi, ' data-on')
      // Entities of XML can grow without bound, and HTML has none of its own.
      if (entity.test(text)) return new DOMParser().parseFromString(text, 'text/html')
      const strict = new DOMParser().parseFromString(text, 'application/xhtml+xml')
      return strict.getElementsByTagName('parsererror').length === 0
        ? strict
        : new DOMParser().parseFromString(text, 'text/html')
    },
    async picture({ path }, address, budget) {
      const target = resolve(path, address)
      const type = pictureTypes[target.slice(target.lastIndexOf('.') + 1).toLowerCase()]
      if (type === undefined) return null
      try {
        const bytes = await read(target, Math.min(maxPicture, budget.bytes))
        budget.bytes -= bytes.length
        return await dataUrl(new Blob([bytes], { type }))
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof StowageError) throw error
        return null
      }
    },
  }
}

/** Returns the titles of documents by their paths. */
async function titlesOf(path: string, xml: (path: string, limit: number) => Promise<Document>) {
  const contents = await xml(path, maxPackage)
  const titles = new Map<string, string>()
  let left = maxTitles
  const add = (address: string | null | undefined, title: string | null | undefined) => {
    left -= title?.length ?? 0
    const target = address ? resolve(path, address) : ''
    const text = titleOf(title)
    if (text && !titles.has(target)) titles.set(target, text)
  }
  for (const link of contents.getElementsByTagNameNS('*', 'a')) {
    // Links within links repeat their text.
    if (left < 0) break
    add(link.getAttribute('href'), link.textContent)
  }
  for (const point of contents.getElementsByTagNameNS('*', 'navPoint')) {
    if (left < 0) break
    // A point contains those below it, so only its own children are searched.
    const child = (name: string) => [...point.children].find(({ localName }) => localName === name)
    add(child('content')?.getAttribute('src'), child('navLabel')?.textContent)
  }
  return titles
}

/** Returns the beginning of a title as one line. */
function titleOf(text: string | null | undefined): string {
  return (text ?? '')
    .slice(0, 2 * maxTitle)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxTitle)
}

/** Returns the path of an address that a document of the archive contains. */
function resolve(from: string, address: string): string {
  try {
    const { pathname } = new URL(address, new URL(from, 'http://book/'))
    return decodeURIComponent(pathname.slice(1))
  } catch {
    return ''
  }
}

/** @throws Error if the archive has no such file, or it is larger than the limit */
async function bytesOf(entry: FileEntry | undefined, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (!entry) throw new Error('A part of the book is missing.')
  // The size that the archive claims may be wrong, so what arrives is counted, too.
  if (entry.uncompressedSize > limit) throw new TooLarge()
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  const target = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(chunk) {
      length += chunk.length
      if (length > limit) throw new TooLarge()
      chunks.push(chunk)
    },
  })
  await entry.getData(target)
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

/** @throws Error if the document is not well-formed, or has a document type with entities */
function parseXml(bytes: Uint8Array): Document {
  const text = new TextDecoder().decode(bytes)
  if (entity.test(text)) throw new Error('The book has entities.')
  const parsed = new DOMParser().parseFromString(text, 'application/xml')
  if (parsed.getElementsByTagName('parsererror').length > 0) throw new Error('A part of the book is damaged.')
  return parsed
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(blob)
  })
}
