import { readFile } from 'node:fs/promises'
import t from 'tap'
import { readWithPython, requireArchivers } from '../http/archive-tools.ts'
import { atNight, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { button, dialog, isGood, pick, row, startFiles } from './files.ts'

/** A PDF file with one page and one word. */
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 41>>stream
BT /F 80 Tf 20 100 Td (Invoice) Tj ET   
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
%%EOF`

/** Returns a PDF file with that many empty pages. */
function longPdf(pages: number): string {
  const ids = Array.from({ length: pages }, (_, n) => n + 3)
  return `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[${ids.map(id => `${id} 0 R`).join(' ')}]/Count ${pages}>>endobj
${ids.map(id => `${id} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]>>endobj`).join('\n')}
trailer<</Root 1 0 R>>
%%EOF`
}

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

await requireArchivers()

const files = await startFiles(t)
if (files) {
  const { app, owner, open, store } = files

  atNight(t, 'files download unchanged, and folders as ZIP archives', async t => {
    const { page: address } = await store('download', { 'data.bin': 'bytes', 'set/a.txt': 'a' })
    const page = await open(t)
    await page.goto(address)
    await page.getByRole('link', { name: 'data.bin' }).click()
    await page.getByText('No preview for this type of file').waitFor()
    await isGood(t, page)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.file-card').getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(file.suggestedFilename(), 'data.bin')
    t.equal(await readFile(await file.path(), 'utf8'), 'bytes')
    await page.keyboard.press('Escape')
    await pick(page, 'set')
    const [zip] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as ZIP').click()])
    t.equal(zip.suggestedFilename(), 'set.zip')
    t.equal((await readFile(await zip.path())).subarray(0, 2).toString(), 'PK')
  })

  atNight(t, 'many selected files are one download with its progress', async t => {
    const photos = Array.from({ length: 60 }, (_, n) => [`photo ${n}.jpg`, Buffer.alloc(20_000, n)] as const)
    const { page: address } = await store('photos', { ...Object.fromEntries(photos), 'trip/a.txt': 'a' })
    for (const viewport of inTurn([
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ])) {
      const page = await open(t, { viewport })
      const downloads: string[] = []
      page.on('download', file => downloads.push(file.suggestedFilename()))
      await page.goto(address)
      await row(page, 'photo 0.jpg').waitFor()
      await page.getByRole('grid').press('Control+a')
      await pick(page, 'trip')
      const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as ZIP').click()])
      t.equal(file.suggestedFilename(), 'photos.zip')
      const members = await readWithPython(await file.path())
      t.equal(members.length, 60)
      t.equal(members.find(({ name }) => name === 'photo 59.jpg')?.size, 20_000)
      const panel = page.getByRole('region', { name: 'Downloads' })
      await panel.getByText('1 download complete').waitFor()
      t.equal(await panel.getByRole('progressbar').getAttribute('aria-valuenow'), '100')
      await isGood(t, page)
      await panel.getByRole('button', { name: 'Close' }).click()
      await panel.waitFor({ state: 'detached' })

      // A folder has no known size, so the browser shows the progress itself.
      await pick(page, 'trip')
      const [whole] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as ZIP').click()])
      t.equal(whole.suggestedFilename(), 'photos.zip')
      t.ok((await readWithPython(await whole.path())).some(({ name }) => name === 'trip/a.txt'))
      t.equal(downloads.length, 2)
      t.same(page.faults, [])
    }

    const page = await open(t)
    await page.goto(address)
    await row(page, 'photo 0.jpg').waitFor()
    await page.route('**/api/download/archive', route =>
      route.fulfill({
        status: 503,
        json: { errors: [{ message: 'Too many.', extensions: { reason: 'TOO_MANY_ARCHIVES' } }] },
      }),
    )
    await page.getByRole('grid').press('Control+a')
    await pick(page, 'trip')
    await button(page, 'Download as ZIP').click()
    await page.getByRole('region', { name: 'Downloads' }).getByText('Too many.').waitFor()
    await isGood(t, page)
  })

  atNight(t, 'text, images, sound and PDF files have a preview', async t => {
    const files = {
      'page.html': '<script>document.title = "ran"</script>',
      'pixel.png': pixel,
      'sound.wav': wav(60),
      'paper.pdf': pdf,
      'latin-1.txt': Buffer.from('caf\xe9 na\xefve', 'latin1'),
      'people.csv': 'name;quote\n"Ann; of York";"she said ""no""\non two lines"\nBob;\n',
      'wide.txt': Buffer.from('\ufeffÅngström', 'utf16le'),
      'long.log': `${'line\n'.repeat(200_000)}the end`,
    }
    const { page: address } = await store('preview', files)
    const page = await open(t)
    await page.goto(address)
    await page.getByRole('link', { name: 'page.html' }).click()
    await page.locator('pre').filter({ hasText: '<script>document.title' }).waitFor()
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'pixel.png' }).click()
    const image = page.getByRole('img', { name: 'pixel.png' })
    await image.waitFor()
    await until(() => image.evaluate(shown => shown instanceof HTMLImageElement && shown.naturalWidth === 1))
    await isGood(t, page)
    await page.keyboard.press('ArrowRight')
    await page.locator('audio').waitFor()
    const position = await page.evaluate(async () => {
      const audio = document.querySelector('audio')
      if (!audio) return null
      if (audio.readyState < 1) await new Promise(resolve => audio.addEventListener('loadedmetadata', resolve))
      audio.currentTime = 42
      await new Promise(resolve => audio.addEventListener('seeked', resolve))
      return audio.currentTime
    })
    t.equal(position, 42)
    await isGood(t, page)
    await page.goto(`${address}?file=latin-1.txt`)
    await page.locator('pre').getByText('café naïve', { exact: true }).waitFor()
    await page.getByText('This file is not UTF-8').waitFor()
    await isGood(t, page)
    await page.goto(`${address}?file=people.csv`)
    const rows = page.getByRole('region', { name: 'people.csv' }).getByRole('row')
    await rows.first().waitFor()
    const cells = await rows.evaluateAll(all => all.map(row => [...row.children].map(cell => cell.textContent)))
    t.same(cells, [
      ['name', 'quote'],
      ['Ann; of York', 'she said "no"\non two lines'],
      ['Bob', ''],
    ])
    await isGood(t, page)
    await page.goto(`${address}?file=wide.txt`)
    await page.locator('pre').getByText('Ångström', { exact: true }).waitFor()
    await page.goto(`${address}?file=long.log`)
    await page.getByText('download the file for the rest').waitFor()
    t.notMatch(await page.locator('pre').textContent(), /the end/)
    await isGood(t, page)
    await page.goto(`${address}?file=paper.pdf`)
    const sheet = page.getByRole('img', { name: 'Page 1 of 1' })
    await sheet.waitFor()
    await page.locator('.pdf-text').getByText('Invoice').waitFor()
    const isDrawn = await sheet.evaluate((canvas: HTMLCanvasElement) =>
      canvas
        .getContext('2d')
        ?.getImageData(0, 0, canvas.width, canvas.height)
        .data.some((value, at) => at % 4 === 0 && value < 50),
    )
    t.ok(isDrawn, 'the word is drawn')
    await isGood(t, page)
  })

  atNight(t, 'a preview of a hostile file has a bounded number of elements', async t => {
    const quotations = '>'.repeat(200_000)
    const files = { 'commas.csv': ','.repeat(512 * 1024 - 1), 'deep.md': quotations, 'long.pdf': longPdf(450) }
    const { page: address } = await store('hostile', files)
    const page = await open(t)
    await page.goto(`${address}?file=commas.csv`)
    await page.getByText('524,188 more columns are not shown').waitFor()
    t.equal(await page.getByRole('region', { name: 'commas.csv' }).locator('thead td').count(), 100)
    await isGood(t, page)
    await page.goto(`${address}?file=deep.md`)
    await page.locator('.preview-body pre').waitFor()
    t.equal(await page.locator('.preview-body pre').textContent(), quotations, 'the text is shown as it is')
    await isGood(t, page)
    await page.goto(`${address}?file=long.pdf`)
    for (const count of [200, 400]) {
      await page.getByText(`${count} of 450 pages are shown.`).waitFor()
      t.equal(await page.getByRole('img', { name: /^Page \d+ of 450$/ }).count(), count)
      await isGood(t, page)
      await button(page, 'Show more').click()
    }
    await page.getByRole('img', { name: 'Page 450 of 450' }).waitFor({ state: 'attached' })
    t.equal(await button(page, 'Show more').count(), 0)
  })

  atNight(t, 'an image is scaled with buttons, keys, the wheel and two fingers', async t => {
    const { page: address } = await store('zoom', { 'shown.png': pixel, 'before.png': pixel })
    for (const viewport of inTurn([
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ])) {
      const page = await open(t, { viewport, hasTouch: true })
      await page.goto(`${address}?file=shown.png`)
      const image = page.getByRole('img', { name: 'shown.png' })
      await image.waitFor()
      const scale = () =>
        image.evaluate(element => Math.round(new DOMMatrix(getComputedStyle(element).transform).a * 100) / 100)
      t.equal(await scale(), 1)
      await button(page, 'Zoom in').click()
      t.equal(await scale(), 1.5)
      await page.keyboard.press('+')
      t.equal(await scale(), 2.25)
      await page.keyboard.press('0')
      t.equal(await scale(), 1)
      await image.dblclick()
      t.equal(await scale(), 3)
      await page.mouse.move(viewport.width / 2, viewport.height / 2)
      await page.mouse.wheel(0, 10_000)
      await until(async () => (await scale()) === 1)
      const finger = await page.context().newCDPSession(page)
      const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...xs: number[]) =>
        finger.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: xs.map((x, id) => ({ x: viewport.width / 2 + x, y: viewport.height / 2, id })),
        })
      await touch('touchStart', -40, 40)
      await touch('touchMove', -80, 80)
      await touch('touchEnd')
      await until(async () => (await scale()) === 2 || `a scale of ${await scale()}`)
      await isGood(t, page)
      await page.keyboard.press('ArrowLeft')
      await page.getByRole('img', { name: 'before.png' }).waitFor()
      await button(page, '100%, fit to the window').waitFor()
    }
  })

  t.test('Markdown is shown as a document that runs and loads nothing, and code in colors', async t => {
    const markdown = `# Title

**bold** and [a link](https://example.org/x "title") and [a script](javascript:document.title='ran') and [data](data:text/html;base64,PHNjcmlwdD4=)

<script>document.title = 'ran'</script><img src="x" alt="a plan" onerror="document.title = 'ran'">
<form action="/console/session"><input name="x"></form><style>body { display: none }</style>
<a href="https://example.org/y" style="position: fixed" id="root" onclick="document.title = 'ran'">another</a>
<iframe src="https://example.org"></iframe><svg><script>document.title = 'ran'</script></svg>
<math><mtext><table><mglyph><style><img src=x onerror="document.title = 'ran'"></style></mglyph></table></mtext></math>
<a href="&#1;java&#10;script:document.title='ran'">a hidden script</a>
<meta http-equiv="refresh" content="0; url=https://example.org"><base href="https://example.org">
<link rel="stylesheet" href="https://example.org/style.css"><object data="https://example.org/object"></object>
<picture><source srcset="https://example.org/source.png"></picture><video poster="https://example.org/poster.png"></video>

![a counter](https://example.org/counter.png)

- [x] packed
- [ ] sent

| a | b |
|---|---|
| 1 | 2 |

<table background="https://example.org/table.png"><tr><td background="https://example.org/cell.png">3</td></tr></table>
`
    const code = 'export const answer: number = 42 // the answer\n'
    const { page: address } = await store('documents', { 'read me.md': markdown, 'answer.ts': code })
    for (const [viewport, colorScheme] of inTurn([
      [{ width: 1280, height: 800 }, 'light'],
      [{ width: 390, height: 844 }, 'dark'],
    ] as const)) {
      const page = await open(t, { viewport, colorScheme })
      const requested: string[] = []
      page.on('request', request => requested.push(request.url()))
      await page.goto(`${address}?file=read%20me.md`)
      const document = page.getByRole('article', { name: 'read me.md' })
      await document.getByRole('heading', { name: 'Title' }).waitFor()
      await document.getByRole('cell', { name: '2' }).waitFor()
      await document.getByRole('cell', { name: '3' }).waitFor()
      await document.getByText('[image: a plan]').waitFor()
      await document.getByText('[image: a counter]').waitFor()
      t.same(await document.getByRole('listitem').allTextContents(), ['☑ packed', '☐ sent'])
      const links = await document
        .locator('a')
        .evaluateAll(all => all.map(link => [...link.attributes].map(({ name, value }) => `${name}=${value}`).sort()))
      const opensApart = ['rel=noopener noreferrer nofollow', 'target=_blank']
      t.same(links, [
        ['href=https://example.org/x', ...opensApart, 'title=title'].sort(),
        opensApart,
        opensApart,
        ['href=https://example.org/y', ...opensApart],
        opensApart,
      ])
      const parts = await document.evaluate(element =>
        [...element.querySelectorAll('*')].flatMap(({ tagName, attributes }) => [
          tagName.toLowerCase(),
          ...[...attributes].map(({ name }) => name),
        ]),
      )
      const tags = ['a', 'h1', 'li', 'p', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul']
      t.same([...new Set(parts)].sort(), [...tags, 'href', 'rel', 'target', 'title'].sort())
      t.notMatch(await page.title(), /ran/)
      t.same(
        requested.filter(url => !url.startsWith(app.url)),
        [],
        'nothing is loaded from elsewhere',
      )
      // The browser reports what the inert document of its parser may not do.
      t.same(
        page.faults.filter(fault => !/violates the following Content Security Policy/.test(fault)),
        [],
      )
      page.faults.length = 0
      await isGood(t, page)
      await button(page, 'Edit').click()
      await page.getByLabel('Text of read me.md').waitFor()
      t.equal(await page.getByLabel('Text of read me.md').inputValue(), markdown)
      await page.goto(`${address}?file=answer.ts`)
      await page.locator('pre[data-language=typescript]').waitFor()
      t.equal(await page.locator('pre').textContent(), code)
      const colors = await page.locator('pre span').evaluateAll(all => all.map(span => getComputedStyle(span).color))
      t.ok(new Set(colors).size > 3, 'words have different colors')
      await isGood(t, page)
    }
  })

  atNight(t, 'a text is edited, and a version of somebody else is never replaced', async t => {
    const { id, page: address, at } = await store('edit', { 'empty.txt': '', 'windows.txt': 'one\r\ntwo\r\n' })
    const read = (name: string) => readFile(at(name), 'utf8')
    for (const [n, viewport] of inTurn([
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]).entries()) {
      const name = `notes ${n}.txt`
      await app.upload(owner.token, id, `/${name}`, 'first')
      const page = await open(t, { viewport })
      await page.goto(`${address}?file=${encodeURIComponent(name)}`)
      await button(page, 'Edit').click()
      const editor = page.getByLabel(`Text of ${name}`)
      await editor.fill('second')
      await isGood(t, page)
      await button(page, 'Save').click()
      await page.locator('pre').getByText('second', { exact: true }).waitFor()
      t.equal(await read(name), 'second')

      await button(page, 'Edit').click()
      await editor.fill('third')
      await page.keyboard.press('Escape')
      await page.getByRole('alertdialog').getByText('are not saved').waitFor()
      await isGood(t, page)
      await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
      await app.upload(owner.token, id, `/${name}`, 'of somebody else', '&conflict=replace')
      await editor.press('Control+s')
      await page.getByText('Somebody else changed this file').waitFor()
      await isGood(t, page)
      t.equal(await read(name), 'of somebody else')
      await button(page, 'Save as a copy').click()
      await page.getByText(`Saved as “notes ${n} (1).txt”`).waitFor()
      t.equal(await read(`notes ${n} (1).txt`), 'third')
      await page.locator('pre').getByText('of somebody else', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await row(page, `notes ${n} (1).txt`).waitFor()
    }

    const page = await open(t)
    await page.goto(`${address}?file=windows.txt`)
    await button(page, 'Edit').click()
    await page.getByLabel('Text of windows.txt').fill('one\ntwo\nthree\n')
    await button(page, 'Save').click()
    await page.locator('pre').getByText('three').waitFor()
    t.equal(await read('windows.txt'), 'one\r\ntwo\r\nthree\r\n', 'line endings are kept')
    await page.goto(`${address}?file=empty.txt`)
    await button(page, 'Edit').click()
    await page.getByLabel('Text of empty.txt').fill('no longer')
    await button(page, 'Save').click()
    await page.locator('pre').getByText('no longer').waitFor()
    t.equal(await read('empty.txt'), 'no longer')

    const { id: readerId, token } = await app.register('reader@example.org')
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(update, { input: { userId: readerId, role: 'VIEWER' } }, owner.token)
    const reader = await open(t, { token })
    await reader.goto(`${address}?file=empty.txt`)
    await reader.locator('pre').getByText('no longer').waitFor()
    t.equal(await button(reader, 'Edit').count(), 0)
    t.same(page.faults, [])
  })
}

/** Returns a WAV file with that many seconds of silence: 8 bits, mono, 8 kHz. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44)
  const size = seconds * 8000
  head.write('RIFF')
  head.writeUInt32LE(36 + size, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(size, 40)
  return Buffer.concat([head, Buffer.alloc(size, 128)])
}
