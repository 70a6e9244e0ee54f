import type { Visit } from '../browser.ts'
import { button, dialog, pick, row } from '../files.ts'
import type { Places, World } from './world.ts'

/** A page with what is done on it before the picture. */
export type PicturedPage = readonly [
  path: string | ((places: Places) => string),
  act?: (page: Visit, world: World) => Promise<unknown>,
  options?: {
    /** Whether a person sees it who is not signed in. */
    isPublic?: boolean
    /** Whether the page has its service worker. */
    hasWorker?: boolean
  },
]

export type PicturedPages = Readonly<Record<string, PicturedPage>>

export async function openDetails(page: Visit, name: string, text: string): Promise<void> {
  await row(page, name).getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Details' }).click()
  await page.getByText(text).first().waitFor()
}

export async function openVersions(page: Visit, name: string): Promise<void> {
  await row(page, name).getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: 'Versions' }).click()
  await page.locator('.version-content .markdown').waitFor()
}

export async function openShare(page: Visit, name: string): Promise<void> {
  await pick(page, name)
  await button(page, 'Share…').click()
  await dialog(page).waitFor()
}
