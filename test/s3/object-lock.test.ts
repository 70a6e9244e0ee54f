/** S3 Object Lock: what is locked stays, as the object or as its version, whatever people use. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectLegalHoldCommand,
  GetObjectLockConfigurationCommand,
  GetObjectRetentionCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { timeOrderedIds } from '../../src/auth/id.ts'
import type { StoragePath } from '../../src/auth/path.ts'
import { claimVersion, deleteVersionRow, insertVersion, markKept, removeVersion } from '../../src/db/file-versions.ts'
import { insertLockIntents, type NewLockIntent } from '../../src/db/object-lock-intents.ts'
import { deleteEndedObjectLocks, findObjectLocks } from '../../src/db/object-locks.ts'
import { createLocks } from '../../src/storage/locks.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { codeOf, createS3World } from './world.ts'

const Bucket = 'files'
const nextId = timeOrderedIds()
const minutes = (count: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + count * 60_000)

t.test('Object Lock over S3', async t => {
  const world = await createS3World(t, { settings: { versionCount: 20, versionDays: 30, trashDays: 30 } })
  const { app, providerId, token } = world
  const owner = world.client((await world.createKey({ scopes: ['admin'] })).s3)
  const writer = world.client()
  const put = (s3: S3Client, Key: string, Body: string, more: Partial<PutObjectCommandInput> = {}) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))
  const configure = (
    s3: S3Client,
    retention: { Mode: 'GOVERNANCE' | 'COMPLIANCE'; Days?: number; Years?: number } | null,
  ) =>
    s3.send(
      new PutObjectLockConfigurationCommand({
        Bucket,
        ObjectLockConfiguration: {
          ObjectLockEnabled: 'Enabled',
          ...(retention && { Rule: { DefaultRetention: retention } }),
        },
      }),
    )
  const retain = (s3: S3Client, Key: string, Mode: 'GOVERNANCE' | 'COMPLIANCE', until: Date, more = {}) =>
    s3.send(new PutObjectRetentionCommand({ Bucket, Key, Retention: { Mode, RetainUntilDate: until }, ...more }))
  const retention = async (Key: string, VersionId?: string) => {
    const { Retention } = await owner.send(new GetObjectRetentionCommand({ Bucket, Key, VersionId }))
    return `${Retention?.Mode} ${Retention?.RetainUntilDate?.toISOString()}`
  }
  const versionsOf = async (Key: string) => {
    const { Versions = [], DeleteMarkers = [] } = await owner.send(
      new ListObjectVersionsCommand({ Bucket, Prefix: Key }),
    )
    const isDeleted = DeleteMarkers.some(marker => marker.Key === Key)
    const ids = Versions.filter(each => each.Key === Key && !each.IsLatest).map(each => each.VersionId ?? '')
    return { isDeleted, ids }
  }
  const contentOf = async (Key: string, VersionId?: string) =>
    text((await owner.send(new GetObjectCommand({ Bucket, Key, VersionId }))).Body as unknown as AsyncIterable<Buffer>)
  const reasonOf = async (mutation: string, type: string, input: object) => {
    const query = `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${mutation === 'delete' ? 'deletedPath' : 'path'} } }`
    const { errors } = await app.graphql(query, { input: { providerId, ...input } }, token)
    return errors[0]?.extensions.reason ?? 'OK'
  }

  await t.test('is switched on by administrators, for storages that keep versions', async t => {
    const read = () => owner.send(new GetObjectLockConfigurationCommand({ Bucket }))
    t.equal(await codeOf(read()), 'ObjectLockConfigurationNotFoundError')
    const lock = { ObjectLockMode: 'COMPLIANCE', ObjectLockRetainUntilDate: minutes(60) } as const
    t.equal(await codeOf(put(owner, 'early', '1', lock)), 'InvalidRequest', 'the bucket has none')
    t.equal((await owner.send(new GetBucketVersioningCommand({ Bucket }))).Status, undefined)
    t.equal(await codeOf(configure(writer, null)), 'AccessDenied')
    const setVersions = (versionCount: number) =>
      app.ask(
        'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
        { input: { id: providerId, versionCount } },
        token,
      )
    await setVersions(0)
    t.equal(await codeOf(configure(owner, null)), 'InvalidBucketState')
    await setVersions(20)
    for (const wrong of [
      { Mode: 'GOVERNANCE', Days: 0 },
      { Mode: 'GOVERNANCE', Years: 101 },
    ] as const) {
      t.equal(await codeOf(configure(owner, wrong)), 'InvalidRetentionPeriod')
    }
    t.equal(await codeOf(configure(owner, { Mode: 'GOVERNANCE', Days: 1, Years: 1 })), 'MalformedXML')
    await configure(owner, null)
    t.match((await read()).ObjectLockConfiguration, { ObjectLockEnabled: 'Enabled' })
    t.equal((await owner.send(new GetBucketVersioningCommand({ Bucket }))).Status, 'Enabled')
  })

  await t.test('a locked object is replaced and deleted over S3 only, and its content stays', async t => {
    const until = minutes(60)
    const lock = { ObjectLockMode: 'COMPLIANCE', ObjectLockRetainUntilDate: until } as const
    t.equal(await codeOf(put(writer, 'a', '1', lock)), 'AccessDenied', 'whoever may only write does not lock')
    await put(owner, 'a', '1', lock)
    const { ObjectLockMode, ObjectLockRetainUntilDate } = await owner.send(new HeadObjectCommand({ Bucket, Key: 'a' }))
    t.same([ObjectLockMode, ObjectLockRetainUntilDate], ['COMPLIANCE', until])
    t.equal(await reasonOf('rename', 'RenameInput', { path: '/a', name: 'b' }), 'ON_HOLD')
    t.equal(await reasonOf('delete', 'DeleteInput', { path: '/a' }), 'ON_HOLD')
    const upload = await app.upload(token, providerId, '/a', 'new', '&conflict=replace')
    t.match(await upload.text(), '"reason":"ON_HOLD"')
    t.equal(await codeOf(owner.send(new DeleteObjectCommand({ Bucket, Key: 'a', VersionId: 'null' }))), 'AccessDenied')

    await put(writer, 'a', '22')
    const [first = ''] = (await versionsOf('a')).ids
    t.equal(await contentOf('a'), '22')
    t.equal(await contentOf('a', first), '1')
    t.equal(await retention('a', first), `COMPLIANCE ${until.toISOString()}`)
    t.equal(await codeOf(retention('a')), 'NoSuchObjectLockConfiguration', 'the new content has no lock')
    t.equal(await codeOf(owner.send(new DeleteObjectCommand({ Bucket, Key: 'a', VersionId: first }))), 'AccessDenied')
    t.equal(await reasonOf('rename', 'RenameInput', { path: '/a', name: 'b' }), 'OK')
    t.equal(await reasonOf('rename', 'RenameInput', { path: '/b', name: 'a' }), 'OK')
    t.equal(await reasonOf('delete', 'DeleteInput', { path: '/a', permanent: true }), 'OK')
    t.equal(await contentOf('a', first), '1', 'a deletion for good leaves locked versions')

    const query = 'query ($id: ID!) { versions(providerId: $id, path: "/a", first: 5) { nodes { id } } }'
    const [{ id }] = (await app.ask(query, { id: providerId }, token)).versions.nodes
    const restore = 'mutation ($id: ID!) { restoreVersion(input: { id: $id }) { path } }'
    await app.ask(restore, { id }, token)
    t.equal(await contentOf('a'), '1')
    t.equal(await contentOf('a', first), '1', 'a restored version stays')
    const { errors } = await app.graphql('mutation ($id: ID!) { deleteVersion(id: $id) }', { id }, token)
    t.equal(errors[0]?.extensions.reason, 'ON_HOLD')
  })

  await t.test('a deleted object is a version behind a delete marker', async t => {
    await put(owner, 'folder/d', '1')
    await retain(owner, 'folder/d', 'COMPLIANCE', minutes(60))
    t.equal(await reasonOf('delete', 'DeleteInput', { path: '/folder', recursive: true }), 'ON_HOLD')
    await writer.send(new DeleteObjectCommand({ Bucket, Key: 'folder/d' }))
    t.equal(await codeOf(contentOf('folder/d')), 'NoSuchKey')
    const { isDeleted, ids } = await versionsOf('folder/d')
    t.ok(isDeleted)
    t.equal(await contentOf('folder/d', ids[0]), '1')
    t.equal(
      await codeOf(owner.send(new DeleteObjectCommand({ Bucket, Key: 'folder/d', VersionId: ids[0] }))),
      'AccessDenied',
    )
    const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
    await put(owner, 'held', '1')
    const { createHold } = await app.ask(hold, { input: { providerId, path: '/held', reason: 'x' } }, token)
    await retain(owner, 'held', 'COMPLIANCE', minutes(60))
    t.equal(await codeOf(put(owner, 'held', '2')), 'AccessDenied', 'a hold of Stowage prevents more')
    t.equal(await codeOf(owner.send(new DeleteObjectCommand({ Bucket, Key: 'held' }))), 'AccessDenied')
    await app.ask('mutation ($id: ID!) { releaseHold(id: $id) { id } }', { id: createHold.id }, token)
    await put(owner, 'held', '2')
  })

  await t.test('nobody shortens COMPLIANCE, and owners bypass GOVERNANCE', async t => {
    await put(owner, 'c', '1')
    await retain(owner, 'c', 'COMPLIANCE', minutes(30))
    await retain(owner, 'c', 'COMPLIANCE', minutes(60))
    const bypass = { BypassGovernanceRetention: true }
    for (const more of [{}, bypass]) {
      t.equal(await codeOf(retain(owner, 'c', 'COMPLIANCE', minutes(30), more)), 'AccessDenied')
      t.equal(await codeOf(retain(owner, 'c', 'GOVERNANCE', minutes(90), more)), 'AccessDenied')
    }
    t.equal(await codeOf(retain(writer, 'c', 'COMPLIANCE', minutes(90))), 'AccessDenied')
    t.match(await codeOf(retain(owner, 'c', 'COMPLIANCE', minutes(-1))), 'InvalidArgument')
    t.equal(await codeOf(retain(owner, 'missing', 'COMPLIANCE', minutes(90))), 'NoSuchKey')

    const until = minutes(60)
    await put(owner, 'g', '1')
    await retain(owner, 'g', 'GOVERNANCE', until)
    t.equal(await codeOf(retain(owner, 'g', 'GOVERNANCE', minutes(30))), 'AccessDenied')
    const admin = await member('ADMIN')
    t.equal(await codeOf(retain(admin, 'g', 'GOVERNANCE', minutes(30), bypass)), 'AccessDenied', 'no owner')
    await retain(admin, 'g', 'GOVERNANCE', minutes(90))
    await retain(owner, 'g', 'GOVERNANCE', until, bypass)
    t.equal(await retention('g'), `GOVERNANCE ${until.toISOString()}`)
    await put(owner, 'g', '2')
    const [VersionId = ''] = (await versionsOf('g')).ids
    const remove = (s3: S3Client, more = {}) =>
      s3.send(new DeleteObjectCommand({ Bucket, Key: 'g', VersionId, ...more }))
    t.equal(await codeOf(remove(owner)), 'AccessDenied')
    t.equal(await codeOf(remove(admin, bypass)), 'AccessDenied')
    await remove(owner, bypass)
    t.same((await versionsOf('g')).ids, [])
  })

  /** Returns a client for a new member with this role. */
  async function member(role: string): Promise<S3Client> {
    const invited = await app.ask(
      'mutation ($role: Role!) { createInvite(input: { role: $role, providerAccess: { all: true } }) { invite } }',
      { role },
      token,
    )
    const joined = await app.register('admin@example.org', { invite: invited.createInvite.invite })
    const created = await app.ask(
      'mutation { createApiKey(input: { name: "s3", scopes: [admin] }) { s3 { accessKeyId secretAccessKey } } }',
      {},
      joined.token,
    )
    return world.client(created.createApiKey.s3)
  }

  await t.test('a legal hold lasts until an owner ends it', async t => {
    t.equal((await put(owner, 'l', '1')).VersionId, 'null', 'clients expect a version')
    const hold = (s3: S3Client, Status: 'ON' | 'OFF', VersionId?: string) =>
      s3.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'l', VersionId, LegalHold: { Status } }))
    const status = async (VersionId?: string) =>
      (await owner.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'l', VersionId }))).LegalHold?.Status
    t.equal(await status(), 'OFF')
    t.equal(await codeOf(hold(writer, 'ON')), 'AccessDenied')
    await hold(owner, 'ON')
    const head = await owner.send(new HeadObjectCommand({ Bucket, Key: 'l' }))
    t.same([head.ObjectLockLegalHoldStatus, head.VersionId], ['ON', 'null'])
    const entry = 'query ($id: ID!) { file(providerId: $id, path: "/l") { hold { reason until } } }'
    t.same((await app.ask(entry, { id: providerId }, token)).file.hold, {
      reason: 'S3 Object Lock: LEGAL_HOLD',
      until: null,
    })
    await put(owner, 'l', '2')
    const [VersionId = ''] = (await versionsOf('l')).ids
    t.equal(await status(VersionId), 'ON')
    t.equal(await codeOf(owner.send(new DeleteObjectCommand({ Bucket, Key: 'l', VersionId }))), 'AccessDenied')
    const { holds } = await app.ask(
      'query ($id: ID!) { holds(providerId: $id, first: 100) { nodes { path reason until } } }',
      { id: providerId },
      token,
    )
    t.match(
      holds.nodes.find((each: { path: string }) => each.path === '/l'),
      { reason: 'S3 Object Lock: LEGAL_HOLD', until: null },
    )
    await hold(owner, 'OFF', VersionId)
    await owner.send(new DeleteObjectCommand({ Bucket, Key: 'l', VersionId }))
    t.same((await versionsOf('l')).ids, [])

    await hold(owner, 'ON')
    const { db } = app
    const { user_id: userId } = await db.selectFrom('entry_holds').select('user_id').limit(1).executeTakeFirstOrThrow()
    const keeping = { id: nextId(new Date()), providerId, path: 'l' as StoragePath, userId: userId ?? '' }
    await insertVersion(db, keeping, 30)
    const locks = async (versionId: string | null) =>
      (await findObjectLocks(db, { providerId, path: keeping.path, versionId })).map(({ id }) => id)
    const [[id = ''], copies] = [await locks(null), await locks(keeping.id)]
    t.equal(copies.length, 1, 'a replacement has begun')
    await app.ask('mutation ($id: ID!) { releaseHold(id: $id) { id } }', { id }, token)
    t.same([await locks(null), await locks(keeping.id)], [[], []], 'its copy ends with the lock')
    await deleteVersionRow(db, keeping.id)
  })

  await atNight(t, 'new objects get the retention of the bucket, however they are stored', async t => {
    await configure(owner, { Mode: 'GOVERNANCE', Days: 2 })
    await put(writer, 'n/put', '1')
    await writer.send(new CopyObjectCommand({ Bucket, Key: 'n/copy', CopySource: `${Bucket}/n/put` }))
    const { UploadId } = await writer.send(new CreateMultipartUploadCommand({ Bucket, Key: 'n/parts' }))
    const part = { Bucket, Key: 'n/parts', UploadId, PartNumber: 1 }
    const { ETag } = await writer.send(new UploadPartCommand({ ...part, Body: '1' }))
    const parts = { MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }
    await writer.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'n/parts', UploadId, ...parts }))
    for (const Key of ['n/put', 'n/copy', 'n/parts']) {
      const { ObjectLockMode, ObjectLockRetainUntilDate } = await writer.send(new HeadObjectCommand({ Bucket, Key }))
      t.equal(ObjectLockMode, 'GOVERNANCE', Key)
      const days = ((ObjectLockRetainUntilDate?.getTime() ?? 0) - Date.now()) / 86_400_000
      t.ok(days > 1.9 && days <= 2, `${days} days`)
    }
    const held = { ObjectLockLegalHoldStatus: 'ON' } as const
    const multipart = await owner.send(new CreateMultipartUploadCommand({ Bucket, Key: 'n/held', ...held }))
    const upload = { Bucket, Key: 'n/held', UploadId: multipart.UploadId }
    const { ETag: tag } = await owner.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: '1' }))
    await owner.send(
      new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: [{ PartNumber: 1, ETag: tag }] } }),
    )
    const { ObjectLockLegalHoldStatus, ObjectLockMode } = await owner.send(
      new HeadObjectCommand({ Bucket, Key: 'n/held' }),
    )
    t.same([ObjectLockLegalHoldStatus, ObjectLockMode], ['ON', 'GOVERNANCE'])
    for (const content of ['2', '3', '4']) await put(writer, 'n/put', content)
    await app.ask(
      'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
      { input: { id: providerId, versionCount: 1 } },
      token,
    )
    await put(writer, 'n/put', '5')
    const { ids } = await versionsOf('n/put')
    t.same(
      await Promise.all(ids.map(id => contentOf('n/put', id))),
      ['4', '3', '2', '1'],
      'locked versions are not among those that are counted',
    )
    await configure(owner, null)
    await put(writer, 'n/put', '6')
    await put(writer, 'n/put', '7')
    await put(writer, 'n/put', '8')
    t.equal((await versionsOf('n/put')).ids.length, 6, 'one version without a lock, and five with one')
  })

  await atNight(t, 'a lock stays with its content when servers are killed and changes meet', async t => {
    const { db } = app
    const path = 'killed' as StoragePath
    const userId = (
      await db.selectFrom('users').select('id').where('email', '=', 'owner@example.org').executeTakeFirstOrThrow()
    ).id
    await put(owner, 'killed', '1')
    await retain(owner, 'killed', 'COMPLIANCE', minutes(30))
    const begin = async () => {
      const version = await insertVersion(db, { id: nextId(new Date()), providerId, path, userId }, 30)
      return { version, locks: async () => findObjectLocks(db, { providerId, path, versionId: version.id }) }
    }
    const current = () => findObjectLocks(db, { providerId, path, versionId: null })
    const [killed, other] = [await begin(), await begin()]
    t.match(await killed.locks(), [{ objectLock: 'COMPLIANCE' }], 'before the file is replaced')
    const end = minutes(60)
    await retain(owner, 'killed', 'COMPLIANCE', end)
    for (const { locks } of [killed, other]) t.match(await locks(), [{ until: end }], 'extended meanwhile')
    await deleteVersionRow(db, killed.version.id)
    t.match(await current(), [{ until: end }], 'nothing was replaced, so the object keeps its lock')
    const content = { size: 1, modifiedAt: null, etag: null }
    await markKept(db, other.version, content, 1)
    t.same(await current(), [], 'the content is a version now')
    t.match(await other.locks(), [{ until: end }])
    t.notOk(await removeVersion(db, { id: other.version.id, state: 'KEPT' }))

    const late = await begin()
    await retain(owner, 'killed', 'GOVERNANCE', end)
    await deleteVersionRow(db, (await begin()).version.id)
    await sql`delete from entry_holds where version_id = ${late.version.id}`.execute(db)
    await markKept(db, late.version, content, 1)
    t.match(await current(), [{ objectLock: 'GOVERNANCE' }], 'a lock of which the version has no copy stays')
    const unsure = await begin()
    await markKept(db, unsure.version, content, 20, { endsLocks: false })
    t.match(await current(), [{ objectLock: 'GOVERNANCE' }], 'nobody knows whether it was replaced')
    t.match(await unsure.locks(), [{ objectLock: 'GOVERNANCE' }])
    await sql`update file_versions set state = 'REMOVING', due_at = now() - interval '1 day' where id = ${unsure.version.id}`.execute(
      db,
    )
    await until(
      async () =>
        (await db.selectFrom('file_versions').select('state').where('id', '=', unsure.version.id).executeTakeFirst())
          ?.state === 'KEPT' || (await claimVersion(db)) === null,
    )
    t.same(
      await db.selectFrom('file_versions').select('state').where('id', '=', unsure.version.id).execute(),
      [{ state: 'KEPT' }],
      'removed while somebody locked it',
    )
    const past = sql<Date>`now() - interval '2 hours'`
    await db.updateTable('entry_holds').set({ held_until: past }).where('version_id', '=', other.version.id).execute()
    t.notOk(await deleteEndedObjectLocks(db))
    t.same(
      (await db.selectFrom('entry_holds').select('id').where('version_id', '=', other.version.id).execute()).length,
      0,
    )
    t.ok(await removeVersion(db, { id: other.version.id, state: 'KEPT' }))
  })

  await t.test('an upload locks its own content, whatever meets it', async t => {
    await configure(owner, { Mode: 'COMPLIANCE', Days: 1 })
    const locks = createLocks(app.db)
    /** Lets an upload wait before it locks its object, until `meanwhile` has ended. */
    const meeting = async (Key: string, meanwhile: () => Promise<unknown>) => {
      const done = Promise.withResolvers<void>()
      const held = locks.exclusively(`version ${providerId}/${Key}`, {}, () => done.promise)
      const putting = put(writer, Key, 'first').then(
        () => 'OK',
        error => error.name,
      )
      await until(async () => (await codeOf(contentOf(Key))) === 'none')
      const other = meanwhile()
      done.resolve()
      await held
      return [await putting, await other]
    }
    t.equal((await meeting('met', async () => await put(writer, 'met', 'second')))[0], 'OK')
    t.equal(await contentOf('met'), 'second')
    t.match(await retention('met'), 'COMPLIANCE')
    const [VersionId = ''] = (await versionsOf('met')).ids
    t.equal(await contentOf('met', VersionId), 'first')
    t.match(await retention('met', VersionId), 'COMPLIANCE')

    const remove = async () => {
      t.equal(await reasonOf('delete', 'DeleteInput', { path: '/lost' }), 'ON_HOLD', 'locked before it is stored')
      await rm(join(world.root, 'lost'))
    }
    const done = Promise.withResolvers<void>()
    const held = locks.exclusively(`version ${providerId}/lost`, {}, () => done.promise)
    const putting = codeOf(put(writer, 'lost', 'first'))
    await until(async () => (await codeOf(contentOf('lost'))) === 'none')
    await remove()
    done.resolve()
    await held
    t.equal(await putting, 'ServiceUnavailable', 'what was deleted meanwhile is not locked, and the client hears it')
    t.equal(await reasonOf('createFolder', 'CreateFolderInput', { path: '/lost' }), 'OK', 'no lock without an object')
    await configure(owner, null)
  })

  await atNight(t, 'an upload whose server is killed before it locks its object leaves a lock', async t => {
    await configure(owner, { Mode: 'COMPLIANCE', Days: 1 })
    await put(writer, 'cut/replaced', 'before')
    await put(writer, 'cut/unlocked', 'before')
    await sql`delete from entry_holds where provider_id = ${providerId}`.execute(app.db)
    const locks = createLocks(app.db)
    const end = Promise.withResolvers<void>()
    const held = locks.exclusively(`version ${providerId}/cut/new`, {}, () => end.promise)
    const putting = put(writer, 'cut/new', 'after')
    await until(async () => (await codeOf(contentOf('cut/new'))) === 'none')
    const waiting = async () => {
      const rows = await sql<{ path: string }>`select path from entry_holds where due_at is not null`.execute(app.db)
      return rows.rows.map(({ path }) => path)
    }
    t.same(await waiting(), ['/cut/new/'])
    t.equal(await codeOf(retention('cut/new')), 'NoSuchObjectLockConfiguration', 'it has no lock yet')
    for (const [mutation, type, input] of [
      ['delete', 'DeleteInput', { path: '/cut/new', permanent: true }],
      ['delete', 'DeleteInput', { path: '/cut', recursive: true }],
      ['rename', 'RenameInput', { path: '/cut/new', name: 'other' }],
    ] as const) {
      t.equal(await reasonOf(mutation, type, input), 'ON_HOLD', `${mutation} ${input.path}`)
    }
    const { userId, workspaceId } = await sql<{ userId: string; workspaceId: string }>`
      select user_id as "userId", workspace_id as "workspaceId" from entry_holds limit 1`
      .execute(app.db)
      .then(({ rows: [row] }) => row ?? { userId: '', workspaceId: '' })
    // An upload that never stored anything, and one whose object another upload has replaced.
    const intent = (
      Key: string,
      seen: NewLockIntent['seen'],
      objectLock: NewLockIntent['objectLock'] = 'COMPLIANCE',
    ) => ({
      id: nextId(new Date()),
      workspaceId,
      providerId,
      path: Key as StoragePath,
      reason: 'A test',
      until: minutes(60),
      userId,
      objectLock,
      seen,
    })
    const { ETag = '' } = await writer.send(new HeadObjectCommand({ Bucket, Key: 'cut/unlocked' }))
    const seen = { size: 6, etag: JSON.parse(ETag), contentTag: null, modifiedAt: null }
    await insertLockIntents(app.db, [intent('cut/unlocked', seen), intent('cut/replaced', null)])
    // An upload that never stored anything, before others stored there.
    const isHeld = async (VersionId?: string) =>
      (await owner.send(new GetObjectLegalHoldCommand({ Bucket, Key: 'cut/others', VersionId }))).LegalHold?.Status
    await insertLockIntents(app.db, [intent('cut/others', null, 'LEGAL_HOLD')])
    await sql`update entry_holds set due_at = now() - interval '1 minute' where object_lock = 'LEGAL_HOLD'`.execute(
      app.db,
    )
    await put(writer, 'cut/others', '1')
    const [lease] = await app.db
      .selectFrom('entry_holds')
      .select('due_at')
      .where('path', '=', '/cut/others/')
      .where('due_at', 'is not', null)
      .execute()
    t.ok(lease?.due_at && lease.due_at > new Date(), 'an upload lets no server guess whose content arrives')
    await put(writer, 'cut/others', '22')
    await sql`update entry_holds set due_at = now() where due_at is not null`.execute(app.db)
    await app.db.transaction().execute(async db => {
      const version = { id: nextId(new Date()), providerId, path: 'cut/replaced' as StoragePath, userId }
      t.ok(await insertVersion(db, version, 30))
      const copies = await findObjectLocks(db, { ...version, versionId: version.id })
      t.match(copies, [{ objectLock: 'COMPLIANCE' }], 'what is replaced meanwhile may be what the upload has stored')
      await deleteVersionRow(db, version.id)
    })
    const other = await app.replica()
    await until(async () => (await waiting()).length === 0)
    t.match(await retention('cut/new'), /^COMPLIANCE/)
    t.match(await retention('cut/replaced'), /^COMPLIANCE/)
    t.equal(await codeOf(retention('cut/unlocked')), 'NoSuchObjectLockConfiguration', 'it was not replaced')
    t.equal(await isHeld(), 'OFF', 'it is of another upload')
    t.equal(await isHeld((await versionsOf('cut/others')).ids[0]), 'OFF', 'as is its earlier version')
    t.match(await retention('cut/others'), /^COMPLIANCE/, 'which has locks of its own')
    await until(async () => {
      const query = '{ auditEvents(filter: { action: HOLD_CREATE }, first: 5) { nodes { path } } }'
      const { auditEvents } = await app.ask(query, {}, token)
      return auditEvents.nodes.some((event: { path: string }) => event.path === '/cut/new') || auditEvents.nodes
    })
    end.resolve()
    await Promise.all([held, putting])
    t.match(await retention('cut/new'), /^COMPLIANCE/, 'the first server was only paused')
    await other.close()
    await configure(owner, null)
  })

  await t.test(
    'a bypass that deletes nothing leaves the retention, and versions of other paths are not found',
    async t => {
      const until = minutes(60)
      await put(owner, 'narrow/b', '1')
      await retain(owner, 'narrow/b', 'GOVERNANCE', until)
      const bypass = { BypassGovernanceRetention: true }
      const wrong = new DeleteObjectCommand({
        Bucket,
        Key: 'narrow/b',
        VersionId: 'null',
        IfMatch: '"other"',
        ...bypass,
      })
      t.equal(await codeOf(owner.send(wrong)), 'PreconditionFailed')
      t.equal(await retention('narrow/b'), `GOVERNANCE ${until.toISOString()}`)
      await put(owner, 'narrow/b', '2')
      const [VersionId = ''] = (await versionsOf('narrow/b')).ids
      await owner.send(
        new PutObjectLegalHoldCommand({ Bucket, Key: 'narrow/b', VersionId, LegalHold: { Status: 'ON' } }),
      )
      const deletion = new DeleteObjectCommand({ Bucket, Key: 'narrow/b', VersionId, ...bypass })
      t.equal(await codeOf(owner.send(deletion)), 'AccessDenied')
      t.equal(await retention('narrow/b', VersionId), `GOVERNANCE ${until.toISOString()}`)
      const basePath = { restrictions: [{ providerId, basePath: '/folder' }] }
      const narrow = world.client((await world.createKey({ scopes: ['admin'], providerAccess: basePath })).s3)
      const of = (Key: string) => narrow.send(new GetObjectRetentionCommand({ Bucket, Key, VersionId }))
      t.equal(await codeOf(of('folder/x')), 'NoSuchKey')
      t.equal(await codeOf(of('narrow/b')), 'AccessDenied')
      t.equal(await codeOf(put(owner, 'a&retention', 'x')), 'none', 'a key is no query')
      t.equal(await contentOf('a&retention'), 'x')
      await put(writer, 'unlocked', '1')
      await put(writer, 'unlocked', '2')
      const [free = ''] = (await versionsOf('unlocked')).ids
      await writer.send(new DeleteObjectCommand({ Bucket, Key: 'unlocked', VersionId: free, ...bypass }))
      t.same((await versionsOf('unlocked')).ids, [], 'a bypass of what has no lock needs no owner')
    },
  )
})
