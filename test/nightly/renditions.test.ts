/** Office documents as PDF, made by a real LibreOffice. `test/thumbnails/renditions.test.ts` has what needs none. */
import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { startApp } from '../support/app.ts'
import { zipOf } from '../support/documents.ts'
import { temporaryFolder } from '../support/program.ts'
import { makeShare, sharePath } from '../support/shares.ts'

t.setTimeout(600_000)

await requirePrograms({
  who: 'The tests of renditions',
  programs: ['soffice'],
  packages: ['libreoffice-writer-nogui', 'libreoffice-calc-nogui', 'libreoffice-impress-nogui'],
  instead: 'put LibreOffice on PATH',
})
const run = promisify(execFile)

async function textOf(pdf: Uint8Array): Promise<string> {
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(pdf)
  try {
    return Array.from({ length: document.getPageCount() }, (_, index) => document.getPage(index).getText()).join('\n')
  } finally {
    document.destroy()
    library.destroy()
  }
}

/** An OpenDocument text with this body. */
const odt = (body: string) =>
  zipOf({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'META-INF/manifest.xml':
      '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.3"><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
  })

t.test('office documents as PDF', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  const get = (name: string, headers: Record<string, string> = {}) =>
    app.request(`/api/rendition?${new URLSearchParams({ providerId, path: `/${name}` })}`, { token, headers })
  const put = (name: string, bytes: string | Uint8Array) => writeFile(join(app.folder, name), bytes)
  const bodyOf = async (name: string) => {
    const response = await get(name)
    t.equal(response.status, 200, name)
    return new Uint8Array(await response.arrayBuffer())
  }

  t.test('documents, spreadsheets and presentations, with the cache and share links', async t => {
    await put('letter.rtf', '{\\rtf1\\ansi Dear harbor office\\par}')
    await put('table.csv', 'month;boats\nMay;12\n')
    const home = await temporaryFolder(t)
    const profile = `-env:UserInstallation=file://${home}/profile`
    for (const [format, source] of [
      ['docx', 'letter.rtf'],
      ['odt', 'letter.rtf'],
      ['xlsx', 'table.csv'],
    ] as const) {
      const options = ['--headless', profile, '--convert-to', format, '--outdir', app.folder, join(app.folder, source)]
      await run('soffice', options, { env: { ...process.env, HOME: home } })
    }
    for (const name of ['letter.rtf', 'letter.docx', 'letter.odt']) {
      t.match(await textOf(await bodyOf(name)), /Dear harbor office/, name)
    }
    t.match(await textOf(await bodyOf('table.xlsx')), /May/)
    const etag = (await get('letter.rtf')).headers.get('etag') ?? ''
    t.equal((await get('letter.rtf', { 'if-none-match': etag })).status, 304)
    const open = await makeShare(app, token, { providerId, path: '/' })
    const shared = await app.request(sharePath(open.link, 'rendition', { path: '/letter.rtf' }))
    t.equal(shared.headers.get('content-type'), 'application/pdf')
    const limited = await makeShare(app, token, { providerId, path: '/letter.rtf', maxDownloads: 1 })
    t.equal((await app.request(sharePath(limited.link, 'rendition', { path: '/letter.rtf' }))).status, 404)
  })

  t.test('a document reads no other file and asks no server', async t => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const secret = join(app.folder, 'secret.txt')
    await put('secret.txt', 'canary-secret')
    const section = (address: string, n: number) =>
      `<text:section text:name="s${n}"><text:section-source xlink:type="simple" xlink:href="${address}"/><text:p>before</text:p></text:section>`
    const image = (address: string) =>
      `<text:p><draw:frame svg:width="2cm" svg:height="2cm"><draw:image xlink:type="simple" xlink:href="${address}" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>`
    const addresses = [`file://${secret}`, `http://127.0.0.1:${port}/odt`, '../../secret.txt']
    await put(
      'links.odt',
      odt(`<text:p>Shown</text:p>${addresses.map(section).join('')}${addresses.map(image).join('')}`),
    )
    const field = (code: string) => `{\\field{\\*\\fldinst ${code}}{\\fldrslt none}}`
    await put(
      'links.rtf',
      `{\\rtf1\\ansi Shown ${field(`INCLUDETEXT "${secret}"`)}${field(`INCLUDEPICTURE "http://127.0.0.1:${port}/rtf"`)}\\par}`,
    )
    for (const name of ['links.odt', 'links.rtf']) {
      const text = await textOf(await bodyOf(name))
      t.match(text, /Shown/, name)
      t.notMatch(text, /canary-secret/, name)
    }
    t.same(asked, [])
  })

  t.test('damaged files have none, and leave nothing behind', async t => {
    const foldersNow = async () => (await readdir(tmpdir())).filter(name => name.startsWith('stowage-rendition-'))
    const before = new Set(await foldersNow())
    await put('text.docx', 'no document')
    await put('empty.odt', '')
    await put('zip.docx', zipOf({ 'a.txt': 'x' }))
    await put('bomb.odt', odt(`<text:p>${'<text:span>'.repeat(100_000)}</text:p>`))
    for (const name of ['text.docx', 'empty.odt', 'text.docx']) t.equal((await get(name)).status, 404, name)
    // LibreOffice may show what it could read.
    for (const name of ['zip.docx', 'bomb.odt']) t.match((await get(name)).status, /^(?:200|404)$/, name)
    t.same(new Set(await foldersNow()).difference(before).size, 0)
    t.notMatch(app.logged(), /"level":50/)
  })
})
