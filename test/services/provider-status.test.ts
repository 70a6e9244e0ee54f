/** The status of a provider follows what calls to its back end show, without a test. */
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { StorageError } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { faultyAdapter } from '../support/faulty-adapter.ts'
import { until } from '../support/until.ts'

const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
const statuses = 'query ($id: ID!) { provider(id: $id) { status statusReason } }'
const list =
  'query ($providerId: ID!, $path: String!) { folder(providerId: $providerId, path: $path) { entries { nodes { name } } } }'

t.test('a folder that disappears and comes back is seen by the next call', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const owner = await app.register('owner@example.org')
  const { createInvite } = await app.ask(invite, { input: { role: 'EDITOR' } }, owner.token)
  const editor = await app.register('editor@example.org', { invite: createInvite.invite })
  const root = join(app.folder, 'disk')
  await mkdir(root)
  const id = await app.connectProvider(owner.token, 'local', { root }, 'disk')
  const status = async (token = owner.token) => (await replica.ask(statuses, { id }, token)).provider
  const listed = (path = '/') => app.graphql(list, { providerId: id, path }, editor.token)
  t.same((await listed()).errors, [])
  t.match((await listed('/missing')).errors, [{ extensions: { reason: 'NOT_FOUND' } }])
  t.same(await status(), { status: 'CONNECTED', statusReason: null })
  await rename(root, `${root}-away`)
  t.match((await listed('/any/folder')).errors, [{ extensions: { reason: 'UNAVAILABLE' } }])
  await until(async () => (await status()).status === 'UNAVAILABLE')
  t.match((await status()).statusReason, /may be unmounted/)
  t.same(await status(editor.token), { status: 'UNAVAILABLE', statusReason: null }, 'the reason is for administrators')
  await rename(`${root}-away`, root)
  t.same((await listed()).errors, [])
  await until(async () => (await status()).status === 'CONNECTED')
  t.same(await status(), { status: 'CONNECTED', statusReason: null })
})

atNight(t, 'only failures of the whole back end count, and a flood of them writes little', async t => {
  const faults = faultyAdapter()
  const written: string[] = []
  const app = await startApp(t, {
    adapters: [faults],
    onQuery: ({ sql }) => {
      if (sql.startsWith('update "providers"')) written.push(sql)
    },
  })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, 'faulty', { name: 'files' })
  const status = async () => (await app.ask(statuses, { id }, token)).provider
  const listed = (path = '/') => app.graphql(list, { providerId: id, path }, token)
  const fails = (code: ConstructorParameters<typeof StorageError>[0]) => {
    faults.before = () => {
      throw new StorageError(code, `It is ${code}.`)
    }
  }
  const reasons = ['PERMISSION_DENIED', 'RATE_LIMITED', 'QUOTA_EXCEEDED', 'NOT_A_DIRECTORY'] as const
  for (const code of reasons) {
    fails(code)
    t.equal((await listed()).errors.length, 1)
  }
  fails('NOT_FOUND')
  await listed('/sub')
  t.equal(written.length, 0, 'one path that fails says nothing about the back end')
  for (const code of ['UNAVAILABLE', 'UNAUTHORIZED'] as const) {
    fails(code)
    await listed('/sub')
    await until(async () => (await status()).statusReason === `It is ${code}.`)
  }
  faults.before = () => {}
  await listed()
  await until(async () => (await status()).status === 'CONNECTED')
  fails('NOT_FOUND')
  t.match((await listed()).errors, [{ extensions: { reason: 'UNAVAILABLE' } }], 'the top folder always exists')
  await until(async () => (await status()).status === 'UNAVAILABLE')
  t.match((await status()).statusReason, /top folder of this storage is missing/)

  written.length = 0
  const begin = performance.now()
  for (let call = 0; call < 200; call++) {
    if (call % 2) fails('UNAVAILABLE')
    else faults.before = () => {}
    await listed()
  }
  const seconds = (performance.now() - begin) / 1000
  t.ok(written.length <= seconds + 2, `${written.length} statements in ${seconds} s`)
  faults.before = () => {}
  await listed()
  await until(async () => (await status()).status === 'CONNECTED')
})
