/**
 * Takes pictures of all pages of the console, in five sizes, in light and dark: `SCREENSHOTS=<folder> npx tap test/web/screenshots.ts`.
 * `PAGES='trash|share'` takes only those whose names match, and `SIZES='wide|phone'` only these sizes.
 */
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PutObjectLockConfigurationCommand, PutObjectRetentionCommand, S3Client } from '@aws-sdk/client-s3'
import sharp from 'sharp'
import t from 'tap'
import { applicationOf } from '../support/applications.ts'
import { pdf, zipOf } from '../support/documents.ts'
import { toolCall } from '../support/mcp.ts'
import { songWithCover } from '../support/media.ts'
import { makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { davClient, lockInfo } from '../webdav/client.ts'
import { type Visit, visit } from './browser.ts'
import { encryptionPages } from './encryption-pages.ts'
import { button, chooseView, dialog, openNavigation, pick, row, startFiles } from './files.ts'

const folder = process.env.SCREENSHOTS ?? 'screenshots'
const only = new RegExp(process.env.PAGES ?? '')
const onlySizes = new RegExp(process.env.SIZES ?? '')
t.setTimeout(600_000)

const photoCount = 60
const photoName = (index: number) => `IMG_${String(4000 + index)}.jpg`

const files = await startFiles(t, { settings: { catalogueHours: 24 } })
if (files) {
  const { app, owner, open, store } = files
  const { id, page: address } = await store('Team disk', {
    'Photos/2026/beach.jpg': 'x',
    'Photos/2025/winter.jpg': 'x',
    'Reports/plan.md': '# Plan\n\nWhat we do **next**.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
    'Reports/numbers.csv': 'month;sales\nMay;12\nJune;15\n',
    'notes.txt': 'Some notes\n',
    'script.ts': 'export const answer: number = 42 // the answer\nconsole.log(answer)\n',
    'film.mp4': 'x',
    'song.mp3': 'x',
    'paper.pdf': 'x',
    'archive.zip': 'x',
  })
  const viewers = await store('Library', await library())
  const { page: empty } = await store('Empty disk')
  const album = await store('Album', await photos())
  await Promise.all(
    Array.from({ length: photoCount }, (_, index) => {
      const at = new Date(2026, 9 - Math.floor(index / 14), 20, 12, 0, 40 - (index % 40))
      return utimes(album.at(photoName(index)), at, at)
    }),
  )
  const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
  const { createInvite } = await app.ask(invite, { input: { role: 'EDITOR', note: 'Mona' } }, owner.token)
  const mona = await app.register('member@example.org', { invite: createInvite.invite })
  await app.ask(invite, { input: { role: 'VIEWER', note: 'Nina from accounting' } }, owner.token)
  await app.createKey(owner.token, { name: 'nightly backup', scopes: ['read'] })
  const bin = await store('Shared disk', {
    'Reports/2026/budget of the whole year, with everything.xlsx': 'x',
    'Photos/beach.jpg': 'x',
    'old.txt': 'x',
    'kept.txt': 'x',
  })
  const days = 'mutation ($id: ID!) { updateProvider(input: { id: $id, trashDays: 30 }) { id } }'
  await app.ask(days, { id: bin.id }, owner.token)
  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  for (const path of ['/Reports/2026/budget of the whole year, with everything.xlsx', '/Photos', '/old.txt']) {
    await app.ask(remove, { input: { providerId: bin.id, path, recursive: true } }, owner.token)
  }
  await app.ask(
    'mutation ($id: ID!) { updateProvider(input: { id: $id, versionCount: 20 }) { id } }',
    { id },
    owner.token,
  )
  await app.upload(owner.token, id, '/notes.txt', 'Some more notes\n', '&conflict=replace')
  const plan = (parts: readonly string[]) =>
    [...parts, ...Array.from({ length: 30 }, (_, index) => `Step ${index + 1} of the plan.`), ''].join('\n')
  for (const parts of [
    ['# Plan', '', 'What we do first.'],
    ['# Plan of this year', '', 'What we do first.', 'And what comes after that.'],
    [
      '# Plan of this year',
      '',
      'What we do next.',
      'And what comes after that, which is a long line that has to wrap.',
    ],
  ])
    await app.upload(owner.token, id, '/draft.md', plan(parts), '&conflict=replace')
  await protectSome(id)
  await keepCopies('Reports', '/Reports', [id, album.id])
  await damageCopies()
  const restrictions = ['/Photos', '/Reports'].map(basePath => ({ providerId: id, basePath }))
  const restricted = await app.ask(invite, { input: { role: 'VIEWER', providerAccess: { restrictions } } }, owner.token)
  const reader = await app.register('restricted@example.org', { invite: restricted.createInvite.invite })
  const group = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }'
  const writers = { name: 'People who write reports', role: 'EDITOR', providerAccess: { restrictions } }
  const { createGroup } = await app.ask(group, { input: writers }, owner.token)
  await app.ask(group, { input: { name: 'Administrators', role: 'ADMIN' } }, owner.token)
  const add = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
  const account = 'mutation { createServiceAccount(input: { name: "Backup of the office", role: EDITOR }) { id } }'
  const { createServiceAccount } = await app.ask(account, {}, owner.token)
  for (const userId of [reader.id, createServiceAccount.id]) {
    await app.ask(add, { groupId: createGroup.group.id, userId }, owner.token)
  }
  const note = 'The pictures of this year. Please look at them before Friday.'
  const view = await makeShare(app, owner.token, { kind: 'VIEW', providerId: id, path: '/', note })
  const drop = await makeShare(app, owner.token, {
    kind: 'DROP',
    providerId: id,
    path: '/Photos',
    fileTypes: ['jpg'],
  })
  const ours = '/script.ts'
  const expiresAt = new Date(Date.UTC(2040, 0, 1))
  await makeShare(app, mona.token, { providerId: id, path: '/Reports', userIds: [owner.id], note, expiresAt })
  await makeShare(app, mona.token, { providerId: id, path: '/song.mp3', userIds: [owner.id], password: 'a password' })
  const audience = { userIds: [mona.id, reader.id], groupIds: [createGroup.group.id] }
  await makeShare(app, owner.token, { providerId: id, path: ours, ...audience, expiresAt })
  await makeShare(app, owner.token, { providerId: id, path: ours })
  const say = 'mutation ($input: CreateCommentInput!) { createComment(input: $input) { id } }'
  const said = (text: string, as: string) => app.ask(say, { input: { providerId: id, path: '/film.mp4', text } }, as)
  await said('May be shown on Friday.\nThe plan is at https://example.org/plan.', owner.token)
  await said(`@[${owner.id}] The sound is missing in the last minute. Is there another copy?`, mona.token)
  const application = applicationOf(app)
  const agent = await application.register({ client_name: 'Writing agent' })
  await application.connect(owner.token, { scopes: ['read'] })
  const { key: ofAgent } = await app.createKey(owner.token, { name: 'Agent', scopes: ['write'] })
  await app.ask('mutation { updateWorkspace(input: { approvals: [DELETION] }) { id } }', {}, owner.token)
  const memberButton = (page: Visit, name: string) =>
    page.getByRole('row', { name: 'restricted@example.org' }).getByRole('button', { name })
  await app.app.services.audit.flush()

  const openVersions = async (page: Visit, name: string) => {
    await row(page, name).getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Versions' }).click()
    await page.locator('.version-content .markdown').waitFor()
  }
  const openShare = async (page: Visit, name: string) => {
    await pick(page, name)
    await button(page, 'Share…').click()
    await dialog(page).waitFor()
  }
  const openDetails = async (page: Visit, name: string, text: string) => {
    await row(page, name).getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menuitem', { name: 'Details' }).click()
    await page.getByText(text).first().waitFor()
  }

  /** Makes a lock, a hold, a retention of S3, and a quota. */
  async function protectSome(providerId: string): Promise<void> {
    const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
    const until = new Date(Date.UTC(2040, 0, 1))
    await app.ask(hold, { input: { providerId, path: '/archive.zip', reason: 'Contract 4711', until } }, owner.token)
    const quota = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
    await app.ask(quota, { input: { providerId, bytes: 20_000, files: 30 } }, owner.token)
    const make =
      'mutation { createApiKey(input: { name: "s3", scopes: [admin] }) { key s3 { accessKeyId secretAccessKey endpoint } } }'
    const { key, s3 } = (await app.ask(make, {}, owner.token)).createApiKey
    const headers = { depth: '0', timeout: 'Second-3600' }
    await davClient(app, key)('LOCK', '/team-disk/song.mp3', { body: lockInfo(), headers })
    const client = new S3Client({ ...s3, credentials: s3, region: 'us-east-1', forcePathStyle: true })
    const Bucket = 'team-disk'
    const ObjectLockConfiguration = { ObjectLockEnabled: 'Enabled' } as const
    await client.send(new PutObjectLockConfigurationCommand({ Bucket, ObjectLockConfiguration }))
    const Retention = { Mode: 'COMPLIANCE', RetainUntilDate: until } as const
    await client.send(new PutObjectRetentionCommand({ Bucket, Key: 'paper.pdf', Retention }))
    client.destroy()
  }

  /** Keeps copies of a folder, and checks them once. Returns a function that checks them again. */
  async function keepCopies(
    name: string,
    path: string,
    providerIds: readonly string[],
  ): Promise<() => Promise<unknown>> {
    const sources = providerIds.map(providerId => ({ providerId, path }))
    const job = { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0 }
    const create = 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }'
    const input = { name, cron: '0 3 * * *', timeZone: 'UTC', job }
    const { createSchedule } = await app.ask(create, { input }, owner.token)
    const run = 'mutation ($id: ID!) { runSchedule(id: $id) { id } }'
    const state = 'query ($id: ID!) { job(id: $id) { state } }'
    const check = async () => {
      const { runSchedule } = await app.ask(run, { id: createSchedule.schedule.id }, owner.token)
      await until(async () => {
        const { job } = await app.ask(state, { id: runSchedule.id }, owner.token)
        return ['SUCCEEDED', 'FAILED'].includes(job.state) || job
      })
    }
    await check()
    return check
  }

  /** Makes copies that are damaged, and one of a folder that is empty now. */
  async function damageCopies(): Promise<void> {
    const contracts = { 'signed/first contract.txt': 'one', 'second.txt': 'two', 'third.txt': 'three' }
    const [from, to] = [await store('Contracts', contracts), await store('Vault')]
    const set = 'mutation ($id: ID!) { updateProvider(input: { id: $id, versionCount: 20 }) { id } }'
    for (const each of [from, to]) await app.ask(set, { id: each.id }, owner.token)
    const check = await keepCopies('Damaged contracts', '/', [from.id, to.id])
    const damaged = to.at('signed/first contract.txt')
    const { atime, mtime } = await stat(damaged)
    await writeFile(damaged, 'onE')
    await utimes(damaged, atime, mtime)
    await rm(to.at('second.txt'))
    await writeFile(to.at('third.txt'), 'of somebody')
    await check()
    const [empty, copy] = [await store('Old contracts', contracts), await store('Second vault')]
    const again = await keepCopies('Empty contracts', '/', [empty.id, copy.id])
    for (const name of ['signed', 'second.txt', 'third.txt']) await rm(empty.at(name), { recursive: true })
    await again()
  }

  /** Each page with what to do on it before the picture. */
  const pages: Readonly<Record<string, readonly [path: string, act?: (page: Visit) => Promise<unknown>]>> = {
    home: ['/files', page => page.getByRole('heading', { name: 'What changed' }).waitFor()],
    activity: ['/activity', page => page.locator('.team-change').first().waitFor()],
    recent: ['/recent', page => page.locator('.entry-list').waitFor()],
    account: ['/files', page => button(page, 'Account').click()],
    folder: [address, page => row(page, 'notes.txt').waitFor()],
    'folder-selection': [
      address,
      async page => {
        await pick(page, 'notes.txt')
        await pick(page, 'film.mp4')
      },
    ],
    'folder-tiles': [
      address,
      async page => {
        await row(page, 'notes.txt').waitFor()
        await chooseView(page, 'Tiles')
      },
    ],
    'folder-sidebar': [
      `${address}/Reports`,
      async page => {
        await row(page, 'plan.md').waitFor()
        const navigation = await openNavigation(page)
        await navigation.getByText('Photos').waitFor()
      },
    ],
    'folder-empty': [empty, page => page.getByText('This folder is empty').waitFor()],
    'trash-question': [
      bin.page,
      async page => {
        await pick(page, 'kept.txt')
        await button(page, 'Delete').click()
        await dialog(page).getByText('You can restore it').waitFor()
      },
    ],
    'trash-undo': [
      bin.page,
      async page => {
        await app.upload(owner.token, bin.id, '/draft.txt', 'x')
        await page.reload()
        await pick(page, 'draft.txt')
        await button(page, 'Delete').click()
        await dialog(page).getByRole('button', { name: 'Delete' }).click()
        await row(page, 'draft.txt').waitFor({ state: 'detached' })
        await button(page, 'Undo').waitFor()
      },
    ],
    trash: [`/trash/${bin.id}`, page => page.getByText('kept until').first().waitFor()],
    'trash-empty-question': [`/trash/${bin.id}`, page => button(page, 'Empty trash').click()],
    'trash-empty': [`/trash/${id}`, page => page.getByText('The trash is empty').waitFor()],
    'search-suggestions': [
      `${address}/Reports`,
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
        for (const text of ['annual report', 'beach']) {
          await page.keyboard.press('/')
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
    'search-results': ['/search?text=p&kind=file', page => page.locator('.entry-list').waitFor()],
    'search-nothing': ['/search?text=nothing+here&size=large', page => page.getByText('Nothing found').waitFor()],
    insight: ['/insight', page => page.locator('.entry-list').waitFor()],
    'insight-folder': [
      `/insight/${album.id}`,
      async page => {
        await page.getByRole('radio', { name: 'Duplicates' }).check({ force: true })
        await page.locator('.copies, .empty').first().waitFor()
      },
    ],
    gallery: [
      album.page,
      async page => {
        await row(page, photoName(0)).waitFor()
        await chooseView(page, 'Gallery')
        await page.locator('.photo img.loaded').nth(5).waitFor()
      },
    ],
    'gallery-photo': [
      `${album.page}?file=${encodeURIComponent(photoName(2))}`,
      async page => {
        await page.getByRole('dialog').getByRole('img').waitFor()
        await button(page, 'Information').click()
      },
    ],
    details: [
      address,
      async page => {
        await row(page, 'notes.txt').getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Details' }).click()
        await page.getByRole('heading', { name: 'History' }).waitFor()
      },
    ],
    'details-comments': [
      address,
      async page => {
        await openDetails(page, 'film.mp4', 'May be shown on Friday.')
        const field = page.getByRole('textbox', { name: 'Write a comment' })
        await field.pressSequentially('Then @m')
        await page.getByRole('listbox', { name: 'People to mention' }).waitFor()
        await field.scrollIntoViewIfNeeded()
      },
    ],
    'preview-comments': [
      `${address}?file=film.mp4`,
      async page => {
        await button(page, 'Information').click()
        const last = page.getByText('May be shown on Friday.')
        await last.waitFor()
        await last.scrollIntoViewIfNeeded()
      },
    ],
    'details-object-lock': [address, page => openDetails(page, 'paper.pdf', 'S3 Object Lock')],
    'details-lock': [address, page => openDetails(page, 'song.mp3', 'has locked it')],
    versions: [address, page => openVersions(page, 'draft.md')],
    'versions-changes': [
      address,
      async page => {
        await openVersions(page, 'draft.md')
        await page.getByRole('radio', { name: 'Changes' }).check({ force: true })
        await page.getByRole('table').waitFor()
      },
    ],
    'versions-restore': [
      address,
      async page => {
        await openVersions(page, 'draft.md')
        await button(page, 'Restore').click()
        await dialog(page).getByText('stays as a version').waitFor()
      },
    ],
    'versions-none': [
      address,
      async page => {
        await row(page, 'script.ts').getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Versions' }).click()
        await page.getByText('No earlier versions').waitFor()
      },
    ],
    'versions-settings': [
      '/settings/storages',
      async page => {
        await page.getByRole('region', { name: 'Team disk' }).getByRole('button', { name: 'Edit' }).click()
        await dialog(page).getByLabel('Versions of a file').scrollIntoViewIfNeeded()
      },
    ],
    'preview-text': [`${address}?file=notes.txt`, page => page.locator('pre').waitFor()],
    'preview-code': [`${address}?file=script.ts`, page => page.locator('pre[data-language]').waitFor()],
    'preview-markdown': [`${address}/Reports?file=plan.md`, page => page.locator('pre, article').first().waitFor()],
    'preview-table': [`${address}/Reports?file=numbers.csv`, page => page.getByRole('table').waitFor()],
    'preview-none': [`${viewers.page}?file=model.blend`, page => page.getByText('No preview').waitFor()],
    'preview-photo': [
      `${viewers.page}?file=harbor.jpg`,
      async page => {
        await page.locator('.image-frame img').waitFor()
        await button(page, 'Information').click()
        await page.getByText('Acme Alpha 7').waitFor()
      },
    ],
    'preview-pdf': [
      `${viewers.page}?file=report.pdf`,
      async page => {
        await page.locator('.pdf-text').getByText('Chapter 1').waitFor()
        await page.getByLabel('Search the document').fill('harbor')
        await page.getByText('1 of 12', { exact: true }).waitFor()
      },
    ],
    'preview-music': [`${viewers.page}?file=01 Waves.mp3`, page => page.locator('.audio-player img').waitFor()],
    'preview-archive': [`${viewers.page}?file=project.zip`, page => page.getByText('files,').waitFor()],
    'preview-book': [`${viewers.page}?file=sea.epub`, page => page.locator('iframe').waitFor()],
    'preview-font': [`${viewers.page}?file=sans.ttf`, page => page.locator('.font-sample').first().waitFor()],
    'preview-office': [
      `${viewers.page}?file=letter.rtf`,
      page => page.locator('.pdf-text, .file-card').first().waitFor({ timeout: 120_000 }),
    ],
    connect: ['/connect'],
    'connect-google': ['/connect?type=google-drive'],
    'connect-s3': ['/connect?type=s3'],
    'connect-local': ['/connect?type=local'],
    ...encryptionPages,
    profile: ['/settings/profile', page => page.getByRole('table', { name: 'Sessions' }).waitFor()],
    security: ['/settings/security', page => page.getByText('Passkeys').first().waitFor()],
    approvals: [
      '/settings/approvals',
      async page => {
        const { path, ...init } = toolCall('delete', { providerId: id, path: '/script.ts', confirm: '/script.ts' })
        void app.request(path, { ...init, token: ofAgent })
        await page.getByRole('row', { name: 'Delete /script.ts' }).first().waitFor()
      },
    ],
    directories: ['/settings/directories', page => page.getByText('There are no tokens').waitFor()],
    'single-sign-on': ['/settings/single-sign-on', page => page.getByRole('heading').first().waitFor()],
    consent: [
      `/oauth/authorize?${application.request(agent).query}`,
      page => page.getByRole('heading', { name: 'Connect Writing agent?' }).waitFor(),
    ],
    'api-keys': ['/settings/api-keys', page => page.getByText('nightly backup').waitFor()],
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
    'hold-new': [
      address,
      async page => {
        await openDetails(page, 'notes.txt', 'History')
        await page.getByRole('button', { name: 'Hold…' }).click()
      },
    ],
    'restore-question': [
      address,
      async page => {
        await row(page, 'Reports').getByRole('button', { name: 'Actions' }).click()
        await page.getByRole('menuitem', { name: 'Restore…' }).click()
        await dialog(page).waitFor()
      },
    ],
    'restore-steps': [
      `/trash/${bin.id}`,
      async page => {
        await page.getByRole('button', { name: 'Restore earlier state…' }).click()
        await dialog(page).getByRole('button', { name: 'Show changes' }).click()
        await dialog(page).getByRole('list', { name: 'Changes' }).waitFor({ timeout: 60_000 })
      },
    ],
    'quota-folder': [
      address,
      async page => {
        await openDetails(page, 'Reports', 'History')
        await page.getByRole('button', { name: 'Set quota' }).click()
      },
    ],
    'copies-new': [
      '/jobs/schedules',
      async page => {
        await page.getByRole('button', { name: 'New kept copies' }).click()
        await dialog(page).getByText('Folder for copy 1').waitFor()
      },
    ],
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
    'share-people': [
      address,
      async page => {
        await openShare(page, 'script.ts')
        await dialog(page).getByText('Shared already').waitFor()
        await dialog(page).getByRole('combobox').fill('people')
        await page.getByRole('option', { name: 'People who write' }).waitFor()
      },
    ],
    'share-chosen': [
      address,
      async page => {
        await openShare(page, 'Photos')
        for (const name of ['member@', 'People who']) {
          await dialog(page).getByRole('combobox').fill(name)
          await page.getByRole('option', { name }).click()
        }
        await page.locator('.recipient-option').first().waitFor({ state: 'detached' })
      },
    ],
    'share-dialog': [
      address,
      async page => {
        await openShare(page, 'Photos')
        await dialog(page).getByRole('radio', { name: 'Link' }).check()
      },
    ],
    'share-edit': [
      '/shares',
      async page => {
        await page.getByRole('row', { name: 'With' }).getByRole('button', { name: 'Edit' }).click()
        await dialog(page).waitFor()
      },
    ],
    'shared-with-me': ['/shared-with-me', page => page.getByText('From member').first().waitFor()],
    shares: ['/shares', page => page.getByRole('table').waitFor()],
    webhooks: ['/settings/webhooks'],
    audit: ['/settings/audit', page => page.getByRole('table', { name: 'Audit log' }).waitFor()],
    workspace: ['/settings/workspace'],
    'not-found': ['/settings/nothing'],
  }
  const publicPages = {
    'share-page': `/s/${view.link}`,
    'share-drop': `/s/${drop.link}`,
    'sign-in': '/sign-in',
    register: '/register',
    'reset-password': '/reset-password#token',
    'link-account': '/link-account',
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of Object.entries({
      large: { width: 1920, height: 1080 },
      wide: { width: 1280, height: 800 },
      phone: { width: 390, height: 844 },
      // A window of 1280 × 800 at a zoom of 200 %.
      zoomed: { width: 640, height: 400 },
      sideways: { width: 844, height: 390 },
    }).filter(([size]) => onlySizes.test(size))) {
      const target = join(folder, `${size}-${colorScheme}`)
      await mkdir(target, { recursive: true })
      const take = async (page: Visit, name: string) => {
        await untilStill(page)
        await page.screenshot({ path: join(target, `${name}.png`), animations: 'disabled' })
      }
      t.test(`pages at ${size} width in ${colorScheme} colors`, async t => {
        for (const [name, [path, act]] of Object.entries(pages).filter(([name]) => only.test(name))) {
          const page = await open(t, { viewport, colorScheme })
          await page.goto(path)
          await page.locator('main').first().waitFor()
          await act?.(page)
          await take(page, name)
          await page.context().close()
        }
        for (const [name, path] of Object.entries(publicPages).filter(([name]) => only.test(name))) {
          const page = await visit(files.browser, app, { viewport, colorScheme })
          await page.goto(path)
          await page.getByRole('heading').first().waitFor()
          await take(page, name)
          await page.context().close()
        }
        t.ok(Object.keys(pages).length > 20)
      })
    }
  }
}

