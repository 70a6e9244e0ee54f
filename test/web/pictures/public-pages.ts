import type { PicturedPages } from './page.ts'

const isPublic = true

/** Pages for people who are not signed in. */
export const publicPages: PicturedPages = {
  'share-page': [p => p.view, page => page.getByText('Team handbook.md').first().waitFor(), { isPublic }],
  'share-photo': [p => p.photo, page => page.getByRole('heading').first().waitFor(), { isPublic }],
  'share-gallery': [p => p.gallery, page => page.locator('.photo img.loaded').nth(5).waitFor(), { isPublic }],
  'share-drop': [p => p.drop, page => page.getByRole('heading').first().waitFor(), { isPublic }],
  'share-ended': ['/s/ended', page => page.getByRole('heading').first().waitFor(), { isPublic }],
  'sign-in': ['/sign-in', page => page.getByLabel('Password').waitFor(), { isPublic }],
  register: ['/register', page => page.getByRole('heading').first().waitFor(), { isPublic }],
  'reset-password': ['/reset-password#token', page => page.getByRole('heading').first().waitFor(), { isPublic }],
  'link-account': ['/link-account', page => page.getByRole('heading').first().waitFor(), { isPublic }],
}
