/** Copies and moves between two providers over the same store lose no byte, with each type of back end. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { azureBlob, type BackEnd, ftp, googleDrive, local, s3, sftp, webdav } from '../hostile/back-ends.ts'
import { dropbox, nextcloud, onedrive } from '../hostile/cloud-back-ends.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { withIds } from '../support/other-ids.ts'
import { aliasOf, everyCase } from './alias-cases.ts'
import { providerClient } from './transfers.ts'

const isThorough = process.env.MATRIX === 'all'

// The servers may need to be installed first.
t.setTimeout(300_000)

const onS3 = isNight ? await s3(t) : null
const backEnds: Record<string, BackEnd> = {
  'a local folder': local(),
  ...(onS3 && {
    'a bucket': onS3,
    'Google Drive': await googleDrive(t),
    'an Azure container': await azureBlob(t),
    'an SFTP server': await sftp(t),
    'an FTP server': await ftp(t),
    Apache: await webdav(t),
    Nextcloud: await nextcloud(t),
    Dropbox: await dropbox(t),
    OneDrive: await onedrive(t),
  }),
}
const adaptersOf = (folder: string): AdapterDefinition[] => {
  const all = Object.values(backEnds).flatMap(({ adapters }) => adapters(folder))
  return [...new Map(all.map(adapter => [adapter.type, adapter])).values()]
}

atNight(t, 'each type of back end is tried', async t => {
  const types = builtInAdapters({ localRoots: [], dataFolder: '/nowhere' }).map(({ type }) => type)
  const tried = new Set(Object.values(backEnds).map(({ type }) => type))
  t.same(
    types.filter(type => !tried.has(type)),
    ['memory'],
    'two providers never share the memory of one',
  )
})

/** Returns a function that creates a store with only the root folders of three providers, and connects these. */
async function storesIn(t: Test, adapters: (folder: string) => AdapterDefinition[]) {
  const app = await startApp(t, { adapters })
  const { token } = await app.register('owner@example.org')
  let count = 0
  return ({ type, config }: BackEnd, changesBelow: object = {}) => {
    const store = `store-${++count}`
    return aliasOf(async folder => {
      const changes = folder === '' ? {} : changesBelow
      const settings = { ...(await config(app.folder, join(store, folder))), ...changes }
      return providerClient(app, token, await app.connectProvider(token, type, settings))
    })
  }
}

t.test('known by their ids', async t => {
  const newStore = await storesIn(t, adaptersOf)
  for (const [title, backEnd] of Object.entries(backEnds)) {
    const isLocal = backEnd.type === 'local'
    await t.test(title, t =>
      everyCase(t, {
        isKnown: true,
        isThorough: isThorough || (isNight && isLocal),
        ...extent({ gate: { numbers: [0, 1, 4, 7, 9] }, nightly: {} }),
        connect: () => newStore(backEnd),
      }),
    )
  }
})

t.test('not known to be one', async t => {
  const newStore = await storesIn(t, folder =>
    adaptersOf(folder).map(adapter => (adapter.type === 'local' ? withIds(adapter, () => undefined) : adapter)),
  )
  await t.test('a local folder without ids', t =>
    everyCase(t, {
      isKnown: false,
      isThorough: isThorough || isNight,
      // A move onto itself, and a copy into itself.
      ...extent({ gate: { numbers: [1, 8] }, nightly: {} }),
      connect: () => newStore(local()),
    }),
  )
  await atNight(t, 'a bucket through two host names', async t => {
    if (!onS3) throw new Error('There is no bucket')
    const { endpoint } = (await onS3.config('')) as { endpoint: string }
    const other = endpoint.replace('127.0.0.1', 'localhost')
    t.not(other, endpoint)
    await everyCase(t, {
      isKnown: false,
      isThorough: isThorough || isNight,
      connect: () => newStore(onS3, { endpoint: other }),
    })
  })
})
