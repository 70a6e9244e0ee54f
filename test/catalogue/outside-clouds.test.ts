/** Whatever others change in a cloud storage, a catalogue gets it, with lost responses, expired positions and servers that are killed. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { at, listAll } from '../../adapters/conformance/kit.ts'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { type CloudWorld, dropboxWorld, googleDriveWorld, oneDriveWorld, webdavWorld } from './cloud-worlds.ts'
import { catalogued } from './world.ts'

const seed = Number(process.env.FAULT_SEED ?? 1)
const rounds = extent({ gate: [1], nightly: Array.from({ length: 10 }, (_, round) => round) })
/** Operations of one round. */
const operations = 60
const names = ['a', 'a-b', 'b', 'Übung', '東京', 'x.txt']

/** Returns what a provider lists, in the form of `catalogued`. */
async function listed(provider: StorageProvider, folder = ''): Promise<string[]> {
  const entries = await listAll(provider, folder)
  const found = await Promise.all(
    entries.map(async ({ name, kind, size }) => {
      const path = folder === '' ? name : `${folder}/${name}`
      return kind === 'file' ? [`${path} ${size}`] : [`${path}/`, ...(await listed(provider, path))]
    }),
  )
  return found.flat().sort()
}

/** Makes the host ask each second instead of each minute. */
function impatient(adapter: AdapterDefinition): AdapterDefinition {
  return {
    ...adapter,
    async open(config, host) {
      const provider = await adapter.open(config, host)
      Object.assign(provider, { traits: { ...provider.traits, changesInterval: 1000 } })
      return provider
    },
  }
}

async function test(t: Test, world: CloudWorld, random: () => number): Promise<void> {
  const app = await startApp(t, { settings: { catalogueHours: 24 }, adapters: [impatient(world.adapter)] })
  const { token } = await app.register('owner@example.org')
  const id = await app.connectProvider(token, world.adapter.type, world.config, 'cloud')
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const path = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(names)).join('/')
  const isKnown = async (there: readonly string[], isAsked: boolean) => {
    const known = await catalogued(app, id)
    const row = await app.db
      .selectFrom('catalogues')
      .select(['changes_cursor', 'round_started_at', 'indexed_at', 'failure', 'next_round_at'])
      .where('provider_id', '=', id)
      .executeTakeFirst()
    const isReady =
      !isAsked || (row?.changes_cursor != null && row.indexed_at !== null && row.round_started_at === null)
    if (isReady && JSON.stringify(there) === JSON.stringify(known)) return true
    const [missing, extra] = [there.filter(each => !known.includes(each)), known.filter(each => !there.includes(each))]
    return { missing, extra, ...row }
  }
  await world.write('first', 'x')
  const first = await listed(world.provider)
  await until(() => isKnown(first, true), { within: 60_000, every: 200 })
  // From here on, no round runs, so the catalogue has only what the back end reports.
  const later = new Date(Date.now() + 86_400_000)
  await app.db.updateTable('catalogues').set({ next_round_at: later }).execute()
  for (let count = 0; count < operations; count++) {
    const [from, to] = [path(), path()]
    const operation = pick<() => unknown>([
      () => world.write(from, 'x'.repeat(Math.floor(random() * 50))),
      () => world.write(from, 'y'),
      () => world.write(from, 'zz'),
      () => world.makeFolder(from),
      () => world.makeFolder(from),
      () => world.move(from, to),
      () => world.move(from, to),
      () => world.remove(from),
      () => world.loseResponses(),
      () => sleep(300),
      () => app.db.updateTable('catalogues').set({ changes_server: randomUUID() }).execute(),
    ])
    await Promise.resolve()
      .then(operation)
      .catch(() => {})
  }
  const last = await listed(world.provider)
  await until(() => isKnown(last, false), { within: 90_000, every: 300 })
  const { next_round_at: next } = await app.db
    .selectFrom('catalogues')
    .select('next_round_at')
    .executeTakeFirstOrThrow()
  t.same(next, later, 'the changes that were reported are enough')
  world.expire()
  await world.write('after/expiry', 'x')
  const compared = await listed(world.provider)
  await until(() => isKnown(compared, false), { within: 90_000, every: 300 })
  const after = await app.db.selectFrom('catalogues').select('next_round_at').executeTakeFirstOrThrow()
  t.not(after.next_round_at.getTime(), later.getTime(), 'everything was compared')
  const found = await world.provider.stat(at('after/expiry'), { signal: new AbortController().signal })
  t.equal(found.size, 1)
}

// Most of the time, they wait.
t.jobs = 4
const worlds = { dropboxWorld, googleDriveWorld, oneDriveWorld, webdavWorld }
// The conformance kit tests the changes of each back end.
const chosen = extent<Partial<typeof worlds>>({ gate: { webdavWorld }, nightly: worlds })
for (const round of rounds) {
  for (const [name, open] of Object.entries(chosen)) {
    t.test(`${name} of the seed ${seed + round}`, { buffered: true }, async t =>
      test(t, await open(t), randomNumbers(seed + round)),
    )
  }
}
