/** Copies and moves between two providers over the same store lose no byte. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { AdapterDefinition, Entry, StorageProvider } from '../../adapters/contract.ts'
import { googleDriveAdapter } from '../../adapters/google-drive/index.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { configFor } from '../adapters/s3-provider.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { type ProviderClient, providerClient } from './transfers.ts'

const isThorough = process.env.MATRIX === 'all'

t.setTimeout(300_000)

const operations = ['copy', 'move'] as const
const conflicts = ['FAIL', 'REPLACE', 'RENAME'] as const
type Operation = (typeof operations)[number]
type Conflict = (typeof conflicts)[number]

/** `inner` begins at `/team` of `outer`, `deep` at `/team/sub`. */
interface Alias {
  outer: ProviderClient
  inner: ProviderClient
  deep: ProviderClient
}

interface Case {
  name: string
  from: ProviderClient
  path: string
  to: ProviderClient
  toPath: string
  /** Whether source and target are one object, or the target lies in the source. */
  kind: 'same' | 'inside'
}

/** Long names, so that a copy into itself soon exceeds the longest path. */
const empty = 'e'.repeat(240)
const fresh = 'n'.repeat(240)

/** Maps paths in `outer` to contents, or to null for folders. */
const tree: Record<string, string | null> = {
  '/team': null,
  [`/team/${empty}`]: null,
  '/team/sub': null,
  '/team/sub/deep': null,
  '/team/sub/deep/z': 'zzz',
  '/team/sub/y': 'yy',
  '/team/x.txt': 'x',
}

function casesOf({ outer, inner, deep }: Alias): Case[] {
  const pairs: [ProviderClient, string, ProviderClient, string, Case['kind']][] = [
    [outer, '/team/x.txt', inner, '/x.txt', 'same'],
    [inner, '/x.txt', outer, '/team/x.txt', 'same'],
    [outer, '/team/sub', inner, '/sub', 'same'],
    [inner, '/sub', outer, '/team/sub', 'same'],
    [outer, `/team/${empty}`, inner, `/${empty}`, 'same'],
    [inner, `/${empty}`, outer, `/team/${empty}`, 'same'],
    [outer, '/team', inner, `/${fresh}`, 'inside'],
    [outer, '/team', inner, `/${empty}`, 'inside'],
    [outer, '/team', inner, `/sub/${fresh}`, 'inside'],
    [inner, '/sub', outer, `/team/sub/${fresh}/deeper`, 'inside'],
    [outer, '/team', deep, `/${fresh}`, 'inside'],
  ]
  const names = new Map([
    [outer, 'outer'],
    [inner, 'inner'],
    [deep, 'deep'],
  ])
  const shown = (at: ProviderClient, path: string) =>
    `${names.get(at)}:${path.replace(empty, 'empty').replace(fresh, 'new')}`
  return pairs.map(([from, path, to, toPath, kind]) => ({
    name: `${shown(from, path)} to ${shown(to, toPath)}`,
    from,
    path,
    to,
    toPath,
    kind,
  }))
}

const listing = `query ($providerId: ID!, $path: String!) {
  folder(providerId: $providerId, path: $path) { entries(first: 1000) { nodes { __typename path } } }
}`

async function snapshot(at: ProviderClient, folder = '/'): Promise<Record<string, string | null>> {
  const { data } = await at.app.graphql(listing, { providerId: at.providerId, path: folder }, at.token)
  const found: Record<string, string | null> = {}
  for (const { __typename, path } of data?.folder?.entries.nodes ?? []) {
    found[path] = __typename === 'Folder' ? null : await at.get(path)
    if (__typename === 'Folder') Object.assign(found, await snapshot(at, path))
  }
  return found
}

async function plant({ outer }: Alias): Promise<void> {
  for (const [path, content] of Object.entries(tree)) {
    if (content === null) await outer.run('createFolder', { path })
    else await outer.put(path, content)
  }
}

/** Returns the expected response and the expected contents if the host knows that both ends are in one store. */
function expected(operation: Operation, conflict: Conflict, { from, path, to, toPath, kind }: Case, { outer }: Alias) {
  if (kind === 'inside') return { answer: 'INTO_ITSELF', stored: tree }
  if (operation === 'move') return { answer: { path: toPath }, stored: tree }
  if (conflict !== 'RENAME') return { answer: 'ALREADY_EXISTS', stored: tree }
  const renamed = (text: string) => text.replace(/(\.txt)?$/, ' (1)$1')
  const source = from === outer ? path : `/team${path}`
  const copies = Object.entries(tree)
    .filter(([at]) => at === source || at.startsWith(`${source}/`))
    .map(([at, content]) => [renamed(source) + at.slice(source.length), content])
  return { answer: { path: renamed(toPath) }, stored: { ...tree, ...Object.fromEntries(copies) }, to }
}

interface Store {
  /** Whether the adapter reports one id for an entry through each provider. */
  isKnown: boolean
  /** Whether to try each conflict with each case. Otherwise the conflicts take turns. */
  isThorough: boolean
  /** Creates a store that contains only the root folders of the three providers. */
  connect(): Promise<Alias>
}

