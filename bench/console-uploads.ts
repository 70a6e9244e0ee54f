import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Installation, install, makeFile } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'

const mib = 1024 * 1024
const largeBytes = 1024 * mib
const smallFiles = 200
const smallBytes = 10_000

export const consoleUploads: Part = {
  title: 'Uploads in the console',
  about: `Chromium uploads 1 GiB, with the console and in one request of the same page, and ${smallFiles} files of ${smallBytes / 1000} KB, which
curl sends four at once.`,
  async measure({ rounds, say }) {
    const executablePath = await findProgram('chromium-headless-shell')
    if (!executablePath) {
      say('Uploads in the console are skipped: they need chromium-headless-shell.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const browser = stack.adopt(await chromium.launch({ executablePath, args: ['--no-sandbox'] }), each => each.close())
    const { folder } = installation
    const large = join(folder, 'large.bin')
    await makeFile(large, largeBytes)
    await mkdir(join(folder, 'small'))
    const small = Array.from({ length: smallFiles }, (_, index) => join(folder, 'small', `${index}.bin`))
    for (const path of small) await writeFile(path, Buffer.alloc(smallBytes, 7))

    say('  1 GiB')
    const inMegabytes = async (seconds: Promise<number>) => largeBytes / 1e6 / (await seconds)
    const streams = await interleave(rounds, {
      'one request': () => inMegabytes(inPage(browser, installation, page => sendAtOnce(page, installation, large))),
      console: () => inMegabytes(inPage(browser, installation, page => upload(page, [large]))),
    })
    say('  small files')
    const perSecond = async (seconds: Promise<number>) => smallFiles / (await seconds)
    const many = await interleave(rounds, {
      curl: () => perSecond(inFolder(installation, () => sendWithCurl(installation, small))),
      console: () => perSecond(inPage(browser, installation, page => upload(page, small))),
    })
    return [
      { what: '1 GiB: one request', figures: streams['one request'], unit: 'MB/s' },
      {
        what: '1 GiB: the console',
        figures: streams.console,
        unit: 'MB/s',
        against: { what: 'one request', figures: streams['one request'] },
      },
      { what: 'small files: curl', figures: many.curl, unit: 'files/s' },
      {
        what: 'small files: the console',
        figures: many.console,
        unit: 'files/s',
        against: { what: 'curl', figures: many.curl },
      },
    ]
  },
}

/** Runs `work` and deletes the files that it uploads. Resolves with its result. */
async function inFolder({ files }: Pick<Installation, 'files'>, work: () => Promise<number>): Promise<number> {
  const folder = join(files, 'up')
  await mkdir(folder)
  try {
    return await work()
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Runs `work` in a new window, signed in at the folder for uploads. */
function inPage(browser: Browser, installation: Installation, work: (page: Page) => Promise<number>): Promise<number> {
  const { stowage, session, providerId } = installation
  return inFolder(installation, async () => {
    const context = await browser.newContext()
    try {
      const cookie = { name: 'stowage_session', value: session, url: stowage.url, httpOnly: true, sameSite: 'Strict' }
      await context.addCookies([cookie as typeof cookie & { sameSite: 'Strict' }])
      const page = await context.newPage()
      await page.goto(`${stowage.url}/files/${providerId}/up`)
      await page.getByText('This folder is empty').waitFor()
      return await work(page)
    } finally {
      await context.close()
    }
  })
}

/** Resolves with the seconds until the panel says that the uploads are complete. */
async function upload(page: Page, paths: readonly string[]): Promise<number> {
  await page.evaluate(() => {
    const input = document.querySelector('#files-to-upload')
    const state = { start: 0, end: 0 }
    Object.assign(globalThis, { measured: state })
    input?.addEventListener('change', () => Object.assign(state, { start: performance.now() }), { capture: true })
    new MutationObserver(() => {
      const title = document.querySelector('.dock-head h2')?.textContent ?? ''
      if (state.end === 0 && title.endsWith('complete')) state.end = performance.now()
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  })
  await page.locator('#files-to-upload').setInputFiles([...paths])
  const seconds = await page.waitForFunction(
    () => {
      const { start, end } = (globalThis as unknown as { measured: { start: number; end: number } }).measured
      return end > 0 && (end - start) / 1000
    },
    null,
    { timeout: 300_000 },
  )
  return Number(await seconds.jsonValue())
}

/** Resolves with the seconds of one request with the file. */
async function sendAtOnce(page: Page, { providerId }: Installation, path: string): Promise<number> {
  await page.evaluate(() => {
    const input = Object.assign(document.createElement('input'), { type: 'file', id: 'at-once' })
    document.body.append(input)
  })
  await page.locator('#at-once').setInputFiles(path)
  const url = `/api/upload/proxy?${new URLSearchParams({ providerId, path: '/up/large.bin' })}`
  return await page.evaluate(async url => {
    const [body] = document.querySelector<HTMLInputElement>('#at-once')?.files ?? []
    const start = performance.now()
    const headers = { 'content-type': 'application/octet-stream', 'x-stowage-console': '1' }
    const response = await fetch(url, { method: 'POST', headers, body: body ?? null })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    await response.text()
    return (performance.now() - start) / 1000
  }, url)
}

/** Resolves with the seconds that curl takes for all files, four at once. */
async function sendWithCurl({ stowage, key, providerId, folder }: Installation, paths: readonly string[]) {
  const config = join(folder, 'curl.conf')
  const url = (index: number) =>
    `${stowage.url}/api/upload/proxy?${new URLSearchParams({ providerId, path: `/up/${index}.bin` })}`
  const request = (path: string, index: number) =>
    `url = "${url(index)}"\nrequest = "POST"\nupload-file = "${path}"\nheader = "Authorization: Bearer ${key}"\noutput = "/dev/null"\n`
  await writeFile(config, paths.map(request).join('next\n'))
  const start = performance.now()
  await run('curl', ['-sS', '--fail', '--parallel', '--parallel-max', '4', '--config', config])
  return (performance.now() - start) / 1000
}
