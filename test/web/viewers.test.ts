/** The frame of the viewers, and what each viewer shows. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import t from 'tap'
import { atNight, inTurn } from '../support/extent.ts'
import { songWithCover, twoColors } from '../support/media.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, startFiles } from './files.ts'

const widths = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const

const heading = (page: Page, name: string) => page.getByRole('dialog').getByRole('heading', { name, exact: true })
/** Returns the width of the image that is shown, in its own pixels. */
const widthOf = (page: Page, name: string) =>
  page
    .getByRole('img', { name, exact: true })
    .evaluate(image => (image instanceof HTMLImageElement && image.complete ? image.naturalWidth : 0))

/** A PDF document whose pages have a word each. */
function pdfOf(words: readonly string[]): string {
  const pages = words.map((_, index) => 4 + 2 * index)
  const objects = words.map((word, index) => {
    const content = `BT /F 40 Tf 20 150 Td (${word}) Tj ET`
    const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents ${5 + 2 * index} 0 R/Resources<</Font<</F 3 0 R>>>>>>`
    return `${4 + 2 * index} 0 obj${page}endobj\n${5 + 2 * index} 0 obj<</Length ${content.length}>>stream\n${content}\nendstream endobj`
  })
  return `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[${pages.map(id => `${id} 0 R`).join(' ')}]/Count ${words.length}>>endobj
3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
${objects.join('\n')}
trailer<</Root 1 0 R>>
%%EOF`
}

const opf = `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>The sea</dc:title><dc:creator>Mona</dc:creator></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/><item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/>
</manifest><spine><itemref idref="one"/><itemref idref="two"/></spine></package>`
const xhtml = (body: string) =>
  `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>${body}</body></html>`
const hostileChapter = `<h1>The harbor</h1><p onclick="document.title='ran'">Boats</p><img src="../dot.png" alt="a dot"/>
<script>parent.document.title = 'ran'</script><img src="https://example.org/x.png" alt="another"/>
<iframe src="https://example.org"></iframe><form action="https://example.org"><input name="x"/></form>
<style>@import url(https://example.org/style.css)</style><a href="javascript:parent.document.title='ran'">a link</a>`

/** A block of a tape archive before the content of an entry (POSIX.1-2017, ustar). */
function tapeHeader(name: string, type: string, size: number): Buffer {
  const block = Buffer.alloc(512)
  const octal = (value: number, length: number) => value.toString(8).padStart(length, '0')
  const fields: [number, string][] = [
    [0, name],
    [100, `${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size, 11)} ${octal(0, 11)} `],
    [148, `        ${type}`],
    [257, 'ustar\x0000'],
  ]
  for (const [at, text] of fields) block.write(text, at, 'latin1')
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1')
  return block
}

/** A tape archive with an empty file whose time no date can have. */
function timelessTape(): Buffer {
  const facts = `30 mtime=${'9'.repeat(20)}\n`
  const records = Buffer.alloc(512)
  records.write(facts)
  return Buffer.concat([
    tapeHeader('facts', 'x', facts.length),
    records,
    tapeHeader('timeless.txt', '0', 0),
    Buffer.alloc(1024),
  ])
}

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  atNight(t, 'the frame leads to the files beside, shares and deletes', async t => {
    const [small, large] = await Promise.all([
      twoColors(300, 200).jpeg().toBuffer(),
      // Noise, so that the file is too large to load where its image is enough.
      sharp({
        create: {
          width: 2000,
          height: 1500,
          channels: 3,
          background: '#888',
          noise: { type: 'gaussian', mean: 128, sigma: 60 },
        },
      })
        .jpeg({ quality: 95 })
        .toBuffer(),
    ])
    for (const viewport of inTurn(widths)) {
      const { page: address, names } = await store(`frame ${viewport.width}`, {
        'a.jpg': small,
        'b.jpg': large,
        'c.bin': 'x',
        'folder/d.jpg': small,
      })
      const page = await open(t, { viewport, hasTouch: true })
      const asked: string[] = []
      page.on('request', request => asked.push(request.url()))
      await page.goto(`${address}?file=a.jpg`)
      await heading(page, 'a.jpg').waitFor()
      await page.getByText('1 of 3', { exact: true }).waitFor()
      await until(async () => (await widthOf(page, 'a.jpg')) === 300)
      await until(() => asked.some(url => url.includes('/api/thumbnail') && url.includes('size=1024')))
      await isGood(t, page)

      await page.keyboard.press('ArrowRight')
      await heading(page, 'b.jpg').waitFor()
      await until(async () => (await widthOf(page, 'b.jpg')) === 1024 || (await widthOf(page, 'b.jpg')))
      await button(page, 'Zoom in').click()
      await until(async () => (await widthOf(page, 'b.jpg')) === 2000 || (await widthOf(page, 'b.jpg')))

      await button(page, 'Next file').click()
      await page.locator('.file-card').getByText('No preview for this type of file').waitFor()
      await isGood(t, page)
      t.equal(await button(page, 'Next file').count(), 0)

      await button(page, 'Share…').click()
      await dialog(page).getByRole('button', { name: 'Cancel' }).click()
      await button(page, 'Delete').click()
      await dialog(page).getByRole('button', { name: 'Delete' }).click()
      await heading(page, 'b.jpg').waitFor()
      await page.getByText('2 of 2', { exact: true }).waitFor()
      t.same(await names(), ['a.jpg', 'b.jpg', 'folder'])

      const touch = await page.context().newCDPSession(page)
      const points = (x: number) => [{ x, y: 400 }]
      await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: points(100) })
      await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: points(250) })
      await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await heading(page, 'a.jpg').waitFor()
      t.same(page.faults, [])
    }
  })

  atNight(t, 'a PDF document is searched, and small pictures lead to its pages', async t => {
    const words = Array.from({ length: 12 }, (_, index) => (index === 8 ? 'Harbor' : `Word ${index + 1}`))
    // So large that only parts of it are read.
    const large = `${pdfOf(words)}\n%${'x'.repeat(3_000_000)}`
    const { page: address } = await store('paper', { 'paper.pdf': pdfOf(words), 'large.pdf': large })
    for (const viewport of inTurn(widths)) {
      const page = await open(t, { viewport })
      const ranges: string[] = []
      page.on('request', request => ranges.push(request.headers().range ?? ''))
      for (const name of inTurn(['paper.pdf', 'large.pdf'])) {
        await page.goto(`${address}?file=${name}`)
        await page.locator('.pdf-text').getByText('Word 1', { exact: true }).waitFor()
        await page.getByLabel('Search the document').fill('harb')
        await page.getByText('1 of 1', { exact: true }).waitFor()
        await page.locator('.pdf-text').getByText('Harbor').waitFor()
        await until(async () => (await page.getByLabel('Page number').inputValue()) === '9')
        t.ok(await page.evaluate(() => CSS.highlights.get('pdf-current-match')?.size), 'the word is marked')
        const pages = page.getByRole('navigation', { name: 'Pages' })
        if ((await pages.count()) === 0) await button(page, 'Pages').click()
        await isGood(t, page)
        await pages.getByRole('button', { name: 'Go to page 2' }).click()
        await until(async () => (await page.getByLabel('Page number').inputValue()) === '2')
        if (name === 'large.pdf') t.ok(ranges.some(range => /^bytes=\d+-/.test(range)))
      }
    }
  })

  t.test('archives, books and fonts have viewers in which nothing runs', async t => {
    const font = await readFile(
      createRequire(import.meta.url).resolve('pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf'),
    )
    const {
      id,
      page: address,
      at,
    } = await store('kinds', {
      'set/a.txt': 'a',
      'set/deep/b.txt': 'bb',
      'set/deep/c.txt': 'ccc',
      'META-INF/container.xml':
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
      'OPS/book.opf': opf,
      'OPS/nav.xhtml': xhtml(
        '<nav><a href="text/one.xhtml">At the harbor</a><a href="text/two.xhtml">At sea</a></nav>',
      ),
      'OPS/text/one.xhtml': xhtml(hostileChapter),
      'OPS/text/two.xhtml': `<!DOCTYPE html [<!ENTITY boat "Boats">]>${xhtml('<p>Waves and &boat;</p>')}`,
      'timeless.tar': timelessTape(),
      'OPS/dot.png': await twoColors(8, 8).png().toBuffer(),
      'sans.ttf': font,
      'bad.zip': 'PK no archive',
      'bad.epub': 'x',
      'bad.ttf': 'x',
      'bad.tar': 'x'.repeat(2000),
    })
    const zip = async (paths: readonly string[]) => {
      const body = JSON.stringify({ providerId: id, paths })
      const headers = { 'content-type': 'application/json' }
      const archive = await app.request('/api/download/archive', { method: 'POST', token: owner.token, headers, body })
      return Buffer.from(await archive.arrayBuffer())
    }
    await writeFile(at('set.zip'), await zip(['/set']))
    await writeFile(at('sea.epub'), await zip(['/META-INF', '/OPS']))
    await promisify(execFile)('tar', ['-czf', at('set.tar.gz'), '-C', at('.'), 'set'])
    for (const viewport of inTurn(widths)) {
      const page = await open(t, { viewport })
      const asked: string[] = []
      page.on('request', request => asked.push(request.url()))
      for (const name of ['set.zip', 'set.tar.gz']) {
        await page.goto(`${address}?file=${name}`)
        await page.getByText('3 files, 6 B').waitFor()
        const listing = page.getByRole('region', { name, exact: true }).first()
        await listing.getByRole('button', { name: 'set', exact: true }).click()
        await listing.getByText('a.txt').waitFor()
        await listing.getByRole('button', { name: 'deep', exact: true }).click()
        await listing.getByText('c.txt').waitFor()
        await isGood(t, page)
      }

      await page.goto(`${address}?file=timeless.tar`)
      await page.getByText('timeless.txt').waitFor()

      await page.goto(`${address}?file=sea.epub`)
      await page.getByText('The sea').waitFor()
      const chapter = page.frameLocator('iframe')
      await chapter.getByRole('heading', { name: 'The harbor' }).waitFor()
      t.equal(await page.locator('iframe').getAttribute('sandbox'), '')
      t.equal(await chapter.locator('img[src^="data:image/png"]').count(), 1)
      t.equal(await chapter.locator('script, iframe, form, input, a[href], [onclick], img[src^="http"]').count(), 0)
      await page.getByLabel('Chapter', { exact: true }).selectOption({ label: 'At sea' })
      await chapter.getByText('Waves and &boat;').waitFor()
      t.notMatch(await page.title(), /ran/)
      await isGood(t, page)

      await page.goto(`${address}?file=sans.ttf`)
      await page.getByLabel('Your text').fill('Grüße')
      await page.locator('.font-sample').getByText('Grüße').first().waitFor()
      await isGood(t, page)
      t.same(
        asked.filter(url => !url.startsWith(app.url) && !url.startsWith('data:') && !url.startsWith('blob:')),
        [],
        'nothing asks another server',
      )
      for (const [name, note] of [
        ['bad.zip', 'This archive cannot be listed'],
        ['bad.tar', 'This archive cannot be listed'],
        ['bad.epub', 'This book cannot be shown'],
        ['bad.ttf', 'This browser cannot show the font'],
      ] as const) {
        await page.goto(`${address}?file=${name}`)
        await page.locator('.file-card').getByText(note).waitFor()
      }
      t.same(page.faults, [])
    }
  })

  atNight(t, 'a photo tells what the camera has stored, and music has a queue', async t => {
    const photo = await twoColors(300, 200)
      .withExif({
        IFD0: { Make: 'Acme', Model: 'Alpha 7' },
        IFD2: {
          FNumber: '28/10',
          ExposureTime: '1/250',
          ISOSpeedRatings: '200',
          DateTimeOriginal: '2026:07:01 12:30:00',
        },
        IFD3: {
          GPSLatitudeRef: 'N',
          GPSLatitude: '52/1 31/1 12/1',
          GPSLongitudeRef: 'W',
          GPSLongitude: '13/1 24/1 18/1',
        },
      })
      .jpeg()
      .toBuffer()
    const cover = await twoColors(100, 100).png().toBuffer()
    const { page: address } = await store('facts', {
      'a.jpg': photo,
      'one.mp3': songWithCover(cover),
      'two.mp3': songWithCover(cover),
    })
    for (const viewport of inTurn(widths)) {
      const page = await open(t, { viewport })
      await page.goto(`${address}?file=a.jpg`)
      await heading(page, 'a.jpg').waitFor()
      await button(page, 'Information').click()
      const facts = page.getByRole('region', { name: 'Photo' })
      await facts.getByText('Acme Alpha 7').waitFor()
      await facts.getByText('1/250 s · f/2.8 · ISO 200').waitFor()
      await facts.getByText('52.5200° N, 13.4050° W').waitFor()
      await isGood(t, page)

      await page.goto(`${address}?file=one.mp3`)
      const queue = page.getByRole('navigation', { name: 'Queue' })
      await queue.getByRole('button', { name: 'two.mp3' }).waitFor()
      await page.locator('.audio-player .audio-cover img').waitFor()
      await page.evaluate(() => {
        const audio = document.querySelector('audio')
        audio?.dispatchEvent(new Event('ended'))
      })
      await heading(page, 'two.mp3').waitFor()
      await isGood(t, page)
    }
  })

  atNight(t, 'a slideshow shows each photo, at both widths', async t => {
    const photo = await twoColors(300, 200).jpeg().toBuffer()
    const { page: address } = await store('slides', { 'a.jpg': photo, 'b.jpg': photo, 'c.txt': 'x' })
    for (const viewport of widths) {
      const page = await open(t, { viewport })
      await page.goto(`${address}?file=a.jpg`)
      await button(page, 'Slideshow').click()
      await heading(page, 'b.jpg').waitFor()
      await heading(page, 'a.jpg').waitFor()
      await button(page, 'Stop the slideshow').click()
      await isGood(t, page)
    }
  })
}
