/**
 * Kills a server between any two steps of replacements and deletions under a quota. The old content or the new one is at each path, each
 * content that a response has confirmed is there or a version, and the quota counts exactly what is stored.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { below, dice, rounds } from '../../faults/rounds.ts'
import { stepping } from '../../faults/stepping-adapter.ts'
import { startApp } from '../../support/app.ts'
import { bundle } from '../../support/bundle.ts'
import { client, type Data } from '../../support/client.ts'
import { startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'

t.setTimeout(rounds(0) > 0 ? 3_600_000 : 300_000)

const secret = 'a secret that only these tests have'
const limit = 400_000_000
/** The servers that work on paths of their own, each with one change at a time. */
const workers = 6

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The contents that a path had: those that a response has confirmed, and those that may have got there. */
interface History {
  confirmed: Set<string>
  /** What may be at the path now; null for nothing. */
  possible: Set<string | null>
}

t.test('a local disk', t => killed(t, false))
t.test('a back end that copies what is replaced', t => killed(t, true))

async function killed(t: Test, copies: boolean): Promise<void> {
  const random = dice(t)
  const adapters = (folder: string) => [stepping(folder, copies)]
  const app = await startApp(t, { secret, adapters })
  const { token } = await app.register('owner@example.org')
  const root = join(app.folder, 'files')
  await mkdir(root)
  const providerId = await app.connectProvider(token, 'local', { root })
  const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(update, { input: { id: providerId, versionCount: 1000, trashDays: 0 } }, token)
  const setQuota = 'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }'
  await app.ask(setQuota, { input: { providerId, bytes: limit } }, token)
  const quota = async (): Promise<Data> => {
    const query = `query ($id: ID!) { provider(id: $id) { quotaRule { usedBytes usedFiles reservedBytes reservedFiles isExact } } }`
    return (await app.ask(query, { id: providerId }, token)).provider.quotaRule
  }
  await until(async () => (await quota()).isExact)

  const histories = new Map<string, History>()
  const all = rounds(20)
  for (let round = 0; round < all; round++) {
    const steps = 20 + below(random, 80)
    t.comment(`killed at step ${steps}`)
    const configuration = { secret, connectionString: app.connectionString, folder: app.folder, copies, steps }
    const program = await startProgram(t, {
      command: [process.execPath, join(bundle, 'test/faults/version-server.js')],
      environment: {
        TEST_VERSION_SERVER: JSON.stringify(configuration),
        DATABASE_URL: 'postgres://is.not.used/',
        STOWAGE_SECRET: secret,
        STOWAGE_WORKERS: '0',
      },
    })
    const server = client(program.url)
    const work = async (worker: number) => {
      for (let isDead = false; !isDead; ) {
        const path = `/${worker}-${below(random, 2)}`
        const history = histories.get(path) ?? { confirmed: new Set(), possible: new Set([null]) }
        histories.set(path, history)
        const body = Buffer.alloc(1 + below(random, 50_000), `${path} ${random()} `)
        const next = random() < 0.8 ? sha256(body) : null
        history.possible.add(next)
        const done = await change(path, next === null ? null : body).catch(() => null)
        isDead = done === null
        if (!done) continue
        history.possible = new Set([next])
        if (next !== null) history.confirmed.add(next)
      }
    }
    /** Returns whether the change was made; rejects if there is no response. */
    const change = async (path: string, body: Buffer | null): Promise<boolean> => {
      if (body) return (await server.upload(token, providerId, path, new Uint8Array(body), '&conflict=replace')).ok
      const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
      return (await server.graphql(remove, { input: { providerId, path } }, token)).errors.length === 0
    }
    await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))

    // As if the leases of the killed server had ended.
    await sql`update file_versions set due_at = now() where state <> 'KEPT'`.execute(app.db)
    await sql`update quota_changes set due_at = now()`.execute(app.db)
    await sql`delete from locks`.execute(app.db)
    const other = await app.replica()
    await until(
      async () => {
        const { rows: left } = await sql`select state from file_versions where due_at <= now() + interval '30 minutes'
          and state <> 'KEPT'`.execute(app.db)
        const { rows: changes } = await sql`select id from quota_changes`.execute(app.db)
        const { isExact } = await quota()
        return (left.length === 0 && changes.length === 0 && isExact) || { left, changes: changes.length, isExact }
      },
      // A server looks again after a minute at a change at which it could not look.
      { within: 150_000 },
    )
    const versions = await keptVersions(root, app)
    let usedBytes = versions.reduce((sum, { size }) => sum + size, 0)
    let usedFiles = versions.length
    for (const [path, history] of histories) {
      const bytes = await readFile(join(root, path)).catch(() => null)
      const now = bytes && sha256(bytes)
      t.ok(history.possible.has(now), `${path} has one of its possible contents`)
      history.possible = new Set([now])
      usedBytes += bytes?.length ?? 0
      usedFiles += bytes ? 1 : 0
      const kept = new Set(versions.filter(version => version.path === `${path}/`).map(({ hash }) => hash))
      const lost = [...history.confirmed].filter(hash => hash !== now && !kept.has(hash))
      t.same(lost, [], `all earlier contents of ${path} are versions`)
    }
    t.match(await quota(), { usedBytes, usedFiles, reservedBytes: 0, reservedFiles: 0, isExact: true })
    await other.close()
  }
}

/** Returns the listed versions with their contents. Each content in the reserved folder has a row. */
async function keptVersions(root: string, { db }: { db: Parameters<ReturnType<typeof sql>['execute']>[0] }) {
  const { rows } = await sql<{
    id: string
    path: string
    state: string
  }>`select id, path, state from file_versions`.execute(db)
  const folder = join(root, '.stowage-trash')
  const known = new Set(rows.map(({ id }) => id))
  const unknown = (await readdir(folder).catch(() => [])).filter(name => !known.has(name))
  if (unknown.length > 0) throw new Error(`No row says what ${unknown} is`)
  const kept = rows.filter(({ state }) => state === 'KEPT')
  return Promise.all(
    kept.map(async ({ id, path }) => {
      const file = join(folder, id)
      return { path, size: (await stat(file)).size, hash: sha256(await readFile(file)) }
    }),
  )
}
