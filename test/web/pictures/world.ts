/** The workspace of a small studio, which the pictures of the console show. */
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { PutObjectLockConfigurationCommand, PutObjectRetentionCommand, S3Client } from '@aws-sdk/client-s3'
import { TOTP } from 'otpauth'
import { applicationOf } from '../../support/applications.ts'
import { makeShare } from '../../support/shares.ts'
import { until } from '../../support/until.ts'
import { davClient, lockInfo } from '../../webdav/client.ts'
import type { FilesApp } from '../files.ts'
import { landscape, library, photoCount, photoName, photos, teamFiles } from './files.ts'

/** The addresses of what the pages show. */
export interface Places {
  team: string
  album: string
  library: string
  empty: string
  bin: string
  trash: string
  emptyTrash: string
  insight: string
  /** The query of an application that asks for consent. */
  consent: string
  view: string
  photo: string
  gallery: string
  drop: string
}

/** Addresses of the same form, for the test that compares the pages with the routes. */
export const samplePlaces: Places = {
  team: '/files/1',
  album: '/files/2',
  library: '/files/3',
  empty: '/files/4',
  bin: '/files/5',
  trash: '/trash/5',
  emptyTrash: '/trash/1',
  insight: '/insight/2',
  consent: 'client_id=1',
  view: '/s/1',
  photo: '/s/2',
  gallery: '/s/3',
  drop: '/s/4',
}

export interface World {
  files: FilesApp
  places: Places
  teamId: string
  binId: string
  /** The token of the owner. */
  token: string
  /** A key of an agent, whose deletions wait for approval. */
  agentKey: string
}

const far = new Date(Date.UTC(2040, 0, 1))

