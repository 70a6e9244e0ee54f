import { until } from '../../support/until.ts'
import { button, chooseView, row } from '../files.ts'
import { photoName } from './files.ts'
import type { PicturedPages } from './page.ts'

/** The gallery, and the viewers of files. */
export const previewPages: PicturedPages = {
  gallery: [
    p => p.album,
    async page => {
      await row(page, photoName(0)).waitFor()
      await chooseView(page, 'Gallery')
      await page.locator('.photo img.loaded').nth(5).waitFor()
    },
  ],
  'gallery-photo': [
    p => `${p.album}?file=${encodeURIComponent(photoName(2))}`,
    async page => {
      await page.getByRole('dialog').getByRole('img').waitFor()
      await button(page, 'Information').click()
    },
  ],
  'preview-comments': [
    p => `${p.team}?file=Release video.mp4`,
    async page => {
      await button(page, 'Information').click()
      const last = page.getByText('May be shown on Friday.')
      await last.waitFor()
      await last.scrollIntoViewIfNeeded()
    },
  ],
  'preview-text': [p => `${p.team}?file=notes.txt`, page => page.locator('pre').waitFor()],
  'preview-code': [p => `${p.team}?file=deploy.ts`, page => page.locator('pre[data-language]').waitFor()],
  'preview-markdown': [p => `${p.team}/Reports?file=plan.md`, page => page.locator('pre, article').first().waitFor()],
  'preview-table': [p => `${p.team}/Reports?file=numbers.csv`, page => page.getByRole('table').waitFor()],
  'preview-none': [p => `${p.library}?file=model.blend`, page => page.getByText('No preview').waitFor()],
  'preview-photo': [
    p => `${p.library}?file=harbor.jpg`,
    async page => {
      await page.locator('.image-frame img').waitFor()
      await button(page, 'Information').click()
      await page.getByText('Acme Alpha 7').waitFor()
    },
  ],
  'preview-pdf': [
    p => `${p.library}?file=report.pdf`,
    async page => {
      await page.locator('.pdf-text').getByText('Chapter 1').waitFor()
      await page.getByLabel('Search the document').fill('harbor')
      await page
        .getByText(/^1 of \d+$/)
        .first()
        .waitFor()
    },
  ],
  'preview-music': [
    p => `${p.library}?file=01 Waves.mp3`,
    async page => {
      const cover = page.locator('.audio-player img')
      await until(() => cover.evaluate(each => (each as HTMLImageElement).naturalWidth > 0))
    },
  ],
  'preview-archive': [p => `${p.library}?file=project.zip`, page => page.getByText('files,').waitFor()],
  'preview-book': [p => `${p.library}?file=sea.epub`, page => page.locator('iframe').waitFor()],
  'preview-font': [p => `${p.library}?file=sans.ttf`, page => page.locator('.font-sample').first().waitFor()],
  'preview-office': [
    p => `${p.library}?file=letter.rtf`,
    page => page.locator('.pdf-text, .file-card').first().waitFor({ timeout: 120_000 }),
  ],
}
