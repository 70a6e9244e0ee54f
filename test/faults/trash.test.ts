/**
 * Stops a server between any two steps of a deletion, a restore and an emptying of the trash. Another server finishes them: nothing
 * is lost, and nothing is listed that is not there. If the first server was only paused, it then continues.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { bundle } from '../support/bundle.ts'
import { client } from '../support/client.ts'
import { atNight, extent, inTurn, isNight } from '../support/extent.ts'
import { startProgram } from '../support/program.ts'
import { until } from '../support/until.ts'
import { gated, type Moment } from './gated-adapter.ts'

const secret = 'a secret that only these tests have'
const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { trashItem { id } } }'
const trash = 'query ($id: ID!) { trash(providerId: $id) { nodes { id originalPath } } }'
const restore = 'mutation ($input: RestoreInput!) { restore(input: $input) { path } }'
const empty = 'mutation ($id: ID!) { emptyTrash(providerId: $id) }'

/** Stops one call to the back end, before or after the back end has carried it out. */
class Gate {
  #stopped = Promise.withResolvers<void>()
  #released = Promise.withResolvers<void>()
  #isArmed = false
  #stops: (method: string, path: string, moment: Moment) => boolean = () => false

  /** Stops the first call for which `stops` returns true. */
  arm(stops: (method: string, path: string, moment: Moment) => boolean): void {
    this.#stopped = Promise.withResolvers()
    this.#released = Promise.withResolvers()
    this.#stops = stops
    this.#isArmed = true
  }

  get stopped(): Promise<void> {
    return this.#stopped.promise
  }

  release(): void {
    this.#isArmed = false
    this.#released.resolve()
  }

