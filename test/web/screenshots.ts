/**
 * Takes pictures of every page of the console in four forms, 1280 and 390 pixels wide in light and in dark colors, from one workspace:
 * `npm run screenshots`. They go to the folder `screenshots`, and those that the guides show to `docs/images`.
 * `SCREENSHOTS=<folder> npx tap test/web/screenshots.ts` leaves the guides as they are, `PAGES='trash|share'` takes only the pictures
 * whose names match, such as `wide-light/trash`, `FORMS='wide-light|large'` only these forms, of which those of three sizes are none of
 * the four, and `LOCALE=ar` another language, in which nothing is done on the pages.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext } from 'playwright-core'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { createServer } from 'vite'
import { until } from '../support/until.ts'
import { type Visit, visit } from './browser.ts'
import { type FilesApp, startFiles } from './files.ts'
import { guidePictures, imageOptions } from './pictures/guide.ts'
import type { PicturedPage } from './pictures/page.ts'
import { picturedPages } from './pictures/pages.ts'
import { makeWorld, type World } from './pictures/world.ts'

const isForGuides = process.env.SCREENSHOTS === undefined
const folder = process.env.SCREENSHOTS ?? 'screenshots'
const images = join(import.meta.dirname, '../../docs/images')
const only = new RegExp(process.env.PAGES ?? '')
const onlyForms = new RegExp(process.env.FORMS ?? '^(?:wide|phone)-')
const locale = process.env.LOCALE ?? 'en-GB'
const isEnglish = locale.startsWith('en')
/** Milliseconds: all pages in four forms take half an hour on a slow machine. */
t.setTimeout(3 * 60 * 60_000)

const sizes = {
  wide: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
  large: { width: 1920, height: 1080 },
  // A window of 1280 × 800 at a zoom of 200 %.
  zoomed: { width: 640, height: 400 },
  sideways: { width: 844, height: 390 },
}
const forms = Object.entries(sizes)
  .flatMap(([size, viewport]) => (['light', 'dark'] as const).map(colorScheme => ({ size, viewport, colorScheme })))
  .filter(({ size, colorScheme }) => onlyForms.test(`${size}-${colorScheme}`))
type Form = (typeof forms)[number]

const files = await startFiles(t, { settings: { catalogueHours: 24 } })
if (files) {
  const world = await makeWorld(files)
  for (const form of forms) {
    t.test(`pages at ${form.size} width in ${form.colorScheme} colors`, async t => {
      const options = { viewport: form.viewport, colorScheme: form.colorScheme, locale }
      // Windows of one context read the files of the console once.
      const member = (await files.open(t, options)).context()
      for (const [name, page] of pagesOf(form)) {
        await t.test(name, t => takePage(t, form, name, page, world, member))
      }
      if (isAsked(form, 'design')) await t.test('design', t => takeDesign(t, form, files))
    })
  }
}

const isAsked = ({ size, colorScheme }: Form, name: string) => only.test(`${size}-${colorScheme}/${name}`)

function pagesOf(form: Form): [string, PicturedPage][] {
  return Object.entries(picturedPages).filter(([name]) => isAsked(form, name))
}

async function takePage(
  t: Test,
  form: Form,
  name: string,
  [path, act, options = {}]: PicturedPage,
  world: World,
  member: BrowserContext,
): Promise<void> {
  const { browser, app } = world.files
  const { viewport, colorScheme } = form
  const isAlone = options.isPublic || options.hasWorker
  const page = isAlone
    ? await visit(browser, app, {
        viewport,
        colorScheme,
        locale,
        ...(options.hasWorker && { token: world.token, serviceWorkers: 'allow' }),
      })
    : Object.assign(await member.newPage(), { faults: [] })
  t.teardown(async () => {
    if (isAlone) return page.context().close()
    // The next page begins as in a new browser.
    await page.evaluate(async () => {
      localStorage.clear()
      await Promise.all((await caches.keys()).map(key => caches.delete(key)))
    })
    await page.close()
  })
  page.setDefaultTimeout(30_000)
  await page.goto(typeof path === 'string' ? path : path(world.places))
  await page.locator('main').first().waitFor()
  // The actions find what they need by its English texts.
  if (isEnglish) await act?.(page, world)
  await take(page, form, name)
}

/** Takes the page of all components, which only developers have. */
async function takeDesign(t: Test, { viewport, colorScheme, ...form }: Form, { browser }: FilesApp): Promise<void> {
  const server = await createServer({ root: 'web', logLevel: 'error', server: { port: 0, host: '127.0.0.1' } })
  t.teardown(() => server.close())
  await server.listen()
  const page = await visit(browser, { url: server.resolvedUrls?.local[0] ?? '' }, { viewport, colorScheme, locale })
  t.teardown(() => page.context().close())
  await page.goto('/design')
  await page.getByRole('heading', { name: 'Types of storage' }).waitFor()
  await take(page, { viewport, colorScheme, ...form }, 'design', true)
}

async function take(page: Visit, { size, colorScheme }: Form, name: string, fullPage = false): Promise<void> {
  await untilStill(page)
  const target = join(folder, `${size}-${colorScheme}`)
  await mkdir(target, { recursive: true })
  const picture = await page.screenshot({ path: join(target, `${name}.png`), animations: 'disabled', fullPage })
  if (!isForGuides || !isEnglish) return
  const form = `${size}-${colorScheme}`
  for (const { image, picture: shown } of guidePictures) {
    if (shown !== `${form}/${name}`) continue
    await sharp(picture).webp(imageOptions).toFile(join(images, image))
  }
}

/** Waits until the texts of the page stay the same and its pictures are loaded. A folder follows its changes with a request that does not end. */
async function untilStill(page: Visit): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  let before: string | null = null
  let repeats = 0
  const isStill = async () => {
    const text = await page.evaluate(
      () => `${[...document.images].filter(({ complete }) => !complete).length} ${document.body.textContent}`,
    )
    repeats = text === before ? repeats + 1 : 0
    before = text
    return repeats >= 6
  }
  await until(isStill, { every: 50 })
}
