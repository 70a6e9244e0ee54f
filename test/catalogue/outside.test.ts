/** Whatever others change directly at a back end, a catalogue gets it, and those who follow a folder learn of it. */
import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import t from 'tap'
import { type EventStream, openEvents } from '../support/events.ts'
import { atNight, extent } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { catalogueWorld, converged, type Disk, isComplete } from './world.ts'

const seed = Number(process.env.FAULT_SEED ?? 1)
const rounds = extent({ gate: [1], nightly: Array.from({ length: 20 }, (_, round) => round) })
/** Operations of one round. */
const operations = 80

const { app, token, disk } = await catalogueWorld(t)

/** Waits until the server is told of each change of a storage. */
async function isWatched({ id }: Disk): Promise<void> {
  await until(async () => {
    const row = await app.db
      .selectFrom('catalogues')
      .select(['changes_cursor', 'next_round_at', 'round_started_at'])
      .where('provider_id', '=', id)
      .executeTakeFirst()
    // The first report of a disk follows its first position.
    const isReported = row?.changes_cursor?.endsWith('.1') === false
    return (isReported && row?.round_started_at === null && row.next_round_at.getTime() > Date.now()) || row
  })
  await until(() => isComplete(app, id))
}

const follow = `subscription ($providerId: ID!, $path: String!) {
  entryChanged(providerId: $providerId, path: $path) { kind origin path }
}`

interface Change {
  kind: string
  origin: string
  path: string
}

const changesOf = (stream: EventStream): string[] =>
  stream.received.flatMap(({ data }) => {
    const { kind, origin, path }: Change = data?.entryChanged ?? {}
    return kind === 'TREE_CHANGED' && origin === 'STOWAGE' ? [] : `${origin} ${kind} ${path}`
  })

t.test('a change at the disk is in the catalogue and told to those who follow the folder', async t => {
  const store = await disk('watched')
  await mkdir(store.at('team/plans'), { recursive: true })
  await mkdir(store.at('other'))
  await isWatched(store)
  await converged(app, store)
  const all = await openEvents(app.url, token, follow, { providerId: store.id, path: '/' })
  const providerAccess = { restrictions: [{ providerId: store.id, basePath: '/team' }] }
  const { key } = await app.createKey(token, { name: 'team', scopes: ['read'], providerAccess })
  const team = await openEvents(app.url, key, follow, { providerId: store.id, path: '/team' })
  t.teardown(() => Promise.all([all.close(), team.close()]))
  await until(() => all.received.length > 0 && team.received.length > 0)

  const arrives = (stream: EventStream, change: string) =>
    until(() => changesOf(stream).includes(change) || changesOf(stream))
  await writeFile(store.at('team/plans/a.txt'), 'a')
  await arrives(all, 'OUTSIDE WRITTEN /team/plans/a.txt')
  await arrives(team, 'OUTSIDE WRITTEN /team/plans/a.txt')
  await rename(store.at('team/plans'), store.at('team/drafts'))
  await arrives(team, 'OUTSIDE REMOVED /team/plans')
  await arrives(team, 'OUTSIDE WRITTEN /team/drafts')
  await mkdir(store.at('other/secret'))
  await arrives(all, 'OUTSIDE WRITTEN /other/secret')
  await rm(store.at('team'), { recursive: true })
  await arrives(team, 'OUTSIDE REMOVED /team')
  await converged(app, store)
  t.notMatch(changesOf(team).join(), 'secret', 'nobody learns of a path outside of what they follow')
})

atNight(t, 'a change through the server is not told as one of others', async t => {
  const store = await disk('own')
  await isWatched(store)
  const stream = await openEvents(app.url, token, follow, { providerId: store.id, path: '/' })
  t.teardown(() => stream.close())
  const input = (more: object) => ({ input: { providerId: store.id, ...more } })
  const change = (name: string, type: string, more: object) =>
    app.ask(`mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`, input(more), token)
  await app.upload(token, store.id, '/a/b.txt', 'b')
  await change('move', 'MoveInput', { path: '/a', toPath: '/c' })
  await change('createFolder', 'CreateFolderInput', { path: '/d/e' })
  await app.upload(token, store.id, '/d/e/f', 'f')
  await app.ask(
    'mutation ($input: DeleteInput!) { delete(input: $input) { __typename } }',
    input({ path: '/d', recursive: true, permanent: true }),
    token,
  )
  await converged(app, store)
  // A change by others comes after all of those before it.
  await writeFile(store.at('end'), '')
  await until(() => changesOf(stream).some(each => each.endsWith('/end')) || changesOf(stream))
  t.same(
    changesOf(stream).filter(each => each.startsWith('OUTSIDE')),
    ['OUTSIDE WRITTEN /end'],
  )
})

