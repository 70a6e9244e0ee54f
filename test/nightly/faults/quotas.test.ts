/** Kills a server while files under a quota change. Another server finds out what each change has done, and what counts is what is there. */
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { dice, rounds } from '../../faults/rounds.ts'
import { startApp, testSecret } from '../../support/app.ts'
import { client, type Data } from '../../support/client.ts'
import { startProgram, temporaryFolder } from '../../support/program.ts'
import { until } from '../../support/until.ts'

t.setTimeout(rounds(0) > 0 ? 3_600_000 : 300_000)

const limit = 4_000_000

t.test('after kills, a quota counts exactly what is stored, and reserves nothing', async t => {
  const random = dice(t)
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const root = join(app.folder, 'files')
  await mkdir(root)
  const providerId = await app.connectProvider(token, 'local', { root }, 'Files')
  // What the disk has then counts: earlier versions of replaced files do not.
  await app.ask(
    'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }',
    { input: { id: providerId, versionCount: 0 } },
    token,
  )
  await app.ask(
    'mutation ($input: SetQuotaInput!) { setQuota(input: $input) { id } }',
    { input: { providerId, bytes: limit } },
    token,
  )
  const quota = async (): Promise<Data> =>
    (
      await app.ask(
        `query ($id: ID!) { provider(id: $id) { quotaRule {
          usedBytes usedFiles reservedBytes reservedFiles isExact } } }`,
        { id: providerId },
        token,
      )
    ).provider.quotaRule
  await until(async () => (await quota()).isExact)
  const data = await temporaryFolder(t)
  const environment = {
    PORT: '0',
    DATABASE_URL: app.connectionString,
    STOWAGE_DATA: data,
    STOWAGE_SECRET: testSecret,
    STOWAGE_LOCAL_ROOTS: app.folder,
    STOWAGE_WORKERS: '0',
    LOG_LEVEL: 'warn',
  }
  const all = rounds(10)
  let stored = 0
  for (let round = 0; round < all; round++) {
    const program = await startProgram(t, { environment })
    const killed = client(program.url)
    let isOver = false
    const work = async (worker: number) => {
      while (!isOver) {
        const path = `/${worker}/${Math.floor(random() * 6)}`
        const kind = random()
        const change = async () => {
          if (kind < 0.7) {
            const body = Buffer.alloc(Math.floor(random() * 400_000), 'x')
            const { status } = await killed.upload(token, providerId, path, body, '&conflict=replace')
            if (status === 201 || status === 200) stored += 1
          } else if (kind < 0.85) {
            const input = { providerId, path: `/${worker}`, recursive: true }
            await killed.graphql(
              'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
              { input },
              token,
            )
          } else {
            const input = { providerId, path, toPath: `/moved/${worker}`, conflict: 'REPLACE' }
            await killed.graphql('mutation ($input: MoveInput!) { move(input: $input) { path } }', { input }, token)
          }
        }
        await change().catch(() => {})
      }
    }
    const workers = Array.from({ length: 12 }, (_, worker) => work(worker))
    const before = stored
    await until(() => stored > before + 20)
    await sleep(random() * 300)
    await program.stop('SIGKILL')
    isOver = true
    await Promise.all(workers)
    const { usedBytes, reservedBytes } = await quota()
    t.ok(usedBytes + reservedBytes <= limit, `${usedBytes} + ${reservedBytes} bytes`)
    // The other server ends the deletions. It renews its leases each second, so those without a renewal are of the killed one.
    await until(
      async () => {
        await sql`update jobs set lease_until = now() where lease_until < now() + interval '8 seconds'`.execute(app.db)
        const { rows } = await sql`select state from jobs where state in ('QUEUED', 'RUNNING')`.execute(app.db)
        return rows.length === 0 || rows
      },
      { within: 60_000 },
    )
    // The leases end in half a minute.
    await sql`update quota_changes set due_at = now()`.execute(app.db)
    await until(async () => {
      const { rows } = await sql`select from quota_changes`.execute(app.db)
      const { reservedBytes, reservedFiles, isExact } = await quota()
      const hasEnded = rows.length === 0 && reservedBytes === 0 && reservedFiles === 0
      return (hasEnded && isExact) || { changes: rows.length, reservedBytes, reservedFiles, isExact }
    })
    t.match(await quota(), await onDisk(root))
  }
})

async function onDisk(root: string): Promise<{ usedBytes: number; usedFiles: number }> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && !entry.parentPath.includes('.stowage-staging'))
  const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size))
  return { usedBytes: sizes.reduce((sum, size) => sum + size, 0), usedFiles: sizes.length }
}
