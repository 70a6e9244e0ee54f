/** Share links of makers with many kinds of rights, at many paths, compared with a model that shares no code with the server. */
import { sql } from 'kysely'
import t from 'tap'
import { extent } from '../support/extent.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { type Answer, type Call, send } from './api.ts'
import { hostilePaths } from './areas.ts'
import { runAll, sample } from './cells.ts'
import { type Credential, hasScope, isBelow, isSpelled, type Member, reaches } from './model.ts'
import { compareTrees, readTree } from './tree.ts'
import { accessInput, base, contentOf, createWorld, folders, type Holder, seedFile, type World } from './world.ts'

interface Shared {
  link: string
  kind: 'VIEW' | 'DROP'
  /** Real paths. */
  paths: readonly string[]
  isFolder: boolean
  maker: Holder
}

type Row = 'list' | 'read' | 'head' | 'thumbnail' | 'rendition' | 'archive' | 'drop' | 'resumable drop'
const rows: readonly Row[] = ['list', 'read', 'head', 'thumbnail', 'rendition', 'archive', 'drop', 'resumable drop']

interface Cell extends Pick<Shared, 'link'> {
  share: Shared
  row: Row
  /** As the link shows it. */
  path: string
  n: number
}

function callOf({ link, row, path, n }: Cell): Call {
  const at = (endpoint: string, more: Record<string, string> = {}) => sharePath(link, endpoint, { path, ...more })
  if (row === 'list') return { method: 'GET', path: at('entries') }
  if (row === 'read') return { method: 'GET', path: at('content') }
  if (row === 'head') return { method: 'HEAD', path: at('content') }
  if (row === 'thumbnail' || row === 'rendition') return { method: 'GET', path: at(row) }
  if (row === 'archive')
    return { method: 'POST', path: sharePath(link, 'archive'), body: JSON.stringify({ paths: [path] }) }
  if (row === 'drop') return { method: 'POST', path: at('files'), body: `dropped by ${n}` }
  const body = `dropped by ${n}`
  const metadata = { path }
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': String(body.length),
    'content-type': 'application/offset+octet-stream',
    'upload-metadata': Object.entries(metadata)
      .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
      .join(','),
  }
  return { method: 'POST', path: sharePath(link, 'uploads'), headers, body }
}

/** Returns the real path; null if the path names nothing that is shared. */
function realOf({ paths, isFolder }: Shared, shown: string): string | null {
  if (isFolder) return `${paths[0] === '/' ? '' : paths[0]}${shown === '/' ? '' : shown}` || '/'
  const [, name = '', ...below] = shown.split('/')
  const top = paths.find(path => path.slice(path.lastIndexOf('/') + 1) === name)
  return top === undefined || name === '' ? null : [top, ...below].join('/')
}

/** The model: what a link permits, by the rights of its maker today. */
function judge({ share, row, path }: Cell, provider: string): { reason: RegExp } | 'may' {
  const { kind, maker, paths } = share
  const mayMakerUse = (given: string) => reaches(maker as Credential, provider, given)
  const isLive = hasScope(maker, kind === 'VIEW' ? 'read' : 'write')
  if (!isLive || !paths.some(mayMakerUse)) return { reason: /^SHARE_ENDED$/ }
  const adds = row === 'drop' || row === 'resumable drop'
  if (!isSpelled({ provider, path, makes: false }) || !path.startsWith('/'))
    return { reason: /^(INVALID_PATH|INVALID_INPUT)$/ }
  const real = realOf(share, path)
  if (adds !== (kind === 'DROP'))
    return { reason: /^(SCOPE_REQUIRED|INVALID_PATH|INVALID_INPUT|NOT_FOUND|NOT_A_FILE)$/ }
  if (real === null) return { reason: /^(NOT_FOUND|NOT_A_FILE|INVALID_INPUT)$|^OK$/ }
  if (adds && path === '/') return { reason: /^(OUTSIDE_BASE_PATH|INVALID_PATH)$/ }
  if (!mayMakerUse(real)) return { reason: /^(OUTSIDE_BASE_PATH|INVALID_PATH)$/ }
  return 'may'
}

async function makers(world: World): Promise<Holder[]> {
  const { accesses, founder } = world
  const demoted = async (member: Member): Promise<Holder> => {
    const person = await world.person({ role: 'ADMIN', access: 'all' })
    const input = { userId: person.userId, role: member.role, providerAccess: accessInput(member.access) }
    const query = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await world.app.ask(query, { input }, founder.header?.slice('Bearer '.length))
    return { ...person, owner: member, label: `${member.role} ${JSON.stringify(member.access)}` }
  }
  return [
    founder,
    ...(await Promise.all([
      demoted({ role: 'NONE', access: 'all' }),
      demoted({ role: 'VIEWER', access: 'all' }),
      demoted({ role: 'EDITOR', access: accesses.base }),
      demoted({ role: 'EDITOR', access: accesses.other }),
      demoted({ role: 'VIEWER', access: accesses.wider }),
    ])),
    await world.key(founder, { scopes: ['read'], access: 'all' }),
    await world.key(founder, { scopes: ['write'], access: accesses.base }),
    await world.key(founder, { scopes: ['admin'], access: accesses.apart }),
  ]
}

