/** Kills the server, its embedded database, or both under load. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ListMultipartUploadsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { processesIn, recordedPostmaster } from '../../src/db/embedded/processes.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { expireUploads } from './age.ts'
import { Ledger } from './ledger.ts'
import { type Load, resumable, until, writeAll } from './load.ts'
import { dice, rounds } from './rounds.ts'
import { openDescriptors, staged, startWorld, type World } from './world.ts'

const mib = 1024 * 1024
/** Bytes of the largest file of a client on the disk. */
const largest = extent({ gate: 1, nightly: 2 }) * mib

t.setTimeout(rounds(0) > 0 ? 3_600_000 : 300_000)

t.test('repeated kills under load lose no acknowledged change', async t => {
  const random = dice(t)
  // By day, the disk is enough.
  const server = isNight ? await s3Server(t) : null
  const bucket = (await server?.newBucket()) ?? ''
  const world = await startWorld(t, { ...(server && { s3: { account: server, bucket } }), isEmbedded: true })
  const providers = [world.local, ...(server ? [world.s3] : [])]
  const partsLeft = async () => (server ? await unfinishedParts(server.client, bucket) : [])
  const ledger = new Ledger()
  const odd: string[] = []
  const faults: string[] = []
  const unfinished: Promise<void>[] = []
  const postgres = join(world.data, 'postgres', 'data')
  const all = rounds(extent({ gate: 1, nightly: 6 }))
  const counts = { server: 0, database: 0, both: 0 }
  const orphans = { staged: 0, parts: 0 }

  for (let round = 0; round < all; round++) {
    let over = false
    const load: Load = { world, ledger, random, odd, over: () => over }
    const writers = [
      ...Array.from({ length: extent({ gate: 2, nightly: 4 }) }, () => writeAll(load, world.local, largest)),
      ...(server ? [writeAll(load, world.s3, mib), writeAll(load, world.s3, 8 * largest)] : []),
    ]
    unfinished.push(resumable(load, world.local, 4 * largest))
    if (server) unfinished.push(resumable(load, world.s3, 10 * largest))
    const before = ledger.acknowledged
    await until(async () => ledger.acknowledged > before + 4 || odd)
    await sleep(random() * 800)
    const kind = (['both', 'server', 'database'] as const)[round % 3] ?? 'server'
    counts[kind] += 1
    over = true
    if (kind !== 'server') process.kill((await recordedPostmaster(postgres)) ?? Number.NaN, 'SIGKILL')
    // The server exits by itself without its database.
    await world.program().stop(kind === 'database' ? 'SIGCONT' : 'SIGKILL')
    await Promise.all(writers)
    orphans.staged = Math.max(orphans.staged, (await staged(world)).length)
    orphans.parts = Math.max(orphans.parts, (await partsLeft()).length)
    await world.restart()
    if (round % 5 === 4 || round === all - 1) await Promise.all(unfinished.splice(0))
    // Clients whose responses were lost leave uploads behind. A user can have only 100 of them.
    if (round % 40 === 39) await expireUploads(world)
    faults.push(...(await check(world, ledger, providers)))
    if (faults.length + odd.length > 0) break
  }
  await Promise.all(unfinished)
  faults.push(...(await check(world, ledger, providers, 'all')))
  t.comment(`kills: ${JSON.stringify(counts)}`)
  t.comment(`${ledger.acknowledged} changes acknowledged, ${ledger.open} left open; ${ledger.names.length} names`)
  t.comment(`most orphans after one kill: ${JSON.stringify(orphans)}`)
  t.same(faults, [], 'all acknowledged changes are present, and nothing else')
  t.same(odd, [], 'the kills explain every response')

  await t.test('no file descriptor of a file stays open', async t => {
    await until(async () => {
      const open = await openDescriptors(world.program().process.pid)
      const wrong = open.filter(link => link.startsWith(world.files) || link.includes(' (deleted)'))
      return wrong.length === 0 || wrong
    })
    // The rest are connections to the database, to S3 and to this client.
    const open = await openDescriptors(world.program().process.pid)
    t.ok(open.length < 200, `${open.length} descriptors`)
  })

  await atNight(t, 'the sweep removes the orphans of the kills', async t => {
    await expireUploads(world)
    await world.program().stop()
    await world.restart()
    for (const id of providers) await world.names(id)
    await until(async () => (await staged(world)).length === 0 || (await staged(world)))
    t.same(await staged(world), [])
    await until(async () => (await partsLeft()).length === 0 || (await partsLeft()))
    t.same(await partsLeft(), [])
    if (server) t.same(await strangers(server.client, bucket, world, ledger), [], 'no other object in the bucket')
    t.same(await check(world, ledger, providers), [], 'nothing else was removed')
  })

  await t.test('a normal stop leaves no process', async t => {
    t.equal(await world.program().stop(), 0)
    t.same(await processesIn(postgres), [])
  })
})

/** Compares the stored files with the ledger: the bytes of all files, or of those changed since the last check. */
async function check(
  world: World,
  ledger: Ledger,
  providers: readonly string[],
  which: 'all' | 'touched' = 'touched',
): Promise<string[]> {
  const wrong: string[] = []
  for (const providerId of providers) {
    // Resumable uploads go on meanwhile. One that ends after this list is made is missing in it.
    const mustExist = new Set(ledger.names.filter(name => !ledger.mayBe(name, null)))
    const there = new Set(await world.names(providerId))
    const known = ledger.names.filter(name => name.startsWith(providerId))
    const one = async (name: string) => {
      const path = name.slice(providerId.length + 1)
      const isThere = there.delete(path)
      if (path.startsWith('resumable-') && !isThere && !mustExist.has(name)) return
      if (which === 'touched' && isThere && !ledger.wasTouched(name)) return
      const fault = ledger.settle(name, isThere ? await world.content(providerId, `/${path}`) : null)
      if (fault) wrong.push(fault)
    }
    const worker = async () => {
      for (let name = known.pop(); name !== undefined; name = known.pop()) await one(name)
    }
    await Promise.all([worker(), worker(), worker(), worker()])
    for (const name of there) wrong.push(`${providerId}/${name} was never uploaded`)
  }
  return wrong
}

async function unfinishedParts(client: S3Client, Bucket: string): Promise<(string | undefined)[]> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }))
  return Uploads.map(upload => upload.Key)
}

async function strangers(client: S3Client, Bucket: string, world: World, ledger: Ledger): Promise<string[]> {
  const known = new Set(ledger.names)
  const found: string[] = []
  let StartAfter: string | undefined
  for (;;) {
    const page = await client.send(new ListObjectsV2Command({ Bucket, ...(StartAfter && { StartAfter }) }))
    for (const { Key = '' } of page.Contents ?? []) if (!known.has(`${world.s3}/${Key}`)) found.push(Key)
    StartAfter = page.Contents?.at(-1)?.Key
    if (!page.IsTruncated) return found
  }
}
