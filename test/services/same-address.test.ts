/** Copies and moves between two accounts whose files have the same address. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { startAccounts } from '../servers/webdav.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { withIds } from '../support/other-ids.ts'
import { runJob } from './jobs-world.ts'
import { type ProviderClient, providerClient } from './transfers.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const users = ['mine', 'theirs'] as const
const server = await startAccounts(t, users)
const app = await startApp(t, {
  adapters: folder => [
    webdavAdapter as AdapterDefinition,
    withIds(
      localAdapter({ localRoots: [folder], dataFolder: '/nowhere' }) as AdapterDefinition,
      path => `same:${path}`,
    ),
  ],
})
const { token } = await app.register('owner@example.org')

type Accounts = Record<(typeof users)[number], ProviderClient>

async function accountsAt(type: string, configOf: (user: string) => object): Promise<Accounts> {
  const [mine, theirs] = await Promise.all(
    users.map(async user => providerClient(app, token, await app.connectProvider(token, type, configOf(user), user))),
  )
  if (!mine || !theirs) throw new Error('Each user has a provider')
  return { mine, theirs }
}

/** Copies or moves a file to the same path of the other account. Returns the answer, and what both accounts then have. */
async function transfer({ mine, theirs }: Accounts, operation: 'copy' | 'move', conflict: string, path: string) {
  await mine.put(path, 'mine')
  await theirs.put(path, 'of theirs')
  const answer = await mine.run(operation, { path, toProviderId: theirs.providerId, toPath: path, conflict })
  return { answer, mine: await mine.get(path), theirs: await theirs.get(path) }
}

atNight(t, 'the accounts of a WebDAV server are two stores', async t => {
  const accounts = await accountsAt('webdav', user => ({ url: server.url, user, password: 'any' }))
  for (const operation of ['copy', 'move'] as const) {
    const path = `/${operation}.txt`
    const kept = { mine: 'mine', theirs: 'of theirs' }
    t.match(await transfer(accounts, operation, 'FAIL', path), { answer: 'ALREADY_EXISTS', ...kept })
    const source = operation === 'move' ? null : 'mine'
    t.match(await transfer(accounts, operation, 'REPLACE', path), { answer: { path }, mine: source, theirs: 'mine' })
    const answer = { path: `/${operation} (1).txt` }
    t.match(await transfer(accounts, operation, 'RENAME', path), { answer, mine: source, theirs: 'of theirs' })

    const { mine, theirs } = accounts
    const folder = `/${operation}`
    await mine.put(`${folder}/deep/file`, 'mine')
    const input = { path: folder, toProviderId: theirs.providerId, toPath: folder }
    t.match(await mine.run(operation, input), { path: folder })
    t.equal(await theirs.get(`${folder}/deep/file`), 'mine')
    t.equal(await mine.get(`${folder}/deep/file`), source)
  }
})

t.test('accounts that the ids do not tell apart lose nothing', async t => {
  await Promise.all(users.map(user => mkdir(join(app.folder, user))))
  const accounts = await accountsAt('local', user => ({ root: join(app.folder, user) }))
  const { mine, theirs } = accounts
  const kept = { mine: 'mine', theirs: 'of theirs' }
  for (const operation of ['copy', 'move'] as const) {
    for (const conflict of ['FAIL', 'REPLACE', 'RENAME']) {
      const isCopied = operation === 'copy' && conflict === 'RENAME'
      const answer = isCopied ? { path: '/file (1).txt' } : 'ALREADY_EXISTS'
      t.match(
        await transfer(accounts, operation, conflict, '/file.txt'),
        { answer, ...kept },
        `${operation} ${conflict}`,
      )
    }
  }
  for (const [kind, conflict] of [
    ['COPY', 'REPLACE'],
    ['COPY', 'NEWER'],
    ['MOVE', 'REPLACE'],
    ['SYNC', undefined],
  ]) {
    const sources = [{ providerId: mine.providerId, path: '/file.txt' }]
    const target = { providerId: theirs.providerId, path: '/' }
    const job = await runJob({ app, token }, { kind, sources, target, ...(conflict && { conflict }) })
    t.match(job, { state: 'FAILED', progress: { skipped: 0, failed: 1 } }, `${kind} ${conflict}`)
    t.match(job.failures.nodes, [{ path: '/file.txt', reason: 'ALREADY_EXISTS' }])
    t.same({ mine: await mine.get('/file.txt'), theirs: await theirs.get('/file.txt') }, kept)
  }
})
