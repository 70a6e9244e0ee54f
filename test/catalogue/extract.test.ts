/** The text of documents is what independent programs find in them, and harmful files cost nothing but their own failure. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import sharp from 'sharp'
import t from 'tap'
import type { Extracted, TextKind } from '../../src/services/catalogue/content/extractor/protocol.ts'
import { Extractors } from '../../src/services/catalogue/content/extractors.ts'
import { maxBytes, textKindOf } from '../../src/services/catalogue/content/kinds.ts'
import { wordsOf } from '../../src/services/catalogue/content/words.ts'
import { Undecodable } from '../../src/services/decoding/processes.ts'
import { findProgram, requirePrograms } from '../servers/programs.ts'
import { docx, odt, pdf, pptx, xlsx, zipOf } from '../support/documents.ts'
import { atNight, extent } from '../support/extent.ts'
import { childrenWith } from '../support/process-tree.ts'
import { temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'

await requirePrograms({
  who: 'The tests of extracted text',
  programs: ['pdftotext', 'docx2txt', 'odt2txt', 'tesseract'],
  packages: ['poppler-utils', 'docx2txt', 'odt2txt', 'tesseract-ocr', 'tesseract-ocr-eng'],
  instead: 'put them on PATH',
})

const run = promisify(execFile)
const folder = await temporaryFolder(t)
const extractors = new Extractors()
t.teardown(() => extractors.close())
const signal = AbortSignal.timeout(300_000)

async function extract(kind: TextKind, bytes: Uint8Array | string, by = extractors, tesseract: string | null = null) {
  const file = Buffer.from(bytes)
  const read = async function* ({ offset, length }: { offset: number; length: number }) {
    yield file.subarray(offset, offset + length)
  }
  return by.run({ kind, size: file.length, maxBytes: maxBytes[kind], tesseract }, read, signal)
}

const textOf = async (kind: TextKind, bytes: Uint8Array | string) => (await extract(kind, bytes)).text
const wordsIn = (text: string) => [...wordsOf(text)]

/** Returns what a program writes about a file. */
async function written(program: string, bytes: Uint8Array, name: string, options: string[] = [], more: string[] = []) {
  const path = join(folder, name)
  await writeFile(path, bytes)
  const { stdout } = await run(program, [...options, path, ...more], { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  return stdout
}

const paragraphs = [
  'Quarterly report of the Straße company, 2026',
  'Revenue & costs: 1 < 2, but "profit" isn\'t.',
  'Naïve café in Łódź; Ελληνικά, Русский текст',
  '東京都の報告書 and 서울 보고서',
  'one\ttwo   three',
]

t.test('office documents have the words that docx2txt and odt2txt find', async t => {
  const words = paragraphs.flatMap(wordsIn)
  const document = docx(paragraphs)
  t.same(wordsIn(await written('docx2txt', document, 'a.docx', [], ['-'])), words, 'the program finds them')
  t.same(wordsIn(await textOf('office', document)), words)
  const text = odt(paragraphs)
  t.same(wordsIn(await written('odt2txt', text, 'a.odt', ['--width=-1', '--encoding=UTF-8'])), words)
  t.same(wordsIn(await textOf('office', text)), words)
  t.equal(
    await textOf('office', xlsx(['Shared text', 'Second'], 'In the cell', [42, 1.5])),
    'Shared text\nSecond\nIn the cell\n42\n1.5',
  )
  const slides = Array.from({ length: 12 }, (_, index) => `Slide number ${index + 1}`)
  t.equal(await textOf('office', pptx(slides)), slides.join('\n'), 'slides in their order')
})

atNight(t, 'PDF documents have the words that pdftotext finds', async t => {
  const lines = ['The quarterly report', 'has (some) words: na\xefve caf\xe9', 'and a third line.']
  const document = pdf([lines, ...Array.from({ length: 120 }, (_, page) => [`Page ${page} of the rest`])])
  const found = wordsIn(await textOf('pdf', document))
  t.same(found, wordsIn(await written('pdftotext', document, 'a.pdf', [], ['-'])))
  t.equal(found.length, wordsIn(lines.join(' ')).length + 120 * 5)
})

atNight(t, 'pictures of text are read where tesseract is installed', async t => {
  const library = await PDFiumLibrary.init()
  const page = (await library.loadDocument(pdf([['Recognize these words', 'of the invoice']]))).getPage(0)
  const { width, height, data } = await page.render({ scale: 3, render: 'bitmap' })
  const picture = await sharp(data, { raw: { width, height, channels: 4 } })
    .flatten({ background: '#fff' })
    .jpeg()
    .toBuffer()
  const tesseract = await findProgram('tesseract')
  const { text } = await extract('image', picture, extractors, tesseract)
  t.same(wordsIn(text), ['recognize', 'these', 'words', 'of', 'the', 'invoice'])
  await t.rejects(extract('image', picture), Undecodable, 'and not without it')
})

t.test('texts, pages and messages', async t => {
  t.equal(await textOf('text', '\ufeffNaïve\r\n\r\n  text\t\u0001here '), 'Naïve\ntext here')
  t.equal(await textOf('text', Buffer.from('caf\xe9', 'latin1')), 'café', 'in the encoding of Windows')
  t.equal(await textOf('text', Buffer.from('\ufeffwide text', 'utf16le')), 'wide text')
  t.equal(await textOf('text', ''), '')
  const page =
    '<html><head><title>Title</title><style>p{}</style><script>if (a < b) hidden()</script></head><body><p>Some <b>bo</b>ld &amp; text<td>cell'
  t.equal(await textOf('html', page), 'Title\nSome bold & text\ncell')
  const message = [
    'From: =?utf-8?Q?J=C3=B6rg?= <joerg@example.org>',
    'To: Ann <ann@example.org>',
    'Subject: =?utf-8?B?UXVhcnRlcmx5IHLDqXBvcnQ=?=',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>See the caf=E9 numbers</p>',
    '--b',
    'Content-Type: application/pdf',
    'Content-Disposition: attachment; filename="numbers.pdf"',
    '',
    'x',
    '--b--',
  ].join('\r\n')
  const text = await textOf('mail', message)
  for (const part of ['Quarterly réport', 'Jörg', 'ann@example.org', 'See the café numbers', 'numbers.pdf']) {
    t.ok(text.includes(part), part)
  }
})

t.test('names decide how a file is read', async t => {
  const kinds = ['a.TXT', 'README', 'a.docx', '.txt', 'a', 'a.exe', 'b.tar.gz', 'x.eml', 'photo.JPG'].map(textKindOf)
  t.same(kinds, ['text', 'text', 'office', null, null, null, null, 'mail', 'image'])
})

const laughs = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">${Array.from({ length: 9 }, (_, n) => {
  const last = String.fromCharCode(97 + n)
  return `<!ENTITY ${String.fromCharCode(98 + n)} "${`&${last};`.repeat(10)}">`
}).join('')}]><w:document xmlns:w="w"><w:t>&j;</w:t></w:document>`
const file = '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:document xmlns:w="w"><w:t>&x;</w:t></w:document>'

/** A name, a kind and the bytes of a file. */
type Sample = [string, TextKind, () => Uint8Array | string]

t.test('harmful files', async t => {
  const zeros = Buffer.alloc(extent({ gate: 40, nightly: 300 }) * 1024 * 1024, 0x20)
  const bomb = Buffer.concat([Buffer.from('<w:document xmlns:w="w"><w:t>'), zeros])
  const harmful: Sample[] = [
    ['entities', 'office', () => docx([], { 'word/document.xml': laughs })],
    ['a file of this machine', 'office', () => docx([], { 'word/document.xml': file })],
    ['deep elements', 'office', () => docx([], { 'word/document.xml': '<w>'.repeat(5_000_000) })],
    [
      'another size than it claims',
      'office',
      () => zipOf({ 'word/document.xml': `<w><t>${'x'.repeat(1_000_000)}</t></w>` }, 10),
    ],
    ['many parts', 'office', () => zipOf(Object.fromEntries(Array.from({ length: 25_000 }, (_, n) => [`x${n}`, ''])))],
    ['an encrypted document', 'office', () => Buffer.from('d0cf11e0a1b11ae1'.padEnd(4096, '0'), 'hex')],
    ['no document', 'office', () => 'a text with the wrong name'],
    ['a truncated document', 'office', () => docx(paragraphs).subarray(0, 700)],
    ['an encrypted PDF document', 'pdf', () => pdf([['secret']], '/Encrypt<</Filter/Standard/V 5/R 6>>')],
    ['no PDF document', 'pdf', () => 'a text with the wrong name'],
    ['a picture named as text', 'text', () => gzipSync('x'.repeat(1000))],
    ['no message', 'mail', () => ''],
  ]
  // In `npm test`, some of them, because the large ones take some seconds of processor time.
  for (const [name, kind, bytes] of extent({
    gate: harmful.filter((_, n) => [0, 1, 6, 8, 10].includes(n)),
    nightly: harmful,
  })) {
    const started = performance.now()
    await t.rejects(extract(kind, bytes()), Undecodable, name)
    const time = Math.round(performance.now() - started)
    t.ok(time < 30_000, `${name} ends in time: ${time} ms`)
  }
  // Whatever they give, it is bounded, and soon there.
  const loop = pdf([['first'], ['second']])
    .toString('latin1')
    .replace('/Kids[4 0 R 6 0 R]', '/Kids[2 0 R 2 0 R]')
  const endless: Sample[] = [
    ['a ZIP bomb', 'office', () => zipOf({ 'word/document.xml': bomb })],
    ['pages that contain themselves', 'pdf', () => Buffer.from(loop, 'latin1')],
    [
      'a count of pages',
      'pdf',
      () =>
        Buffer.from(
          pdf([['first']])
            .toString('latin1')
            .replace('/Count 1', '/Count 2147483647'),
          'latin1',
        ),
    ],
    ['a megabyte without a space', 'text', () => 'x'.repeat(1024 * 1024)],
    ['a megabyte of letters without spaces', 'text', () => '東京都'.repeat(350_000)],
    ['many different words', 'text', () => Array.from({ length: 300_000 }, (_, n) => `w${n}`).join(' ')],
    ['many tags', 'html', () => '<p>'.repeat(2_000_000)],
    ['parts within parts', 'mail', () => `Content-Type: message/rfc822\r\n\r\n`.repeat(5_000)],
  ]
  for (const [name, kind, bytes] of extent({
    gate: endless.slice(0, 2),
    nightly: endless,
  })) {
    const started = performance.now()
    const result = await extract(kind, bytes()).catch(error => error)
    t.ok(result instanceof Undecodable || isBounded(result), name)
    const time = Math.round(performance.now() - started)
    t.ok(time < 60_000, `${name} ends in time: ${time} ms`)
  }
  t.equal(await textOf('text', 'good'), 'good', 'the processes go on')
})

function isBounded({ text, words }: Extracted): boolean {
  return text.length <= 256 * 1024 && Buffer.byteLength(words) < 4 * 1024 * 1024
}

/** Returns the ids of the extracting processes of this process. */
const extractorProcesses = () => childrenWith('extractor/process')

atNight(t, 'a killed process costs only its own file', async t => {
  const own = new Extractors()
  t.teardown(() => own.close())
  const before = new Set(await extractorProcesses())
  const started = Promise.withResolvers<void>()
  const hanging = own.run(
    { kind: 'text', size: 10, maxBytes: 10, tesseract: null },
    async function* () {
      started.resolve()
      yield Buffer.from('x')
      await new Promise(resolve => setTimeout(resolve, 60_000).unref())
    },
    signal,
  )
  await started.promise
  const [pid] = (await extractorProcesses()).filter(id => !before.has(id))
  if (pid === undefined) throw new Error('no process')
  process.kill(pid, 'SIGKILL')
  await t.rejects(hanging, Undecodable)
  t.equal((await extract('text', 'next', own)).text, 'next')
})

t.test('a process is bounded in time and memory', async t => {
  const slow = new Extractors({ workTime: 1 })
  const small = new Extractors({ memory: 1 })
  t.teardown(() => [slow, small].map(each => each.close()))
  await t.rejects(extract('pdf', pdf([['x']]), slow), Undecodable)
  await t.rejects(extract('pdf', pdf([['x']]), small), Undecodable)
  const before = await extractorProcesses()
  await until(async () => (await extractorProcesses()).length <= before.length)
})