/** Makes the workspace. */
export async function makeWorld(files: FilesApp): Promise<World> {
  const { app, owner, store } = files
  const { token } = owner
  const ask = (query: string, variables: Record<string, unknown> = {}, as = token) => app.ask(query, variables, as)
  const call = (name: string, type: string, input: object, fields: string, as = token) =>
    ask(`mutation ($input: ${type}!) { ${name}(input: $input) ${fields} }`, { input }, as)
  const named = (name: string, as: string) => call('updateProfile', 'UpdateProfileInput', { name }, '{ id }', as)
  await named('Ada Lind', token)
  await call('updateWorkspace', 'UpdateWorkspaceInput', { name: 'Harbor Studio', brandText: 'Harbor Studio' }, '{ id }')
  const join = async (email: string, name: string, input: object) => {
    const { createInvite } = await call('createInvite', 'CreateInviteInput', input, '{ invite }')
    const member = await app.register(email, { invite: createInvite.invite })
    await named(name, member.token)
    return member
  }

  const team = await store('Team disk', await teamFiles())
  const { id } = team
  const viewers = await store('Library', await library())
  const album = await store('Photo archive', await photos())
  await Promise.all(
    Array.from({ length: photoCount }, (_, index) => {
      const at = new Date(2026, 9 - Math.floor(index / 14), 20, 12, 0, 40 - (index % 40))
      return utimes(album.at(photoName(index)), at, at)
    }),
  )
  const mona = await join('mona@example.org', 'Mona Berg', { role: 'EDITOR', note: 'Mona' })
  await call('createInvite', 'CreateInviteInput', { role: 'VIEWER', note: 'Nina from accounting' }, '{ invite }')
  await app.createKey(token, { name: 'Nightly backup', scopes: ['write'] })
  const bin = await store('Old projects', {
    'Reports/2026/budget of the whole year, with everything.xlsx': 'x'.repeat(48_000),
    'Photos/beach.jpg': 'x'.repeat(120_000),
    'old offer.docx': 'x'.repeat(64_000),
    'kept.txt': 'Keep this.\n',
    'Contracts/signed/museum.txt': 'Port Museum, twelve prints',
    'Contracts/frames.txt': 'Oak, forty pieces',
    'Contracts/printer.txt': 'Until the end of the year',
    'Old contracts/2024.txt': 'Ended',
    'Old contracts/2025.txt': 'Ended',
  })
  await ask('mutation ($id: ID!) { updateProvider(input: { id: $id, trashDays: 30 }) { id } }', { id: bin.id })
  for (const path of ['/Reports/2026/budget of the whole year, with everything.xlsx', '/Photos', '/old offer.docx']) {
    await call('delete', 'DeleteInput', { providerId: bin.id, path, recursive: true }, '{ deletedPath }')
  }
  await keepVersions(id)
  await app.upload(mona.token, id, '/notes.txt', 'The printer has called back.\n', '&conflict=replace')
  await writeDrafts()
  await protectSome()
  await keepCopies('Reports', '/Reports', [id, album.id])
  await damageCopies()
  const restrictions = ['/Photos', '/Reports'].map(basePath => ({ providerId: id, basePath }))
  const jonas = await join('jonas@example.org', 'Jonas Weber', { role: 'VIEWER', providerAccess: { restrictions } })
  const group = (input: object) => call('createGroup', 'CreateGroupInput', input, '{ group { id } }')
  const writers = { name: 'People who write reports', role: 'EDITOR', providerAccess: { restrictions } }
  const { createGroup } = await group(writers)
  await group({ name: 'Administrators', role: 'ADMIN' })
  const { createServiceAccount } = await call(
    'createServiceAccount',
    'CreateServiceAccountInput',
    { name: 'Backup of the office', role: 'EDITOR' },
    '{ id }',
  )
  const add = 'mutation ($groupId: ID!, $userId: ID!) { addGroupMember(groupId: $groupId, userId: $userId) { id } }'
  for (const userId of [jonas.id, createServiceAccount.id]) await ask(add, { groupId: createGroup.group.id, userId })

  const note = 'The pictures of this year. Please look at them before Friday.'
  const share = (input: object, as = token) => makeShare(app, as, { providerId: id, ...input })
  const view = await share({ path: '/', note })
  const photo = await share({ path: '/Photos/harbor.jpg', note, expiresAt: far })
  const gallery = await share({ providerId: album.id, path: '/' })
  const drop = await share({ kind: 'DROP', path: '/Photos', fileTypes: ['jpg', 'png'], note: 'Your pictures, please.' })
  await share({ path: '/Reports', userIds: [owner.id], note, expiresAt: far }, mona.token)
  await share({ path: '/Interview.mp3', userIds: [owner.id], password: 'a password' }, mona.token)
  await share({ path: '/Photos/coast.jpg', userIds: [owner.id] }, mona.token)
  const audience = { userIds: [mona.id, jonas.id], groupIds: [createGroup.group.id] }
  await share({ path: '/Offer Meyer.docx', ...audience, expiresAt: far })
  await share({ path: '/Offer Meyer.docx' })
  await markSome()
  await discuss()
  await changeSome()
  const hook = { name: 'Print queue', url: 'https://hooks.example.org/stowage', events: ['FILE_UPLOADED', 'JOB_ENDED'] }
  await call('createWebhook', 'CreateWebhookInput', hook, '{ webhook { id } }')
  const application = applicationOf(app)
  const agent = await application.register({ client_name: 'Writing agent' })
  await application.connect(token, { scopes: ['read'] })
  const { key: agentKey } = await app.createKey(token, { name: 'Agent', scopes: ['write'] })
  await ask('mutation { updateWorkspace(input: { approvals: [DELETION] }) { id } }')
  await protectAccount()
  await app.app.services.audit.flush()
  const places = {
    team: team.page,
    album: album.page,
    library: viewers.page,
    empty: `${bin.page}/Old contracts`,
    bin: bin.page,
    trash: `/trash/${bin.id}`,
    emptyTrash: `/trash/${id}`,
    insight: `/insight/${album.id}`,
    consent: application.request(agent).query,
    view: `/s/${view.link}`,
    photo: `/s/${photo.link}`,
    gallery: `/s/${gallery.link}`,
    drop: `/s/${drop.link}`,
  }
  return { files, places, teamId: id, binId: bin.id, token, agentKey }

  /** Sets up an authenticator app for the owner. */
  async function protectAccount(): Promise<void> {
    const { totpSetup } = await ask('{ totpSetup { secret ticket } }')
    const code = new TOTP({ secret: totpSetup.secret }).generate()
    await call('addTotp', 'AddTotpInput', { ticket: totpSetup.ticket, code }, '{ recoveryCodes }')
  }

  async function keepVersions(providerId: string): Promise<void> {
    await ask('mutation ($id: ID!) { updateProvider(input: { id: $id, versionCount: 20 }) { id } }', { id: providerId })
  }

  /** Makes a text with three versions. */
  async function writeDrafts(): Promise<void> {
    const plan = (parts: readonly string[]) =>
      [...parts, ...Array.from({ length: 30 }, (_, index) => `Step ${index + 1} of the plan.`), ''].join('\n')
    for (const parts of [
      ['# Plan', '', 'What we do first.'],
      ['# Plan of this year', '', 'What we do first.', 'And what comes after that.'],
      ['# Plan of this year', '', 'What we do next.', 'And what comes after that: frames, prints and the first room.'],
    ])
      await app.upload(token, id, '/draft.md', plan(parts), '&conflict=replace')
  }

  /** Makes a lock, a hold, a retention of S3, and a quota. */
  async function protectSome(): Promise<void> {
    const hold = { providerId: id, path: '/Brand fonts.zip', reason: 'License 4711', until: far }
    await call('createHold', 'CreateHoldInput', hold, '{ id }')
    await call('setQuota', 'SetQuotaInput', { providerId: id, bytes: 20_000_000, files: 300 }, '{ id }')
    const make =
      'mutation { createApiKey(input: { name: "Archive program", scopes: [admin] }) { key s3 { accessKeyId secretAccessKey endpoint } } }'
    const { key, s3 } = (await ask(make)).createApiKey
    const headers = { depth: '0', timeout: 'Second-3600' }
    await davClient(app, key)('LOCK', '/team-disk/Interview.mp3', { body: lockInfo(), headers })
    const client = new S3Client({ ...s3, credentials: s3, region: 'us-east-1', forcePathStyle: true })
    const Bucket = 'team-disk'
    const ObjectLockConfiguration = { ObjectLockEnabled: 'Enabled' } as const
    await client.send(new PutObjectLockConfigurationCommand({ Bucket, ObjectLockConfiguration }))
    const Retention = { Mode: 'COMPLIANCE', RetainUntilDate: far } as const
    await client.send(new PutObjectRetentionCommand({ Bucket, Key: 'Contract 4711.pdf', Retention }))
    client.destroy()
  }

  async function jobEnds(jobId: string): Promise<void> {
    await until(async () => {
      const { job } = await ask('query ($id: ID!) { job(id: $id) { state } }', { id: jobId })
      return ['SUCCEEDED', 'FAILED'].includes(job.state) || job
    })
  }

  /** Keeps copies of a folder, and checks them once. Returns a function that checks them again. */
  async function keepCopies(name: string, path: string, providerIds: readonly string[]): Promise<() => Promise<void>> {
    const sources = providerIds.map(providerId => ({ providerId, path }))
    const job = { kind: 'KEEP_COPIES', sources, repair: true, recheckDays: 0 }
    const input = { name, cron: '0 3 * * *', timeZone: 'UTC', job }
    const { createSchedule } = await call('createSchedule', 'CreateScheduleInput', input, '{ schedule { id } }')
    const run = 'mutation ($id: ID!) { runSchedule(id: $id) { id } }'
    const check = async () => jobEnds((await ask(run, { id: createSchedule.schedule.id })).runSchedule.id)
    await check()
    return check
  }

  /** Makes copies that are damaged, and one of a folder that is empty now. */
  async function damageCopies(): Promise<void> {
    await keepVersions(bin.id)
    const vault = await store('Vault')
    await keepVersions(vault.id)
    const check = await keepCopies('Damaged contracts', '/Contracts', [bin.id, vault.id])
    const damaged = vault.at('Contracts/signed/museum.txt')
    const { atime, mtime } = await stat(damaged)
    const content = await readFile(damaged, 'utf8')
    await writeFile(damaged, content.replace('o', 'O'))
    await utimes(damaged, atime, mtime)
    await rm(vault.at('Contracts/frames.txt'))
    await writeFile(vault.at('Contracts/printer.txt'), 'of somebody')
    await check()
    const again = await keepCopies('Empty contracts', '/Old contracts', [bin.id, vault.id])
    for (const name of ['2024.txt', '2025.txt']) await rm(bin.at(`Old contracts/${name}`))
    await again()
  }

  /** Gives stars and tags. */
  async function markSome(): Promise<void> {
    const at = (path: string) => ({ providerId: id, path })
    const toPhoto = (name: string) => `/Photos/${name}.jpg`
    for (const path of [
      '/Reports/plan.md',
      '/Budget 2027.xlsx',
      ...['ridge', 'harbor', 'dunes'].map(toPhoto),
      '/Photos',
    ]) {
      await call('addStar', 'LocationInput', at(path), '')
    }
    for (const path of ['/Invoice 2026-11.pdf', '/Offer Meyer.docx']) {
      await call('updateTags', 'UpdateTagsInput', { ...at(path), add: ['Invoice'] }, '')
    }
    await call('updateTags', 'UpdateTagsInput', { ...at('/Photos/harbor.jpg'), add: ['Exhibition'] }, '')
  }

  async function discuss(): Promise<void> {
    const say = (path: string, text: string, as: string) =>
      call('createComment', 'CreateCommentInput', { providerId: id, path, text }, '{ id }', as)
    await say('/Release video.mp4', 'May be shown on Friday.\nThe plan is at https://example.org/plan.', token)
    await say('/Release video.mp4', `@[${owner.id}] The last minute has no sound. Is there another copy?`, mona.token)
    await say('/Photos/harbor.jpg', 'This one for the first room.', mona.token)
  }

  /** Makes the changes that the page of activity lists. */
  async function changeSome(): Promise<void> {
    const at = (path: string) => ({ providerId: id, path })
    await call('createFolder', 'CreateFolderInput', at('/Projects/Cirrus'), '{ __typename }', mona.token)
    for (const name of ['sketch 1.md', 'sketch 2.md', 'sketch 3.md']) {
      await app.upload(mona.token, id, `/Projects/Cirrus/${name}`, '# Cirrus\n')
    }
    const rename = { ...at('/Projects/Cirrus/sketch 3.md'), name: 'brief.md' }
    await call('rename', 'RenameInput', rename, '{ __typename }', mona.token)
    const job = { kind: 'COPY', sources: [at('/Photos')], target: at('/Projects/Cirrus'), conflict: 'RENAME' }
    const { createJob } = await call('createJob', 'CreateJobInput', job, '{ job { id } }', mona.token)
    await jobEnds(createJob.job.id)
    // The first page shows the last of them, which have pictures.
    const names = ['north wall', 'quay', 'mole', 'lighthouse', 'evening', 'harbor at night']
    for (const [index, name] of names.entries()) {
      const picture = await landscape(index * 3 + 1 + (index % 2))
        .jpeg({ quality: 82 })
        .toBuffer()
      await app.upload(mona.token, id, `/Photos/Exhibition/${name}.jpg`, picture)
    }
  }
}
