/** The cases of copies and moves between two providers over one store. */
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { ProviderClient } from './transfers.ts'

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

/** Long names, so that a copy into itself soon exceeds the longest path. OneDrive, with 400 characters, takes both in one path. */
const empty = 'e'.repeat(120)
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
  if (operation === 'move' || conflict !== 'RENAME') return { answer: 'ALREADY_EXISTS', stored: tree }
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
  /** Whether to try each operation and conflict with each case. Otherwise they take turns. */
  isThorough: boolean
  /** The numbers of the cases to try. All without them. */
  numbers?: readonly number[]
  /** Creates a store that contains only the root folders of the three providers. */
  connect(): Promise<Alias>
}

export async function everyCase(t: Test, { isKnown, isThorough, numbers, connect }: Store): Promise<void> {
  const planted = async () => {
    const alias = await connect()
    await plant(alias)
    return { alias, cases: casesOf(alias) }
  }
  let { alias, cases } = await planted()
  for (const index of numbers ?? cases.keys()) {
    for (const [turn, operation] of operations.entries()) {
      for (const [position, conflict] of conflicts.entries()) {
        // FAIL and RENAME only create new entries, so they cannot overwrite a source.
        if (!isKnown && conflict !== 'REPLACE') continue
        const isTurn = turn === index % operations.length && (!isKnown || position === index % conflicts.length)
        if (!isThorough && !isTurn) continue
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

/** @param at connects a provider whose root is this folder of the store */
export async function aliasOf(at: (folder: '' | 'team' | 'team/sub') => Promise<ProviderClient>): Promise<Alias> {
  return { outer: await at(''), inner: await at('team'), deep: await at('team/sub') }
}
