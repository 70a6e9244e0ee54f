/** After any changes through any endpoint, a catalogue has exactly what its storage contains. */
import t from 'tap'
import type { TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { catalogueWorld, converged, type Disk } from './world.ts'

const seed = Number(process.env.FAULT_SEED ?? 1)
const rounds = extent({ gate: [1], nightly: Array.from({ length: 30 }, (_, round) => round) })
/** Operations of one round. */
const operations = 60
/** Operations at the same time. */
const atOnce = 4

const { app, token, disk } = await catalogueWorld(t, { settings: { trashDays: 7 } })
const names = ['a', 'a-b', 'b', 'Übung', '東京', 'x.txt']

function randomly(random: () => number) {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const path = () => `/${Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(names)).join('/')}`
  return { pick, path }
}

type Operation = (server: TestApp, store: Disk, random: ReturnType<typeof randomly>) => Promise<unknown>

const ask = (server: TestApp, field: string, type: string, input: object, selection = '{ __typename }') =>
  server.graphql(`mutation ($input: ${type}!) { ${field}(input: $input) ${selection} }`, { input }, token)
const dav = (server: TestApp, method: string, store: Disk, path: string, init: RequestInit = {}) =>
  server.request(`/dav/${slugs.get(store.id)}${encodeURI(path)}`, { method, token, ...init })

const all: Operation[] = [
  (server, { id }, { path }) => server.upload(token, id, path(), 'x'.repeat(path().length), '&conflict=replace'),
  (server, { id }, { path }) => server.upload(token, id, path(), 'y'),
  (server, { id }, { path }) => ask(server, 'createFolder', 'CreateFolderInput', { providerId: id, path: path() }),
  (server, { id }, { path, pick }) =>
    ask(server, 'move', 'MoveInput', {
      providerId: id,
      path: path(),
      toPath: path(),
      conflict: pick(['FAIL', 'REPLACE', 'RENAME']),
    }),
  (server, { id }, { path, pick }) =>
    ask(server, 'rename', 'RenameInput', { providerId: id, path: path(), name: pick(names) }),
  (server, { id }, { path, pick }) =>
    ask(server, 'copy', 'CopyInput', {
      providerId: id,
      path: path(),
      toPath: path(),
      conflict: pick(['FAIL', 'RENAME']),
    }),
  (server, { id }, { path, pick }) =>
    ask(server, 'delete', 'DeleteInput', {
      providerId: id,
      path: path(),
      recursive: true,
      permanent: pick([true, false]),
    }),
  (server, { id }, { path, pick }) =>
    ask(server, 'createJob', 'CreateJobInput', {
      kind: pick(['COPY', 'MOVE', 'SYNC']),
      sources: [{ providerId: id, path: path() }],
      target: { providerId: id, path: path() },
      conflict: pick(['FAIL', 'RENAME', 'REPLACE']),
    }),
  (server, store, { path }) => dav(server, 'PUT', store, path(), { body: 'dav' }),
  (server, store, { path }) =>
    dav(server, 'MOVE', store, path(), { headers: { destination: `/dav/${slugs.get(store.id)}${encodeURI(path())}` } }),
  (server, store, { path }) => dav(server, 'DELETE', store, path()),
  async (server, { id }, { pick }) => {
    const { data } = await server.graphql('query ($id: ID!) { trash(providerId: $id) { nodes { id } } }', { id }, token)
    const item = pick<{ id: string } | undefined>(data?.trash.nodes ?? [])
    if (item) await ask(server, 'restore', 'RestoreInput', { id: item.id, conflict: 'RENAME' })
  },
]
const slugs = new Map<string, string>()

async function connected(name: string): Promise<Disk> {
  const store = await disk(name)
  const { provider } = await app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: store.id }, token)
  slugs.set(store.id, provider.slug)
  return store
}

async function jobsEnded(): Promise<void> {
  const areEnded = async () => {
    const { jobs } = await app.ask('{ jobs(first: 100) { nodes { state } } }', {}, token)
    return jobs.nodes.every(({ state }: { state: string }) => /SUCCEEDED|FAILED|CANCELED/.test(state))
  }
  await until(areEnded, { within: 120_000, every: 50 })
}

for (const round of rounds) {
  t.test(`operations of the seed ${seed + round} converge`, async t => {
    const random = randomNumbers(seed + round)
    const choices = randomly(random)
    const store = await connected(`disk-${round}`)
    const replica = await app.replica()
    const servers = [app, replica]
    let answered = 0
    const run = async () => {
      for (let count = 0; count < operations / atOnce; count++) {
        const result = await choices.pick(all)(choices.pick(servers), store, choices)
        if (result) answered += 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, run))
    await jobsEnded()
    t.ok(answered > operations / 2, 'the operations ran')
    await replica.close()
    await converged(app, store)
  })
}
