import { readFile } from 'node:fs/promises'
import t from 'tap'
import { readWithPython, requireArchivers } from '../http/archive-tools.ts'
import { button, dialog, isGood, pick, row, startFiles } from './files.ts'

/** A PDF file with one empty page. */
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]>>endobj
trailer<</Root 1 0 R>>
%%EOF`

await requireArchivers()

const files = await startFiles(t)
if (files) {
  const { open, store } = files

  t.test('files download unchanged, and folders as ZIP archives', async t => {
    const { page: address } = await store('download', { 'data.bin': 'bytes', 'set/a.txt': 'a' })
    const page = await open(t)
    await page.goto(address)
    await page.getByRole('link', { name: 'data.bin' }).click()
    await page.getByText('No preview for this type of file').waitFor()
    await isGood(t, page)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.no-preview').getByRole('button', { name: 'Download' }).click(),
    ])
    t.equal(file.suggestedFilename(), 'data.bin')
    t.equal(await readFile(await file.path(), 'utf8'), 'bytes')
    await page.keyboard.press('Escape')
    await pick(page, 'set')
    const [zip] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as ZIP').click()])
    t.equal(zip.suggestedFilename(), 'set.zip')
    t.equal((await readFile(await zip.path())).subarray(0, 2).toString(), 'PK')
  })

  t.test('many selected files are one download with its progress', async t => {
    const photos = Array.from({ length: 60 }, (_, n) => [`photo ${n}.jpg`, Buffer.alloc(20_000, n)] as const)
    const { page: address } = await store('photos', { ...Object.fromEntries(photos), 'trip/a.txt': 'a' })
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
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

  t.test('text, images, sound and PDF files have a preview', async t => {
    const files = {
      'page.html': '<script>document.title = "ran"</script>',
      'pixel.png': Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
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
    await page.getByText('<script>document.title').waitFor()
    await isGood(t, page)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'pixel.png' }).click()
    const image = page.getByRole('img', { name: 'pixel.png' })
    await image.waitFor()
    await page.waitForFunction(() => document.querySelector('img')?.naturalWidth === 1)
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
    await page.locator('iframe, .preview-note').waitFor()
    await isGood(t, page)
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