  async pass(method: string, path: string, moment: Moment): Promise<void> {
    if (!this.#isArmed || !this.#stops(method, path, moment)) return
    this.#isArmed = false
    this.#stopped.resolve()
    await this.#released.promise
  }
}

interface World {
  gate: Gate
  app: TestApp
  token: string
  providerId: string
  root: string
  /** Starts a server that finds everything that the first one has begun. */
  takeOver(): Promise<TestApp>
  /** The paths that the trash lists. */
  listed(): Promise<string[]>
  /** The names in the folder of deleted entries. */
  kept(): Promise<string[]>
}

/** @param workers 0 for a first server that leaves jobs to others */
async function startWorld(t: Test, hasMove = true, workers?: 0): Promise<World> {
  const gate = new Gate()
  const settings = { trashDays: 30 }
  const app = await startApp(t, {
    secret,
    settings: { ...settings, ...(workers !== undefined && { workers }) },
    adapters: folder => [gated(folder, hasMove, gate)],
  })
  const { token } = await app.register('owner@example.org')
  const root = join(app.folder, 'files')
  await mkdir(root)
  const providerId = await app.connectProvider(token, 'local', { root })
  if (!hasMove) {
    const days = 'mutation ($id: ID!) { updateProvider(input: { id: $id, trashDays: 30 }) { id } }'
    await app.ask(days, { id: providerId }, token)
  }
  t.teardown(() => gate.release())
  return {
    gate,
    app,
    token,
    providerId,
    root,
    async takeOver() {
      // As if the leases of the first server had ended.
      await sql`update trash_items set due_at = now() where state <> 'TRASHED'`.execute(app.db)
      await sql`update jobs set lease_id = gen_random_uuid(), lease_until = now() where state = 'RUNNING'`.execute(
        app.db,
      )
      return app.replica({ settings, adapters: [gated(app.folder, hasMove)] })
    },
    listed: async () =>
      (await app.ask(trash, { id: providerId }, token)).trash.nodes.map(
        ({ originalPath }: { originalPath: string }) => originalPath,
      ),
    kept: () => readdir(join(root, '.stowage-trash')).catch(() => []),
  }
}

const isMoveToTrash = (moment: Moment) => (method: string, path: string, at: Moment) =>
  method === 'move' && !path.startsWith('.stowage-trash') && at === moment
const isMoveBack = (moment: Moment) => (method: string, path: string, at: Moment) =>
  method === 'move' && path.startsWith('.stowage-trash') && at === moment
const isPurge = (moment: Moment) => (method: string, path: string, at: Moment) =>
  method === 'delete' && path.startsWith('.stowage-trash') && at === moment

const states = async ({ app }: World): Promise<string[]> =>
  (await sql<{ state: string }>`select state from trash_items order by id`.execute(app.db)).rows.map(row => row.state)

t.test('a deletion that stops before its rename leaves the file, and one that stops after it is listed', async t => {
  for (const moment of inTurn(['before', 'after'] as const)) {
    const world = await startWorld(t)
    const { gate, app, token, providerId, root } = world
    await writeFile(join(root, 'file.txt'), 'bytes')
    gate.arm(isMoveToTrash(moment))
    const deleting = app.graphql(remove, { input: { providerId, path: '/file.txt' } }, token)
    await gate.stopped
    t.same([await states(world), await world.listed()], [['TRASHING'], []], 'hidden until it is decided')
    const other = await world.takeOver()
    if (moment === 'before') {
      // Another server has looked where the file is, and looks again later.
      const later = sql`select 1 from trash_items where due_at > now() + interval '30 minutes'`
      await until(async () => (await later.execute(app.db)).rows.length === 1)
      t.same([await readFile(join(root, 'file.txt'), 'utf8'), await world.listed()], ['bytes', []])
    } else await until(async () => `${await world.listed()}` === '/file.txt')
    t.equal((await world.kept()).length, moment === 'after' ? 1 : 0)

    gate.release()
    t.same((await deleting).errors, [], 'the first server was only paused')
    t.same([await world.listed(), (await world.kept()).length], [['/file.txt'], 1])
    const [{ id }] = (await app.ask(trash, { id: providerId }, token)).trash.nodes
    await other.ask(restore, { input: { id } }, token)
    t.equal(await readFile(join(root, 'file.txt'), 'utf8'), 'bytes')
    await other.close()
  }
})

atNight(t, 'a row whose file never got to the trash is forgotten', async t => {
  const world = await startWorld(t)
  const { gate, app, token, providerId, root } = world
  await writeFile(join(root, 'file.txt'), 'bytes')
  gate.arm(isMoveToTrash('before'))
  const deleting = app.graphql(remove, { input: { providerId, path: '/file.txt' } }, token)
  await gate.stopped
  await sql`update trash_items set deleted_at = now() - interval '2 days'`.execute(app.db)
  const other = await world.takeOver()
  await until(async () => (await states(world)).length === 0)
  gate.release()
  await deleting
  t.same([await world.listed(), (await world.kept()).length], [['/file.txt'], 1], 'a very late server stores it again')
  await other.close()
})

t.test('a restore that stops is either undone or done, and its stars follow', async t => {
  // Where the back end moves nothing, the file is copied and then deleted from the trash.
  const cases = [
    [true, 'before'],
    [true, 'after'],
    [false, 'after'],
  ] as const
  for (const [hasMove, moment] of extent({ gate: cases.slice(0, 1), nightly: [...cases] })) {
    const world = await startWorld(t, hasMove)
    const { gate, app, token, providerId, root } = world
    const file = join(root, 'tree/file.txt')
    await mkdir(join(root, 'tree'))
    await writeFile(file, 'bytes')
    const star = 'mutation ($at: LocationInput!) { addStar(input: $at) }'
    await app.ask(star, { at: { providerId, path: '/tree/file.txt' } }, token)
    const starred = async () =>
      (await sql<{ path: string }>`select path from entry_stars`.execute(app.db)).rows.map(({ path }) => path)
    const deleted = hasMove ? '/tree' : '/tree/file.txt'
    const below = hasMove ? '/file.txt/' : '/'
    const { id } = (await app.ask(remove, { input: { providerId, path: deleted, recursive: true } }, token)).delete
      .trashItem
    const [inTrash = ''] = await starred()
    t.ok(inTrash.startsWith('/.stowage-trash/') && inTrash.endsWith(below))
    // Another entry has taken the path meanwhile, so the restored one gets another name.
    await (hasMove ? mkdir(join(root, 'tree')) : writeFile(file, 'others'))
    gate.arm((hasMove ? isMoveBack : isPurge)(moment))
    const restoring = app.graphql(restore, { input: { id, conflict: 'RENAME' } }, token)
    await gate.stopped
    t.same([await states(world), await world.listed()], [['RESTORING'], []])
    const other = await world.takeOver()
    await until(async () => `${await states(world)}` === (moment === 'before' ? 'TRASHED' : ''))
    t.same(await world.listed(), moment === 'before' ? [deleted] : [])
    const seen = await starred()

    gate.release()
    const { data, errors } = await restoring
    t.same(errors, [])
    const { path } = data.restore
    t.not(path, deleted)
    t.equal(await readFile(join(root, path, hasMove ? 'file.txt' : ''), 'utf8'), 'bytes')
    t.same([await states(world), await world.kept()], [[], []])
    t.same(seen, [moment === 'before' ? inTrash : `${path}${below}`], 'the star is where the file is')
    t.same(await starred(), [`${path}${below}`])
    await other.close()
  }
})

atNight(t, 'another server empties the trash that the first one has begun to empty', async t => {
  for (const moment of ['before', 'after'] as const) {
    const world = await startWorld(t)
    const { gate, app, token, providerId, root } = world
    await writeFile(join(root, 'file.txt'), 'bytes')
    await app.ask(remove, { input: { providerId, path: '/file.txt' } }, token)
    gate.arm(isPurge(moment))
    await app.ask(empty, { id: providerId }, token)
    await gate.stopped
    t.same([await states(world), await world.listed()], [['REMOVING'], []])
    const other = await world.takeOver()
    await until(async () => (await states(world)).length === 0)
    t.same(await world.kept(), [])
    gate.release()
    await other.close()
    t.notMatch(app.logged(), /"level":[56]0/)
  }
})

atNight(
  t,
  'a job whose server is killed while it copies a folder to the trash continues with the same item',
  async t => {
    const world = await startWorld(t, false)
    const { gate, app, token, providerId, root } = world
    await mkdir(join(root, 'tree/sub'), { recursive: true })
    const names = ['a.txt', 'b.txt', 'sub/c.txt']
    for (const name of names) await writeFile(join(root, 'tree', name), name)
    gate.arm((method, path, at) => method === 'delete' && path === 'tree/sub/c.txt' && at === 'before')
    const createJob = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
    const input = { kind: 'DELETE', sources: [{ providerId, path: '/tree' }] }
    const { createJob: created } = await app.ask(createJob, { input }, token)
    await gate.stopped
    t.same([await states(world), await world.listed()], [['TRASHING'], []])
    const stateOf = 'query ($id: ID!) { job(id: $id) { state } }'
    const other = await world.takeOver()
    await until(async () => {
      const { state } = (await other.ask(stateOf, { id: created.job.id }, token)).job
      return state === 'SUCCEEDED' || state
    })
    t.same([await world.listed(), (await world.kept()).length], [['/tree'], 1])
    const [{ id }] = (await other.ask(trash, { id: providerId }, token)).trash.nodes
    await other.ask(restore, { input: { id } }, token)
    for (const name of names) t.equal(await readFile(join(root, 'tree', name), 'utf8'), name)
    t.same([await world.listed(), await world.kept()], [[], []])
    await other.close()
  },
)

t.test('a server that is killed between the copy and the deletion of a file loses nothing', async t => {
  const world = await startWorld(t, false, 0)
  const { app, token, providerId, root } = world
  const names = ['tree/a.txt', 'tree/sub/b.txt']
  await mkdir(join(root, 'tree/sub'), { recursive: true })
  for (const name of names) await writeFile(join(root, name), name)
  /** Sends a request to a server that is killed when it begins to delete a path that starts with `prefix`. */
  const killAt = async (prefix: string, document: string, input: object) => {
    const killed = await startProgram(t, {
      command: [process.execPath, join(bundle, 'test/faults/trash-server.js')],
      environment: {
        TEST_TRASH_SERVER: JSON.stringify({
          secret,
          connectionString: app.connectionString,
          folder: app.folder,
          prefix,
        }),
        DATABASE_URL: 'postgres://is.not.used/',
        STOWAGE_SECRET: secret,
        STOWAGE_TRASH_DAYS: '30',
      },
    })
    const asking = client(killed.url)
      .graphql(document, { input }, token)
      .catch(() => {})
    await until(() => killed.output().includes(`stopped at ${prefix}`) || killed.output())
    await killed.stop('SIGKILL')
    await asking
  }
  const item = async () => (await app.ask(trash, { id: providerId }, token)).trash.nodes[0]

  await killAt('tree/', remove, { providerId, path: '/tree', recursive: true })
  const first = await world.takeOver()
  await until(async () => (await item()) !== undefined)
  t.same([(await readdir(root)).includes('tree'), (await world.kept()).length], [false, 1])
  await first.close()

  if (isNight) await killAt('.stowage-trash/', restore, { id: (await item()).id })
  const second = await world.takeOver()
  await until(async () => `${await states(world)}` === 'TRASHED')
  await second.ask(restore, { input: { id: (await item()).id } }, token)
  for (const name of names) t.equal(await readFile(join(root, name), 'utf8'), name)
  t.same([await states(world), await world.kept()], [[], []])
  await second.close()
})
