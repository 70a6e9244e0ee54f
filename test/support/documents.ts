/** Makes documents of the formats whose text is searched, byte by byte, so that tests decide what is wrong with them. */
import { crc32, deflateRawSync } from 'node:zlib'

/** A ZIP archive (APPNOTE.TXT) of files with their content. @param claimed the uncompressed size that the archive states */
export function zipOf(files: Readonly<Record<string, string | Uint8Array>>, claimed?: number): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content)
    const data = deflateRawSync(bytes, { level: 9 })
    const title = Buffer.from(name)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(0x800, 2)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc32(bytes), 10)
    facts.writeUInt32LE(data.length, 14)
    facts.writeUInt32LE(claimed ?? bytes.length, 18)
    facts.writeUInt16LE(title.length, 22)
    const entry = Buffer.alloc(14)
    entry.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), facts, entry, title)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), facts, title, data)
    offset += 4 + facts.length + title.length + data.length
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0)
  const end = Buffer.alloc(18)
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(size, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\x05\x06', 'latin1'), end])
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

const word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

/** A document of Word, in which formatting divides each word into two runs. */
export function docx(paragraphs: readonly string[], more: Readonly<Record<string, string>> = {}): Buffer {
  const run = (text: string) => `<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`
  const body = paragraphs.map(text => {
    const halves = text.split(/(?<=\w)(?=\w{2}\b)/)
    return `<w:p w:rsidR="00A10000">${halves.map(run).join('')}</w:p>`
  })
  return zipOf({
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`,
    'word/document.xml': `<?xml version="1.0" encoding="UTF-8"?><w:document ${word}><w:body>${body.join('')}</w:body></w:document>`,
    ...more,
  })
}

/** A text of OpenDocument. */
export function odt(paragraphs: readonly string[]): Buffer {
  const body = paragraphs.map(text => `<text:p>${escapeXml(text).replaceAll('\t', '<text:tab/>')}</text:p>`).join('')
  return zipOf({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'META-INF/manifest.xml': '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
  })
}

/** A spreadsheet of Excel with shared texts, a text in its cell and numbers. */
export function xlsx(shared: readonly string[], inline: string, numbers: readonly number[]): Buffer {
  const cells = [
    ...shared.map((_, index) => `<c t="s"><v>${index}</v></c>`),
    `<c t="inlineStr"><is><t>${escapeXml(inline)}</t></is></c>`,
    ...numbers.map(value => `<c><v>${value}</v></c>`),
  ]
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
  return zipOf({
    'xl/sharedStrings.xml': `<sst ${main}>${shared.map(text => `<si><t>${escapeXml(text)}</t></si>`).join('')}</sst>`,
    'xl/worksheets/sheet1.xml': `<worksheet ${main}><sheetData><row>${cells.join('')}</row></sheetData></worksheet>`,
  })
}

/** A presentation of PowerPoint with one slide for each text. */
export function pptx(slides: readonly string[]): Buffer {
  const names =
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
  const slide = (text: string) => `<p:sld ${names}><a:p><a:r><a:t>${escapeXml(text)}</a:t></a:r></a:p></p:sld>`
  return zipOf(Object.fromEntries(slides.map((text, index) => [`ppt/slides/slide${index + 1}.xml`, slide(text)])))
}

/** A PDF document of pages with lines of text, in the characters of western languages. */
export function pdf(pages: readonly (readonly string[])[], trailer = ''): Buffer {
  const texts = pages.map(lines => {
    const shown = lines.map(line => `(${line.replace(/[()\\]/g, '\\$&')}) Tj T*`)
    return `BT /F1 12 Tf 14 TL 40 800 Td ${shown.join(' ')} ET`
  })
  const pageAt = (index: number) => 4 + 2 * index
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${pages.map((_, index) => `${pageAt(index)} 0 R`).join(' ')}]/Count ${pages.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
    ...texts.flatMap((text, index) => [
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents ${pageAt(index) + 1} 0 R>>`,
      `<</Length ${text.length}>>stream\n${text}\nendstream`,
    ]),
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const at = file.length
    file += `${index + 1} 0 obj${object}endobj\n`
    return at
  })
  const table = offsets.map(at => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const count = objects.length + 1
  file += `xref\n0 ${count}\n0000000000 65535 f \n${table}trailer<</Size ${count}/Root 1 0 R${trailer}>>\nstartxref\n${file.length}\n%%EOF`
  return Buffer.from(file, 'latin1')
}