/** Pictures with colors of their own, in the shapes of cameras and phones. */
async function photos(): Promise<Record<string, Buffer>> {
  const shapes = [
    [900, 600],
    [600, 900],
    [1200, 600],
    [800, 800],
    [800, 600],
  ] as const
  const made = Array.from({ length: photoCount }, async (_, index) => {
    const [width, height] = shapes[(index * 7) % shapes.length] ?? shapes[0]
    const hue = (index * 47) % 360
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><linearGradient id="g" x2="0" y2="1"><stop stop-color="hsl(${hue},70%,70%)"/><stop offset="1" stop-color="hsl(${(hue + 60) % 360},60%,35%)"/></linearGradient></defs><rect width="100%" height="100%" fill="url(#g)"/><circle cx="70%" cy="30%" r="12%" fill="hsl(50,90%,80%)"/></svg>`
    return [photoName(index), await sharp(Buffer.from(svg)).jpeg().toBuffer()] as const
  })
  return Object.fromEntries(await Promise.all(made))
}

/** Files for each viewer. */
async function library(): Promise<Record<string, string | Buffer>> {
  const picture = (from: string, to: string) =>
    sharp(
      Buffer.from(
        `<svg xmlns="http://www.w3.org/2000/svg" width="1800" height="1200"><defs><linearGradient id="g" x2="0" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient></defs><rect width="100%" height="100%" fill="url(#g)"/><circle cx="70%" cy="30%" r="9%" fill="#fff3c4"/><path d="M0 900 500 500l420 340 300-220 580 380v200H0z" fill="${to}"/></svg>`,
      ),
    )
  const photo = await picture('#8ec5fc', '#2f3e75')
    .withExif({
      IFD0: { Make: 'Acme', Model: 'Alpha 7' },
      IFD2: {
        FNumber: '28/10',
        ExposureTime: '1/250',
        ISOSpeedRatings: '200',
        DateTimeOriginal: '2026:07:01 12:30:00',
      },
      IFD3: {
        GPSLatitudeRef: 'N',
        GPSLatitude: '52/1 31/1 12/1',
        GPSLongitudeRef: 'E',
        GPSLongitude: '13/1 24/1 18/1',
      },
    })
    .jpeg()
    .toBuffer()
  const cover = (from: string, to: string) => picture(from, to).resize(400, 400).png().toBuffer()
  const lines = (chapter: number) => [
    `Chapter ${chapter}`,
    '',
    ...Array.from(
      { length: 40 },
      (_, line) => `Line ${line + 1} of the report${line === 12 ? ' about the harbor' : ''}.`,
    ),
  ]
  const xhtml = (body: string) =>
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>${body}</body></html>`
  return {
    'harbor.jpg': photo,
    'harbor 2.jpg': await picture('#f6d365', '#a2543f').jpeg().toBuffer(),
    'report.pdf': pdf(Array.from({ length: 12 }, (_, index) => lines(index + 1))),
    '01 Waves.mp3': songWithCover(await cover('#a18cd1', '#3a3f8f')),
    '02 Tide.mp3': songWithCover(await cover('#84fab0', '#1d6f7a')),
    '03 Wind.mp3': songWithCover(await cover('#fbc2eb', '#8a3f77')),
    'project.zip': zipOf({
      'README.md': '# Project',
      'src/index.ts': 'export {}',
      'src/app.ts': 'export {}',
      'pictures/plan.png': 'x',
    }),
    'sea.epub': zipOf({
      'META-INF/container.xml':
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
      'book.opf':
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The sea</dc:title><dc:creator>Mona</dc:creator></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
      'a.xhtml': xhtml(
        `<h1>The harbor</h1>${'<p>The boats left the harbor before the sun had risen, and the wind was with them.</p>'.repeat(12)}`,
      ),
    }),
    'sans.ttf': await readFile(
      createRequire(import.meta.url).resolve('pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf'),
    ),
    'letter.rtf': '{\\rtf1\\ansi {\\b Dear harbor office}\\par Thank you for the letter of May.\\par}',
    'model.blend': 'x'.repeat(4000),
  }
}

/** Waits until the texts of the page stay the same. A folder follows its changes with a request that does not end. */
async function untilStill(page: Visit): Promise<void> {
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  let before: string | null = null
  let repeats = 0
  const isStill = async () => {
    const text = await page.locator('body').textContent()
    repeats = text === before ? repeats + 1 : 0
    before = text
    return repeats >= 10
  }
  await until(isStill, { every: 50 })
}