async function everyCase(t: Test, { isKnown, isThorough, connect }: Store): Promise<void> {
  const planted = async () => {
    const alias = await connect()
    await plant(alias)
    return { alias, cases: casesOf(alias) }
  }
  let { alias, cases } = await planted()
  for (const index of cases.keys()) {
    for (const [turn, operation] of operations.entries()) {
      for (const [position, conflict] of conflicts.entries()) {
        // FAIL and RENAME only create new entries, so they cannot overwrite a source.
        if (!isKnown && conflict !== 'REPLACE') continue
        if (isKnown && !isThorough && position !== (index + turn) % conflicts.length) continue
        const one = cases[index] as Case
        await t.test(`${operation} ${conflict} ${one.name}`, async t => {
          const { from, path, to, toPath } = one
          const answer = await from.run(operation, { path, toProviderId: to.providerId, toPath, conflict })
          const stored = await snapshot(alias.outer)
          if (isKnown) {
            const wanted = expected(operation, conflict, one, alias)
            t.match(answer, wanted.answer)
            t.strictSame(stored, wanted.stored)
          } else {
            const contents = Object.values(stored)
            for (const content of Object.values(tree)) t.ok(contents.includes(content), `keeps ${content}`)
            // The parent folders of a target are created with it and stay.
            const files = Object.fromEntries(Object.entries(stored).filter(([path]) => !path.endsWith(`/${fresh}`)))
            if (one.kind === 'inside') t.strictSame(files, tree, 'the partial copy is undone')
            const isRewritten = one.path.endsWith('.txt') && operation === 'move' && conflict === 'REPLACE'
            if (isRewritten) t.equal(answer, 'PRECONDITION_FAILED')
          }
          if (!isDeepStrictEqual(stored, tree)) ({ alias, cases } = await planted())
        })
      }
    }
  }
}

/** Removes `fileId` from all entries of an adapter, as with two mounts of one network file system. */
function withoutIds(adapter: AdapterDefinition): AdapterDefinition {
  const without = (entry: Entry): Entry => {
    const { fileId, ...rest } = entry
    if (fileId === undefined) throw new Error('The adapter returns no fileId')
    return rest
  }
  return {
    ...adapter,
    async open(config, host) {
      const good = await adapter.open(config, host)
      const changes: Partial<StorageProvider> = {
        stat: async (...call) => without(await good.stat(...call)),
        write: async (...call) => without(await good.write(...call)),
        async list(...call) {
          const page = await good.list(...call)
          return { ...page, entries: page.entries.map(without) }
        },
        async read(...call) {
          const { body, entry } = await good.read(...call)
          return { body, entry: without(entry) }
        },
      }
      return new Proxy(good, {
        get(_, name) {
          const value = Reflect.get(changes, name) ?? Reflect.get(good, name)
          return typeof value === 'function' ? value.bind(good) : value
        },
      })
    },
  }
}

t.test('two providers over one store', async t => {
  const fake = await startGoogleDrive(t)
  const s3 = await s3Server(t)
  const drive = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff, trust: 0 }) as AdapterDefinition
  const adapters = (folder: string) => [
    ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }).filter(({ type }) => type !== drive.type),
    drive,
  ]

  for (const isKnown of [true, false]) {
    const app = await startApp(t, {
      adapters: folder => (isKnown ? adapters(folder) : adapters(folder).map(withoutIds)),
    })
    const { token } = await app.register('owner@example.org')
    const connect = async (type: string, config: object) =>
      providerClient(app, token, await app.connectProvider(token, type, config))
    const title = isKnown ? 'known by their ids' : 'without ids'

    await t.test(`local folders, one in the other, ${title}`, async t => {
      const newFolders = async () => {
        const root = await mkdtemp(join(app.folder, 'store-'))
        await mkdir(join(root, 'team/sub'), { recursive: true })
        return await aliasOf(folder => connect('local', { root: join(root, folder) }))
      }
      await everyCase(t, { isKnown, isThorough: true, connect: newFolders })
    })

    // With two host names, nobody knows that the bucket is the same.
    const endpoint = isKnown ? s3.endpoint : s3.endpoint.replace('127.0.0.1', 'localhost')
    await t.test(`a bucket and folders in it${isKnown ? '' : ' through two host names'}`, async t => {
      t.equal(endpoint === s3.endpoint, isKnown)
      const newBucket = async () => {
        const bucket = await s3.newBucket()
        return await aliasOf(prefix => connect('s3', configFor(s3, bucket, prefix === '' ? {} : { endpoint, prefix })))
      }
      await everyCase(t, { isKnown, isThorough, connect: newBucket })
    })

    // Each entry of a drive has an id.
    if (!isKnown) continue
    await t.test('a drive and folders in it', async t => {
      const robot = 'robot@fake.iam.gserviceaccount.com'
      const serviceAccountKey = fake.oauth.addServiceAccount(robot)
      const newFolders = async () => {
        const outer = fake.addFolder(fake.store.rootOf(robot), 'store', { owner: robot }).id
        const team = fake.addFolder(outer, 'team', { owner: robot }).id
        const sub = fake.addFolder(team, 'sub', { owner: robot }).id
        const ids = { '': outer, team, 'team/sub': sub }
        return await aliasOf(folder => connect('google-drive', { serviceAccountKey, rootFolderId: ids[folder] }))
      }
      await everyCase(t, { isKnown, isThorough, connect: newFolders })
    })
  }
})

async function aliasOf(at: (folder: '' | 'team' | 'team/sub') => Promise<ProviderClient>): Promise<Alias> {
  return { outer: await at(''), inner: await at('team'), deep: await at('team/sub') }
}
