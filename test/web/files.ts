/** Pages of files on a server of their own, and what is found on them. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { axeViolations, startBrowser, type Visit, visit } from './browser.ts'

export const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByTitle(name, { exact: true }) })
export const pick = (page: Page, name: string) =>
  page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).click()
export const names = (page: Page) => page.locator('.file-rows .cell-name a').allTextContents()
export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
/** Messages that go by themselves are alert dialogs, too. */
export const dialog = (page: Page) => page.locator('.modal').locator('[role=dialog], [role=alertdialog]')

export async function isGood(t: Test, page: Visit): Promise<void> {
  t.same(await axeViolations(page), [], 'axe finds nothing')
  t.same(page.faults, [], 'nothing broke')
}

export interface TestStore {
  id: string
  /** The address of its page. */
  page: string
  /** Where a file of it is on the disk. */
  at(path: string): string
  /** The names of what it has, in order; where uploads wait to be complete is left out. */
  names(path?: string): Promise<string[]>
}

export interface FilesApp {
  app: TestApp
  owner: Awaited<ReturnType<TestApp['register']>>
  /** A window of the owner, unless there is another token. */
  open(t: Test, options?: Parameters<typeof visit>[2]): Promise<Visit>
  /** Connects a provider with these files in it. */
  store(name: string, files?: Record<string, string | Buffer>): Promise<TestStore>
}

/** Null where there is no browser. */
export async function startFiles(t: Test): Promise<FilesApp | null> {
  const browser = await startBrowser(t)
  if (!browser) return null
  const app = await startApp(t)
  const owner = await app.register('owner@example.org')
  return {
    app,
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
          (await readdir(join(root, path))).filter(name => name !== '.stowage-staging').sort(),
      }
    },
  }
}
