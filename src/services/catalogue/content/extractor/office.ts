/**
 * Documents, spreadsheets and presentations in the formats of ISO/IEC 29500 (Office Open XML) and ISO/IEC 26300 (OpenDocument): ZIP
 * archives of XML files. Parts are read as streams, up to a number of bytes. Document types are refused, so there are no entities to
 * expand.
 */
import { SaxesParser } from 'saxes'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { type Original, readWhole } from '../../../decoding/original.ts'
import { type ExtractTask, maxContent } from './protocol.ts'

const maxEntries = 20_000
/** Bytes of all parts. */
const maxXml = 64 * 1024 * 1024
/** Elements within each other. */
const maxDepth = 1000

/** The parts with text, in the order in which they are read. */
const parts = [
  /^content\.xml$/,
  /^word\/document\.xml$/,
  /^word\/(?:header|footer|footnotes|endnotes|comments)\d*\.xml$/,
  /^xl\/sharedStrings\.xml$/,
  /^xl\/worksheets\/[^/]*\.xml$/,
  /^ppt\/slides\/[^/]*\.xml$/,
  /^ppt\/notesSlides\/[^/]*\.xml$/,
]

interface Part {
  entry: Entry
  order: number
}

/** @throws Error if the file is no document of these formats, damaged or encrypted */
export async function readOffice(original: Original, { maxBytes }: ExtractTask): Promise<string> {
  const archive = await fromBufferPromise(Buffer.from(await readWhole(original, maxBytes)))
  const found = await partsOf(archive)
  if (found.length === 0) throw new Error('The file is no document.')
  const text = new DocumentText()
  let left = maxXml
  for (const { entry } of found) {
    const parser = parserOf(entry.fileName, text)
    const stream = await archive.openReadStreamPromise(entry)
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      left -= chunk.length
      if (left < 0 || text.isFull) {
        stream.destroy()
        return text.toString()
      }
      parser.write(decoder.decode(chunk, { stream: true }))
    }
    parser.write(decoder.decode())
    parser.close()
  }
  return text.toString()
}

async function partsOf(archive: ZipFile): Promise<Part[]> {
  const found: Part[] = []
  let count = 0
  for await (const entry of archive.eachEntry()) {
    count += 1
    if (count > maxEntries) throw new Error('The document has too many parts.')
    const order = parts.findIndex(pattern => pattern.test(entry.fileName))
    if (order >= 0) found.push({ entry, order })
  }
  // Slide 2 comes before slide 10.
  const { compare } = new Intl.Collator('en', { numeric: true })
  return found.sort((a, b) => a.order - b.order || compare(a.entry.fileName, b.entry.fileName))
}

class DocumentText {
  readonly #found: string[] = []
  #length = 0

  add(text: string): void {
    if (this.isFull) return
    this.#found.push(text)
    this.#length += text.length
  }

  get isFull(): boolean {
    return this.#length >= maxContent
  }

  toString(): string {
    return this.#found.join('')
  }
}

/** The elements, without prefixes, whose text is text of the document, and those that separate words. */
interface Vocabulary {
  texts: ReadonlySet<string>
  breaks: ReadonlySet<string>
  spaces: ReadonlySet<string>
}

const openDocument: Vocabulary = {
  texts: new Set(['p', 'h']),
  breaks: new Set(['p', 'h']),
  spaces: new Set(['tab', 'line-break', 's']),
}
const openXml: Vocabulary = {
  texts: new Set(['t', 'v']),
  breaks: new Set(['p', 'si', 'c']),
  spaces: new Set(['tab', 'br', 'cr']),
}

/** Adds the text of one part to the text of the document. */
function parserOf(fileName: string, text: DocumentText): SaxesParser {
  const { texts, breaks, spaces } = fileName === 'content.xml' ? openDocument : openXml
  const parser = new SaxesParser()
  let depth = 0
  /** How many elements with text are open. */
  let inText = 0
  /** The present cell names a string of another part. */
  let isReference = false
  parser.on('doctype', () => {
    throw new Error('The document has a document type.')
  })
  parser.on('error', error => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    const local = localName(name)
    depth += 1
    if (depth > maxDepth) throw new Error('The elements of the document are too deep.')
    if (local === 'c') isReference = attributes.t === 's'
    if (texts.has(local)) inText += 1
    if (spaces.has(local)) text.add(' ')
  })
  parser.on('text', found => {
    if (inText > 0 && !isReference) text.add(found)
  })
  parser.on('closetag', ({ name }) => {
    const local = localName(name)
    depth -= 1
    if (local === 'c') isReference = false
    if (texts.has(local)) inText -= 1
    if (breaks.has(local)) text.add('\n')
  })
  return parser
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
