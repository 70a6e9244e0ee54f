/** Helpers for tests of the file pages. Each test file has its own server. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import type { Test } from 'tap'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { isAccessible, startBrowser, type Visit, visit } from './browser.ts'

export const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
export const pick = (page: Page, name: string, modifiers: ('Shift' | 'Control')[] = []) =>
  row(page, name).getByRole('checkbox').click({ modifiers })
export const names = (page: Page) => page.locator('.file-rows .cell-name a').allTextContents()
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
/** The page itself, without the frame. The navigation has links to all storages, too. */
export const main = (page: Page) => page.getByRole('main')
/** Chooses how the entries of a folder are shown. */
export const chooseView = (page: Page, name: 'List' | 'Compact' | 'Tiles' | 'Gallery') =>
  page.getByRole('radiogroup', { name: 'View' }).getByRole('radio', { name }).check()

/** Returns the navigation, which a narrow window shows after a press. */
export async function openNavigation(page: Page) {
  const isWide = await page.evaluate(() => matchMedia('(min-width: 64rem)').matches)
  if (!isWide) await button(page, 'Menu').click()
  return page.getByRole('navigation', { name: 'Main' })
}

/** Asks for a new folder: in the toolbar, or with the large button of a phone. */
export async function startFolder(page: Page): Promise<void> {
  const hasToolbar = await page.evaluate(() => matchMedia('(min-width: 40.01rem), (max-height: 32rem)').matches)
  if (hasToolbar) await button(page, 'New folder').click()
  else {
    await button(page, 'Add').click()
    await page.getByRole('menuitem', { name: 'New folder' }).click()
  }
}

export async function signOut(page: Page): Promise<void> {
  await button(page, 'Account').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
}

/** Types over a text as a person does, so that the field is validated when it loses the focus to the next press. */
export async function correct(field: Locator, text: string): Promise<void> {
  await field.selectText()
  await field.pressSequentially(text)
}

/** The row with the keyboard focus. */
export const focusedRow = (page: Page) => page.locator('.file-row.focused')
/** Finds the open dialog. Notifications have the role of an alert dialog, too, so the class is needed. */
export const dialog = (page: Page) => page.locator('.modal').locator('[role=dialog], [role=alertdialog]')

/** Checks a page that a person sees. */
export async function isGood(t: Test, page: Visit): Promise<void> {
  await isAccessible(t, page, page.url())
  t.same(page.faults, [], 'no script fails')
}

export interface TestStore {
  id: string
  /** The path of its page. */
  page: string
  /** Returns the path of an entry on the disk. */
  at(path: string): string
  /** Returns the sorted names in a folder, without the folders of unfinished uploads and of deleted entries. */
  names(path?: string): Promise<string[]>
}

export interface FilesApp {
  app: TestApp
  browser: Browser
  owner: Awaited<ReturnType<TestApp['register']>>
  /** Opens a window, signed in as the owner by default. */
  open(t: Test, options?: Parameters<typeof visit>[2]): Promise<Visit>
  /** Connects a provider that contains these files. */
  store(name: string, files?: Record<string, string | Buffer>): Promise<TestStore>
}

/** Returns null if there is no browser. */
export async function startFiles(t: Test, options: TestAppOptions = {}): Promise<FilesApp | null> {
  const browser = await startBrowser(t)
  if (!browser) return null
  const app = await startApp(t, options)
  const owner = await app.register('owner@example.org')
  return {
    app,
    browser,
    owner,
    async open(t, options = {}) {
      const page = await visit(browser, app, { token: owner.token, ...options })
      t.teardown(() => page.context().close())
      return page
    },
    async store(name, files = {}) {
      const root = join(app.folder, name)
      await mkdir(root)
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true })
        await writeFile(join(root, path), content)
      }
      const id = await app.connectProvider(owner.token, 'local', { root }, name)
      return {
        id,
        page: `/files/${id}`,
        at: path => join(root, path),
        names: async (path = '.') =>
          (await readdir(join(root, path))).filter(name => !/^\.stowage-(?:staging|trash)$/.test(name)).sort(),
      }
    },
  }
}
