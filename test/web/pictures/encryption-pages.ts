import type { Visit } from '../browser.ts'
import { button, dialog } from '../files.ts'

const encrypt = (page: Visit) => page.getByRole('switch', { name: 'Encrypt the storage' }).press('Space')

/** The pages on which people connect an encrypted storage. */
export const encryptionPages: Record<string, [path: string, act: (page: Visit) => Promise<unknown>]> = {
  'connect-encrypted': ['/connect?type=local', encrypt],
  'connect-remote': [
    '/connect?type=local',
    async page => {
      await encrypt(page)
      await page.getByRole('radio', { name: 'An existing rclone crypt remote' }).check()
      await page.getByText('Encoding of names').scrollIntoViewIfNeeded()
    },
  ],
  'recovery-sheet': [
    '/connect?type=local',
    async page => {
      await encrypt(page)
      await button(page, 'Connect').click()
      await dialog(page).waitFor()
      await dialog(page).evaluate(element => {
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
        // The sheet names the address of the server, which is a port of the test here.
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
          text.nodeValue = (text.nodeValue ?? '').replace(location.origin, 'https://files.harbor.example')
        }
      })
    },
  ],
  'recovery-check': [
    '/connect?type=local',
    async page => {
      await encrypt(page)
      await button(page, 'Connect').click()
      await button(page, 'I have kept it').click()
      await dialog(page).getByLabel('The last').pressSequentially('wrong')
      await dialog(page).getByRole('button', { name: 'Connect' }).click()
    },
  ],
}
