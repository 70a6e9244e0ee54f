import { button, chooseView, dialog, openNavigation, pick, row } from '../files.ts'
import { openDetails, openShare, openVersions, type PicturedPages } from './page.ts'

/** Folders, the search, the trash, versions, and the dialogs of files. */
export const filePages: PicturedPages = {
  folder: [p => p.team, page => row(page, 'notes.txt').waitFor()],
  'folder-selection': [
    p => p.team,
    async page => {
      await pick(page, 'notes.txt')
      await pick(page, 'Release video.mp4')
    },
  ],
  'folder-tiles': [
    p => p.team,
    async page => {
      await row(page, 'notes.txt').waitFor()
      await chooseView(page, 'Tiles')
    },
  ],
  'folder-sidebar': [
    p => `${p.team}/Reports`,
    async page => {
      await row(page, 'plan.md').waitFor()
      const navigation = await openNavigation(page)
      await navigation.getByText('Photos').waitFor()
    },
  ],
  'folder-empty': [p => p.empty, page => page.getByText('This folder is empty').waitFor()],
  'trash-question': [
    p => p.bin,
    async page => {
      await pick(page, 'kept.txt')
      await button(page, 'Delete').click()
      await dialog(page).getByText('You can restore it').waitFor()
    },
  ],
  'trash-undo': [
    p => p.bin,
    async (page, { files, token, binId }) => {
      await files.app.upload(token, binId, '/draft.txt', 'x')
      await page.reload()
      await pick(page, 'draft.txt')
      await button(page, 'Delete').click()
      await dialog(page).getByRole('button', { name: 'Delete' }).click()
      await row(page, 'draft.txt').waitFor({ state: 'detached' })
      await button(page, 'Undo').waitFor()
    },
  ],
  trash: [p => p.trash, page => page.getByText('kept until').first().waitFor()],
  'trash-empty-question': [p => p.trash, page => button(page, 'Empty trash').click()],
  'trash-empty': [p => p.emptyTrash, page => page.getByText('The trash is empty').waitFor()],
  'search-suggestions': [
    p => `${p.team}/Reports`,
    async page => {
      await row(page, 'plan.md').waitFor()
      await page.keyboard.press('/')
      await page.keyboard.type('re')
      await page.getByText('All results for “re”').waitFor()
      await page.getByRole('option').filter({ hasText: 'Reports' }).first().waitFor()
    },
  ],
  'search-recent': [
    '/files',
    async page => {
      for (const text of ['annual report', 'harbor']) {
        await page.keyboard.press('/')
        await page.keyboard.press('Control+A')
        await page.keyboard.type(text)
        await page.keyboard.press('Enter')
        await page.waitForURL(/search/)
        await page.locator('.empty, .entry-list').first().waitFor()
      }
      await page.goto('/files')
      await page.getByRole('heading', { name: 'Team disk' }).waitFor()
      await page.keyboard.press('/')
      await page.getByText('Recent searches').waitFor()
    },
  ],
  'search-results': ['/search?text=harbor', page => page.locator('.entry-list').waitFor()],
  'search-nothing': ['/search?text=nothing+here&size=large', page => page.getByText('Nothing found').waitFor()],
  insight: ['/insight', page => page.locator('.entry-list').waitFor()],
  'insight-folder': [
    p => p.insight,
    async page => {
      await page.getByRole('radio', { name: 'Duplicates' }).check({ force: true })
      await page.locator('.copies, .empty').first().waitFor()
    },
  ],
  details: [
    p => p.team,
    async page => {
      await row(page, 'notes.txt').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Details' }).click()
      await page.getByRole('heading', { name: 'History' }).waitFor()
    },
  ],
  'details-comments': [
    p => p.team,
    async page => {
      await openDetails(page, 'Release video.mp4', 'May be shown on Friday.')
      const field = page.getByRole('textbox', { name: 'Write a comment' })
      await field.pressSequentially('Then @m')
      await page.getByRole('listbox', { name: 'People to mention' }).waitFor()
      await field.scrollIntoViewIfNeeded()
    },
  ],
  'details-object-lock': [p => p.team, page => openDetails(page, 'Contract 4711.pdf', 'S3 Object Lock')],
  'details-lock': [p => p.team, page => openDetails(page, 'Interview.mp3', 'has locked it')],
  versions: [p => p.team, page => openVersions(page, 'draft.md')],
  'versions-changes': [
    p => p.team,
    async page => {
      await openVersions(page, 'draft.md')
      await page.getByRole('radio', { name: 'Changes' }).check({ force: true })
      await page.getByRole('table').waitFor()
    },
  ],
  'versions-restore': [
    p => p.team,
    async page => {
      await openVersions(page, 'draft.md')
      await button(page, 'Restore').click()
      await dialog(page).getByText('stays as a version').waitFor()
    },
  ],
  'versions-none': [
    p => p.team,
    async page => {
      await row(page, 'deploy.ts').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Versions' }).click()
      await page.getByText('No earlier versions').waitFor()
    },
  ],
  'hold-new': [
    p => p.team,
    async page => {
      await openDetails(page, 'notes.txt', 'History')
      await page.getByRole('button', { name: 'Hold…' }).click()
    },
  ],
  'restore-question': [
    p => p.team,
    async page => {
      await row(page, 'Reports').getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: 'Restore…' }).click()
      await dialog(page).waitFor()
    },
  ],
  'restore-steps': [
    p => p.trash,
    async page => {
      await page.getByRole('button', { name: 'Restore earlier state…' }).click()
      await dialog(page).getByRole('button', { name: 'Show changes' }).click()
      await dialog(page).getByRole('list', { name: 'Changes' }).waitFor({ timeout: 60_000 })
    },
  ],
  'quota-folder': [
    p => p.team,
    async page => {
      await openDetails(page, 'Reports', 'History')
      await page.getByRole('button', { name: 'Set quota' }).click()
    },
  ],
  'share-people': [
    p => p.team,
    async page => {
      await openShare(page, 'Offer Meyer.docx')
      await dialog(page).getByText('Shared already').waitFor()
      await dialog(page).getByRole('combobox').fill('people')
      await page.getByRole('option', { name: 'People who write' }).waitFor()
    },
  ],
  'share-chosen': [
    p => p.team,
    async page => {
      await openShare(page, 'Photos')
      for (const name of ['Mona', 'People who']) {
        await dialog(page).getByRole('combobox').fill(name)
        await page.getByRole('option', { name }).click()
      }
      await page.locator('.recipient-option').first().waitFor({ state: 'detached' })
    },
  ],
  'share-dialog': [
    p => p.team,
    async page => {
      await openShare(page, 'Photos')
      await dialog(page).getByRole('radio', { name: 'Link' }).check()
    },
  ],
}