/** Makes a share with the rights of the founder, and then gives it to its maker. */
async function shareOf(world: World, maker: Holder, given: Pick<Shared, 'kind' | 'paths'>): Promise<Shared> {
  const { providers, founder, app } = world
  const [path = '', ...morePaths] = given.paths
  const token = founder.header?.slice('Bearer '.length) ?? ''
  const { id, link } = await makeShare(app, token, {
    providerId: providers.main,
    path,
    morePaths,
    kind: given.kind,
  })
  const kind = maker.kind === 'key' ? 'API_KEY' : 'SESSION'
  await sql`update shares set user_id = ${maker.userId}, credential_kind = ${kind},
    credential_id = coalesce(${maker.keyId}, credential_id) where id = ${id}`.execute(app.db)
  const isFolder = morePaths.length === 0 && !path.endsWith(seedFile)
  return { ...given, link, isFolder, maker }
}

const viewed: readonly (readonly string[])[] = [
  ['/'],
  ['/team'],
  [base],
  [`${base}/${seedFile}`],
  [`${base}/${seedFile}`, folders.deep],
  [folders.deep, folders.outside],
]
const dropped: readonly (readonly string[])[] = [['/'], [base], [folders.deep]]

const shownPaths = [
  '/',
  `/${seedFile}`,
  '/deep',
  `/deep/${seedFile}`,
  `/backups/${seedFile}`,
  `/backups-old/${seedFile}`,
  `/canary-documents/${seedFile}`,
  `/team/backups/${seedFile}`,
  '/missing',
]

t.test('every share link gets the response that the model predicts, and nothing outside changes', async t => {
  const world = await createWorld(t, { people: false })
  const { providers } = world
  const shares: Shared[] = []
  for (const maker of await makers(world)) {
    for (const paths of viewed) shares.push(await shareOf(world, maker, { kind: 'VIEW', paths }))
    for (const paths of dropped) shares.push(await shareOf(world, maker, { kind: 'DROP', paths }))
  }
  const cells = shares.flatMap(share =>
    rows.flatMap(row => {
      const isDrop = row.endsWith('drop')
      const paths = isDrop ? [...shownPaths, ...shownPaths.map(path => `${path}-new`)] : shownPaths
      return [...paths, ...sample(hostilePaths, 4, shares.indexOf(share) + row.length)].map(path => ({
        share,
        link: share.link,
        row,
        path: path.toWellFormed(),
        n: world.next(),
      }))
    }),
  )
  const chosen = sample(cells, extent({ gate: 250, nightly: 2500 }))
  const views = chosen.filter(({ share }) => share.kind === 'VIEW')
  const root = world.roots.get(providers.main) ?? ''
  const before = await readTree(root)
  const counts = { may: 0, refused: 0 }
  const run = async (cell: Cell): Promise<string | null> => {
    const answer = await send(world.url, null, callOf(cell))
    const verdict = judge(cell, providers.main)
    if (verdict === 'may') counts.may += 1
    else counts.refused += 1
    const wrong = check(cell, verdict, answer)
    const where = `${cell.row} ${JSON.stringify(cell.path.slice(0, 80))} of ${cell.share.kind} ${cell.share.paths} by ${cell.share.maker.label}`
    return wrong && `${where}: ${wrong}: ${answer.status} ${answer.text.slice(0, 200)}`
  }
  t.same((await runAll(views, run)).slice(0, 20), [])
  t.same(compareTrees(before, await readTree(root)), [], 'links of the kind VIEW change nothing')
  const drops = chosen.filter(({ share }) => share.kind === 'DROP')
  // One after the other: of two files with one name that arrive at the same moment, one may have to be sent again.
  t.same((await runAll(drops, run, 1)).slice(0, 20), [])
  const changes = compareTrees(before, await readTree(root))
  t.same(
    changes.filter(change => !change.endsWith(' was created')),
    [],
    'links of the kind DROP replace and remove nothing',
  )
  const live = shares.filter(({ kind, maker }) => kind === 'DROP' && hasScope(maker, 'write'))
  const allowed = live.flatMap(({ paths, maker }) => paths.filter(path => reaches(maker, providers.main, path)))
  const outside = changes.filter(change => !allowed.some(path => isBelow(change.replace(/ was created$/, ''), path)))
  t.same(outside, [], 'and create files below their folder only')
  t.comment(`${chosen.length} cells: ${JSON.stringify(counts)}, ${changes.length} files created`)
  const least = extent({
    gate: { may: 15, refused: 80, changes: 1 },
    nightly: { may: 200, refused: 500, changes: 20 },
  })
  t.ok(counts.may > least.may && counts.refused > least.refused && changes.length > least.changes)
  t.equal(world.app.logged(), '')
})

/** Describes the difference from the model; null if there is none. */
function check({ share, row, path }: Cell, verdict: ReturnType<typeof judge>, answer: Answer): string | null {
  const { reason = 'OK' } = answer.errors[0]?.extensions ?? {}
  if (answer.status >= 500) return 'a server error'
  const isRead = answer.status < 300
  // In an archive, the mark of the next record follows a content.
  for (const [, shown = ''] of answer.text.replaceAll('PK', ' ').matchAll(/canary-content of (\S+)/g)) {
    if (!share.paths.some(each => isBelow(shown, each))) return `the content of ${shown}`
  }
  // A listing names entries by the paths that the link shows.
  if (row === 'list' && answer.text.includes(providersHint)) return 'a real path'
  if (verdict !== 'may') {
    if (row === 'head') return answer.status >= 400 || verdict.reason.test('OK') ? null : 'a success'
    return verdict.reason.test(reason) ? null : `expected ${verdict.reason}`
  }
  if (answer.status === 401 || answer.status === 403) return 'expected permission'
  const real = realOf(share, path)
  if (row === 'read' && isRead && !answer.text.startsWith('PK') && answer.text !== contentOf(real ?? ''))
    return 'other bytes'
  return null
}

/** The beginning of the local root, which no response contains. */
const providersHint = 'canary-root-'
