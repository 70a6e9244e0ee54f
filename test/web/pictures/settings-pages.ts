import { toolCall } from '../../support/mcp.ts'
import type { Visit } from '../browser.ts'
import { button, dialog } from '../files.ts'
import type { PicturedPages } from './page.ts'

const memberButton = (page: Visit, name: string) =>
  page.getByRole('row', { name: 'jonas@example.org' }).getByRole('button', { name })

/** The settings of the person and of the workspace. */
export const settingsPages: PicturedPages = {
  'versions-settings': [
    '/settings/storages',
    async page => {
      await page.getByRole('region', { name: 'Team disk' }).getByRole('button', { name: 'Edit' }).click()
      await dialog(page).getByLabel('Versions of a file').scrollIntoViewIfNeeded()
    },
  ],
  profile: ['/settings/profile', page => page.getByRole('table', { name: 'Sessions' }).waitFor()],
  security: ['/settings/security', page => page.getByText('Passkeys').first().waitFor()],
  approvals: [
    '/settings/approvals',
    async (page, { files, agentKey, teamId }) => {
      const { path, ...init } = toolCall('delete', { providerId: teamId, path: '/deploy.ts', confirm: '/deploy.ts' })
      void files.app.request(path, { ...init, token: agentKey })
      await page.getByRole('row', { name: 'Delete /deploy.ts' }).first().waitFor()
    },
  ],
  directories: ['/settings/directories', page => page.getByText('There are no tokens').waitFor()],
  'single-sign-on': ['/settings/single-sign-on', page => page.getByRole('heading').first().waitFor()],
  consent: [
    p => `/oauth/authorize?${p.consent}`,
    page => page.getByRole('heading', { name: 'Connect Writing agent?' }).waitFor(),
  ],
  'api-keys': ['/settings/api-keys', page => page.getByText('Nightly backup').waitFor()],
  'storage-settings': ['/settings/storages'],
  members: ['/settings/members', page => page.getByText('Nina from accounting').waitFor()],
  groups: ['/settings/groups', page => page.getByText('People who write reports').waitFor()],
  'group-new': [
    '/settings/groups',
    async page => {
      await button(page, 'New group').click()
      await dialog(page).waitFor()
    },
  ],
  'group-members': [
    '/settings/groups',
    async page => {
      await page.getByRole('row', { name: 'People who' }).getByRole('button', { name: 'Members' }).click()
      await dialog(page).getByText('Backup of the office').waitFor()
    },
  ],
  'group-accounts': ['/settings/service-accounts', page => page.getByText('Backup of the office').waitFor()],
  'member-access': [
    '/settings/members',
    async page => {
      await memberButton(page, 'Edit').click()
      await dialog(page).waitFor()
    },
  ],
  'member-view': [
    '/settings/members',
    async page => {
      await memberButton(page, 'View as').click()
      await dialog(page).getByText('/Photos').waitFor()
    },
  ],
  notifications: ['/settings/notifications', page => page.getByRole('heading', { name: 'Notifications' }).waitFor()],
  overview: ['/settings/overview', page => page.getByRole('slider', { name: 'Usage' }).waitFor()],
  webhooks: ['/settings/webhooks'],
  audit: ['/settings/audit', page => page.getByRole('table', { name: 'Audit log' }).waitFor()],
  workspace: ['/settings/workspace'],
}
