/**
 * All pages of the console, with their dialogs, as the pictures show them. `test/web/pages.test.ts` fails if an address of the console is
 * on none of them: add a line such as `overview: ['/overview', page => page.getByRole('table').waitFor()]`.
 */
import type { Visit } from '../browser.ts'
import { button, dialog, type FilesApp, row } from '../files.ts'
import { encryptionPages } from './encryption-pages.ts'
import { filePages } from './file-pages.ts'
import type { PicturedPages } from './page.ts'
import { previewPages } from './preview-pages.ts'
import { publicPages } from './public-pages.ts'
import { settingsPages } from './settings-pages.ts'

export const picturedPages: PicturedPages = {
  home: ['/files', page => page.getByRole('heading', { name: 'What changed' }).waitFor()],
  activity: ['/activity', page => page.locator('.team-change').first().waitFor()],
  recent: ['/recent', page => page.locator('.entry-list').waitFor()],
  account: ['/files', page => button(page, 'Account').click()],
  start: ['/', page => page.getByRole('heading', { name: 'What changed' }).waitFor()],
  starred: ['/starred', page => page.locator('.entry-list').first().waitFor()],
  upload: [
    '/upload',
    async page => {
      const buffer = Buffer.alloc(2_400_000)
      await page.locator('#files-to-upload').setInputFiles([
        { name: 'Harbor at night.jpg', mimeType: 'image/jpeg', buffer },
        { name: 'Floor plan.pdf', mimeType: 'application/pdf', buffer: buffer.subarray(0, 340_000) },
      ])
      await page.getByRole('list', { name: 'Storages' }).getByRole('button', { name: 'Team disk', exact: true }).click()
      await page.getByRole('list', { name: 'Folders' }).getByRole('button', { name: 'Reports' }).waitFor()
    },
  ],
  offline: [
    '/offline',
    async (page, { files, teamId }) => {
      await keepSome(page, files, teamId)
      await page.reload()
      await button(page, 'Invoice 2026-11.pdf').waitFor()
    },
  ],
  'without-network': [
    p => p.team,
    async (page, { files, teamId }) => {
      await row(page, 'notes.txt').waitFor()
      await keepSome(page, files, teamId)
      await page.evaluate(async () => (await navigator.serviceWorker.ready).active !== null)
      await page.context().setOffline(true)
      await page.reload()
      await page.getByRole('heading', { name: 'You are offline' }).waitFor()
    },
    { hasWorker: true },
  ],
  ...filePages,
  ...previewPages,
  connect: ['/connect'],
  'connect-google': ['/connect?type=google-drive'],
  'connect-s3': ['/connect?type=s3'],
  'connect-local': ['/connect?type=local'],
  ...encryptionPages,
  jobs: ['/jobs'],
  schedules: ['/jobs/schedules', page => page.getByText('nothing found').first().waitFor()],
  'copies-report': [
    '/jobs/schedules',
    async page => {
      await page.getByRole('button', { name: 'Report: Reports' }).click()
      await dialog(page).getByText('Nothing was damaged').waitFor()
    },
  ],
  'copies-found': [
    '/jobs/schedules',
    async page => {
      await page.getByRole('button', { name: 'Report: Damaged contracts' }).click()
      await dialog(page).getByText('restored').first().waitFor()
    },
  ],
  'copies-failed': [
    '/jobs/schedules',
    async page => {
      await page.getByRole('button', { name: 'Report: Empty contracts' }).click()
      await dialog(page).getByText('is empty, although').first().waitFor()
    },
  ],
  'copies-new': [
    '/jobs/schedules',
    async page => {
      await page.getByRole('button', { name: 'New kept copies' }).click()
      await dialog(page).getByText('Folder for copy 1').waitFor()
    },
  ],
  'share-edit': [
    '/shares',
    async page => {
      await page.getByRole('row', { name: 'With' }).getByRole('button', { name: 'Edit' }).click()
      await dialog(page).waitFor()
    },
  ],
  'shared-with-me': ['/shared-with-me', page => page.getByText('From Mona Berg').first().waitFor()],
  shares: ['/shares', page => page.getByRole('table').waitFor()],
  ...settingsPages,
  'first-trash': ['/trash', page => page.waitForURL(/\/trash\/./)],
  settings: ['/settings', page => page.waitForURL(/\/settings\/profile$/)],
  'not-found': ['/settings/nothing'],
  ...publicPages,
}

/** Puts copies of files where the console looks for those that are kept offline. */
async function keepSome(page: Visit, { app, owner }: FilesApp, providerId: string): Promise<void> {
  const query =
    'query ($providerId: ID!, $path: String!) { entry(providerId: $providerId, path: $path) { ... on File { size mimeType } } }'
  const paths = ['/Invoice 2026-11.pdf', '/Photos/harbor.jpg', '/Reports/plan.md', '/Interview.mp3']
  const kept = await Promise.all(
    paths.map(async path => ({ path, ...(await app.ask(query, { providerId, path }, owner.token)).entry })),
  )
  await page.evaluate(
    async ({ userId, providerId, kept }) => {
      const cache = await caches.open(`stowage.kept / ${userId}`)
      for (const { path, size, mimeType: type } of kept) {
        const name = path.slice(path.lastIndexOf('/') + 1)
        const info = { providerId, path, name, size, type, version: null, keptAt: new Date().toISOString() }
        const headers = { 'x-stowage-kept': encodeURIComponent(JSON.stringify(info)) }
        const address = `/kept/${providerId}/${encodeURIComponent(path)}`
        await cache.put(address, new Response('x', { headers }))
      }
    },
    { userId: owner.id, providerId, kept },
  )
}