atNight(t, 'a change through the server is looked at once, and a folder that it creates is not listed', async t => {
  const store = await disk('once')
  await isWatched(store)
  const count = 40
  const changes = async () => {
    const { rows } = await sql<{ last: string }>`
      select last_value as last from catalogue_changes_id_seq`.execute(app.db)
    return Number(rows[0]?.last)
  }
  const before = await changes()
  for (let index = 0; index < count; index++) {
    const input = { providerId: store.id, path: `/folder ${index}` }
    await app.upload(token, store.id, `/file ${index}`, 'x')
    await app.ask('mutation ($input: CreateFolderInput!) { createFolder(input: $input) { path } }', { input }, token)
  }
  await converged(app, store)
  // What the disk reports of the changes before comes with this one at the latest.
  await writeFile(store.at('end'), '')
  await converged(app, store)
  const added = (await changes()) - before
  // A report of a change whose event was written at this very moment is looked at.
  t.ok(added < 2 * count + 20, `${added} changes to look at`)
})

atNight(t, 'a change through the server that takes long is not told as one of others', async t => {
  const store = await disk('slow')
  await isWatched(store)
  const stream = await openEvents(app.url, token, follow, { providerId: store.id, path: '/' })
  t.teardown(() => stream.close())
  const { promise: isEnding, resolve: end } = Promise.withResolvers<void>()
  async function* slowly() {
    yield Buffer.from('begin')
    await isEnding
    yield Buffer.from('end')
  }
  const uploading = app.upload(
    token,
    store.id,
    '/slow.txt',
    Readable.toWeb(Readable.from(slowly())) as ReadableStream,
    '&conflict=replace',
  )
  const running = async () =>
    (await app.db.selectFrom('catalogue_servers').select('running').execute()).flatMap(row => row.running)
  await until(
    async () => isDeepStrictEqual(await running(), [{ providerId: store.id, path: '/slow.txt' }]) || (await running()),
  )
  // As a back end does that shows a file before it is complete.
  await writeFile(store.at('slow.txt'), 'begin')
  await writeFile(store.at('first'), '')
  await until(() => changesOf(stream).some(each => each.endsWith('/first')) || changesOf(stream))
  t.same(
    changesOf(stream).filter(each => each.startsWith('OUTSIDE')),
    ['OUTSIDE WRITTEN /first'],
  )
  end()
  t.ok((await uploading).ok)
  await until(async () => (await running()).length === 0)
})

atNight(t, 'many changes at once are told as one of the folder around them', async t => {
  const store = await disk('many')
  await mkdir(store.at('x/y'), { recursive: true })
  await isWatched(store)
  await converged(app, store)
  const stream = await openEvents(app.url, token, follow, { providerId: store.id, path: '/' })
  t.teardown(() => stream.close())
  await Promise.all(Array.from({ length: 400 }, (_, index) => writeFile(store.at(`x/y/${index}`), '')))
  await until(() => changesOf(stream).includes('OUTSIDE TREE_CHANGED /x/y') || changesOf(stream))
  await converged(app, store)
  t.ok(changesOf(stream).length < 250, `${changesOf(stream).length} events for 400 changes`)
})

const names = ['a', 'a-b', 'b', 'Übung', '東京', 'x.txt']

for (const round of rounds) {
  t.test(`changes by others, with kills, of the seed ${seed + round} converge`, async t => {
    const random = randomNumbers(seed + round)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const path = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(names)).join('/')
    const store = await disk(`outside-${round}`)
    const replica = await app.replica()
    const all: (() => Promise<unknown>)[] = [
      () => writeFile(store.at(path()), 'x'.repeat(Math.floor(random() * 50))),
      () => writeFile(store.at(path()), 'y'),
      () => writeFile(store.at(path()), 'zz'),
      () => writeFile(store.at(path()), ''),
      () => mkdir(store.at(path()), { recursive: true }),
      () => mkdir(store.at(path()), { recursive: true }),
      () => rename(store.at(path()), store.at(path())),
      () => rename(store.at(path()), store.at(path())),
      () => rm(store.at(path()), { recursive: random() < 0.7 }),
      () => rm(store.at(path()), { recursive: random() < 0.7 }),
      () => sleep(300),
      () => app.upload(token, store.id, `/${path()}`, 'own', '&conflict=replace'),
      () => change(store, { changes_server: null }),
      // The server that asks is killed, and the back end has forgotten the position.
      () => change(store, { changes_server: randomUUID(), changes_cursor: 'gone.7' }),
    ]
    let done = 0
    for (let count = 0; count < operations; count++) {
      const isDone = await pick(all)().then(
        () => true,
        () => false,
      )
      if (isDone) done += 1
      if (count === operations / 2) await replica.close()
    }
    t.ok(done > operations / 3, `${done} operations ran`)
    await isWatched(store)
    await converged(app, store)
  })
}

async function change({ id }: Disk, set: { changes_server: string | null; changes_cursor?: string }): Promise<void> {
  await app.db.updateTable('catalogues').set(set).where('provider_id', '=', id).execute()
}
