/** A cell calls one row with one credential at given locations and compares the response with the model. */
import { randomUUID } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { password } from '../support/client.ts'
import { isNight } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { type Answer, type Call, operation, type Schema, sendAs } from './api.ts'
import { type Area, beside, type CellLocation, defaultArea, locate } from './areas.ts'
import { fields } from './fields.ts'
import { isBelow, isSpelled, judge, judgeGift, judgeNewKey, type Verdict } from './model.ts'
import { routes, uploaded } from './routes.ts'
import type { FieldRow, Purpose, RouteRow, Target } from './row.ts'
import { sftpRows } from './sftp-rows.ts'
import { contentOf, type Holder, putFile, seedFile, seedFolder, type World } from './world.ts'

export interface Cell {
  row: string
  holder: Holder
  areas: readonly Area[]
  verdict: Verdict
  locations: readonly CellLocation[]
  n: number
}

const rowOf = (name: string): FieldRow | RouteRow => {
  const row = fields[name] ?? routes[name] ?? sftpRows[name]
  if (!row) throw new Error(`Unknown row ${name}`)
  return row
}

/** @param given one area for each location of the row; the default is inside the base path */
export function makeCell(world: World, row: string, holder: Holder, given: readonly Area[] = []): Cell {
  const n = world.next()
  const { takes = [], needs, gives } = rowOf(row)
  const areas = takes.map((_, index) => given[index] ?? defaultArea)
  const locations: CellLocation[] = []
  for (const [index, purpose] of takes.entries()) {
    const first = locations[0]
    const area = areas[index] ?? defaultArea
    locations.push(purpose === 'same folder' && first ? beside(first, n) : locate(world, area, purpose, n))
  }
  let verdict = judge(holder, needs, locations)
  if (verdict.may && gives === 'a key that reads') verdict = judgeNewKey(holder, { scopes: ['read'], access: 'all' })
  if (verdict.may && gives === 'what the bystander has') verdict = judgeGift(holder, world.bystander)
  if (verdict.may && gives === 'what an owner has') verdict = judgeGift(holder, world.founder.owner)
  const settled = verdict.may ? locations : locations.map((at, index) => seeded(at, takes[index], areas[index]))
  return { row, holder, areas, verdict, locations: settled, n }
}

/** Aims a refused call at a permanent file, so that the test can see that nothing changes. */
function seeded(at: CellLocation, purpose: Purpose | undefined, area: Area | undefined): CellLocation {
  return isTaken(purpose) && area?.kind === 'folder' ? { ...at, path: `${area.path}/${seedFile}` } : at
}

function isTaken(purpose: Purpose | undefined): boolean {
  return purpose === 'doomed' || purpose === 'replaced'
}

/** Whether a success would remove files that other cells need. */
export function isDestructive({ row, verdict, areas, locations }: Cell): boolean {
  const [area, targetArea] = areas
  const [from, to] = locations
  if (!verdict.may || !area || !from) return false
  if (row === 'Mutation.disconnectProvider') return area.kind !== 'missing'
  if (row === 'DELETE /dav/*' || row === 'LOCK /dav/*') return area.kind === 'exact'
  // A shared folder stays if it would be moved into itself or onto an existing entry.
  const stays = targetArea?.kind === 'exact' || !to || (from.provider === to.provider && isBelow(to.path, from.path))
  return area.kind === 'exact' && rowOf(row).takes?.[1] === 'new' && !stays
}

/** Resolves with a description of the error, or null if the response is as expected. */
export async function runCell(world: World, schema: Schema, cell: Cell): Promise<string | null> {
  const row = rowOf(cell.row)
  const { holder, ids } = await prepare(world, cell)
  const target: Target = { locations: cell.locations, n: cell.n, ids }
  const call = 'call' in row ? row.call(target) : operation(schema, cell.row, row.args?.(target) ?? {})
  const answer = await sendInTurn(() => sendAs(world.url, holder, call))
  const wrong = cell.verdict.may ? await checkPermitted(world, cell, answer) : checkRefused(cell, call, answer)
  return (
    wrong &&
    `${cell.row} with ${holder.label} at ${cell.locations.map(({ path }, i) => `${cell.areas[i]?.name} (${path.slice(0, 80)})`).join(' -> ') || 'no location'}: ${wrong}`
  )
}

/** Sends a call again while other cells have all archives that one credential can download at once. */
async function sendInTurn(send: () => Promise<Answer>): Promise<Answer> {
  let answer = await send()
  await until(
    async () => {
      if (answer.errors[0]?.extensions?.reason !== 'TOO_MANY_ARCHIVES') return true
      answer = await send()
      return 'waiting for an archive'
    },
    { every: 20 },
  )
  return answer
}

export function argumentsFor(cell: Cell, ids: Target['ids']): Record<string, unknown> {
  return fields[cell.row]?.args?.({ locations: cell.locations, n: cell.n, ids }) ?? {}
}

export async function prepare(
  world: World,
  { row, holder, verdict, locations }: Cell,
): Promise<{ holder: Holder; ids: Target['ids'] }> {
  const { takes, spends } = rowOf(row)
  const ids = {
    ownKey: world.ownKeys.get(holder.userId ?? '') ?? world.ownKeys.values().next().value ?? '',
    login: { email: world.founder.email ?? '', password },
    session: randomUUID(),
    bystander: world.bystander.id,
    spare: world.bystander.id,
    group: world.group,
    invite: world.invites.keys().next().value ?? '',
    job: world.jobs[0]?.id ?? '',
    schedule: world.schedules[0]?.id ?? '',
    webhook: world.webhooks[0]?.id ?? '',
    trashed: randomUUID(),
    version: randomUUID(),
    upload: randomUUID(),
    share: world.shares[0]?.id ?? '',
  }
  if (!verdict.may) return { holder, ids }
  for (const [index, { provider, path, sure }] of locations.entries()) {
    const root = world.roots.get(provider)
    if (isTaken(takes?.[index]) && sure && root) await putFile(root, path)
    if (spends === 'upload' && sure) await world.insertUpload(provider, path, ids.upload)
    if (takes?.[index] === 'trashed' && sure && root) await world.putInTrash(provider, path, ids.trashed)
    if (takes?.[index] === 'versioned' && sure && root) await world.putVersion(provider, path, ids.version)
  }
  // Cells that empty the trash run meanwhile.
  if (spends === 'trash' && locations[0]?.sure) await world.fillTrash(locations[0].provider)
  if (spends === 'member')
    return { holder, ids: { ...ids, spare: await world.insertMember({ role: 'NONE', access: 'all' }) } }
  if (spends === 'paused job' || spends === 'ended job') {
    const state = spends === 'paused job' ? 'PAUSED' : 'FAILED'
    return { holder, ids: { ...ids, job: await world.insertJob(state, holder, '/public') } }
  }
  if (spends === 'group') return { holder, ids: { ...ids, group: await world.insertGroup([world.bystander.id]) } }
  if (spends === 'room for a group') await world.makeRoomForGroup()
  if (spends === 'room for a service account') await world.makeRoomForServiceAccount()
  if (spends === 'room for a schedule') await world.makeRoomForSchedule(holder)
  if (spends === 'room for a share') await world.makeRoomForShare(holder)
  if (spends === 'room for a webhook' || spends === 'webhook') await world.makeRoomForWebhook()
  if (spends === 'schedule') return { holder, ids: { ...ids, schedule: await world.insertSchedule(holder, '/public') } }
  if (spends === 'webhook') return { holder, ids: { ...ids, webhook: await world.insertWebhook(holder, '/public') } }
  if (spends === 'share') return { holder, ids: { ...ids, share: await world.insertShare(holder, '/public') } }
  if (spends === 'invite')
    return { holder, ids: { ...ids, invite: await world.insertInvite({ role: 'NONE', access: 'all' }) } }
  if (spends !== 'session') return { holder, ids }
  const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  const { login } = await world.app.ask(query, { input: { email: holder.email, password } })
  ids.session = JSON.parse(Buffer.from(login.token.split('.')[1], 'base64url').toString()).sid
  if (holder.carrier !== 'cookie') return { holder: { ...holder, header: `Bearer ${login.token}` }, ids }
  const beside = { ...holder.beside, cookie: `${holder.beside?.cookie?.split('=', 1)}=${login.token}` }
  return { holder: { ...holder, beside }, ids }
}

const statuses: Record<string, number> = { UNAUTHENTICATED: 401, FORBIDDEN: 403, BAD_USER_INPUT: 400, NOT_FOUND: 404 }

function checkRefused({ row, holder, verdict, locations }: Cell, call: Call, answer: Answer): string | null {
  if (verdict.may) return null
  const { takes = [] } = rowOf(row)
  const { code = '', reason = '' } = answer.errors[0]?.extensions ?? {}
  const came = `${answer.status} ${code} ${reason}`
  // The server may check this before or after the access, because everybody may learn that a root is fixed.
  const isFixed = locations.some(
    ({ path, makes }, index) => path === '/' && (makes || isTaken(takes[index]) || takes[index] === 'source'),
  )
  const saysFixed = isFixed && reason === 'ROOT_IS_FIXED' && code === 'BAD_USER_INPUT'
  const expected = `${verdict.code} ${verdict.reasons.join(' or ')}`
  const isGraphql = call.path.startsWith('/graphql')
  const status = isGraphql && !holder.faults && !holder.isMcpOnly ? 200 : statuses[saysFixed ? code : verdict.code]
  if (answer.status !== status) return `expected ${status} ${expected}, got ${came}`
  if (call.method === 'HEAD') return answer.text === '' ? null : 'a body in the response to HEAD'
  if (!saysFixed && (code !== verdict.code || !verdict.reasons.includes(reason)))
    return `expected ${expected}, got ${came}`
  if (answer.errors.length !== 1) return `${answer.errors.length} errors instead of one`
  const { data = null } = answer.body as { data?: Record<string, unknown> | null }
  if (data !== null && Object.values(data).some(value => value !== null)) return `data in a refusal: ${answer.text}`
  if (answer.text.includes('canary-content')) return `content in a refusal: ${answer.text}`
  return null
}

async function checkPermitted(world: World, { row, locations, n }: Cell, answer: Answer): Promise<string | null> {
  const { bounces, takes = [], effect } = rowOf(row)
  const { code, reason } = answer.errors[0]?.extensions ?? {}
  const came = `${answer.status} ${code} ${reason} ${answer.errors[0]?.message}`
  if ([401, 403].includes(answer.status) || code === 'UNAUTHENTICATED' || code === 'FORBIDDEN') {
    return `expected permission, got ${came}`
  }
  if (answer.status >= 500 || (code !== undefined && code !== 'BAD_USER_INPUT' && code !== 'NOT_FOUND'))
    return `got ${came}`
  if (bounces || !locations.every(({ sure }) => sure)) {
    const isRead = answer.errors.length === 0 && answer.text.includes('canary-content')
    const [at] = locations
    // An archive may contain files that were copied from elsewhere.
    if (!isRead || !at || isArchive(answer)) return null
    return answer.text.includes(contentOf(at.path)) ? null : 'content of another file'
  }
  if (answer.errors.length > 0 || answer.status >= 300) return `expected success, got ${came}`
  return effect ? checkEffect(world, effect, locations, takes, answer, n) : null
}

async function checkEffect(
  world: World,
  effect: NonNullable<FieldRow['effect']>,
  locations: readonly CellLocation[],
  takes: readonly Purpose[],
  answer: Answer,
  n: number,
): Promise<string | null> {
  const [from, to = from] = locations
  if (!from || !to) return 'no location'
  const onDisk = ({ provider, path }: CellLocation) => join(world.roots.get(provider) ?? '', path)
  const exists = (at: CellLocation) =>
    access(onDisk(at)).then(
      () => true,
      () => false,
    )
  const holds = async (at: CellLocation, text: string) =>
    (await readFile(onDisk(at), 'utf8').catch(() => null)) === text
  const said = (yes: boolean, what: string) => (yes ? null : `${what}: ${answer.text.slice(0, 200)}`)
  switch (effect) {
    case 'names its path':
      return said(answer.text.includes(`"path":${JSON.stringify(from.path)}`), 'wrong path')
    case 'sent':
      return said(answer.text === contentOf(from.path), 'wrong bytes')
    case 'archived': {
      const isOther = from.path.endsWith(`/${seedFolder}`) && answer.text.includes('canary')
      return said(isArchive(answer) && !isOther, 'not an archive of the folder')
    }
    case 'stored':
      return said(await holds(from, uploaded({ n })), 'not stored')
    case 'folder made':
      return said(await exists(from), 'not created')
    case 'gone':
      return said(!(await exists(from)), 'still there')
    case 'moved':
      return said(!(await exists(from)) && (await holds(to, contentOf(from.path))), 'not moved')
    case 'copied':
      return said((await holds(to, contentOf(from.path))) && (await exists(from)), `not copied as ${takes}`)
  }
}

function isArchive({ text }: Answer): boolean {
  return text.startsWith('PK\x03\x04')
}

/**
 * Runs items and starts them in the given order.
 * @param atOnce the default stays below the 20 concurrent sign-ins that one address may have
 */
export async function runAll<T>(
  items: readonly T[],
  run: (item: T) => Promise<string | null>,
  atOnce = 16,
): Promise<string[]> {
  const wrong: string[] = []
  const iterator = items.values()
  const worker = async () => {
    for (const item of iterator) {
      const found = await run(item).catch(error => `threw ${error instanceof Error ? error.stack : error}`)
      if (found) wrong.push(found)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return wrong
}

/** Whether a form or an address can carry this path unchanged. A form has a folder and a file name. */
export function canCarry(row: string, area: Area): boolean {
  const isJson = row in fields || row.startsWith('POST /mcp')
  if (!area.path.isWellFormed()) return isJson
  // XML cannot contain them.
  if (row === 'POST /s3/* deleting many' && /[\p{Cc}\ufffe\uffff]/u.test(area.path)) return false
  // A key has no first "/", and at most 1,024 bytes. With a "/" at its end it is a folder.
  if (row.includes(' /s3/*')) return /^\/.*[^/]$/s.test(area.path) && Buffer.byteLength(area.path) <= 1025
  // The server resolves these as a shell does, before it decides.
  if (row in sftpRows)
    return area.path === '/' || (isSpelled({ provider: '', path: area.path }) && !area.path.includes('\0'))
  // A slash at the end of an address names the same folder.
  if (row.includes(' /dav')) return area.path === '/' || (area.path.startsWith('/') && !area.path.endsWith('/'))
  if (row !== 'POST /api/upload/proxy as a form') return area.path !== '' || isJson
  const name = area.path.slice(area.path.lastIndexOf('/') + 1)
  const isPlain = name !== '' && !/["\\\p{Cc}]/u.test(name)
  return isPlain && isSpelled({ provider: '', path: `${area.path.slice(0, -name.length)}x` })
}

/**
 * Returns a filter that takes a thirteenth of all combinations in `npm test`, drawn at random. Making a cell of each takes longer
 * than calling the server for those that a sample takes of them.
 */
export function someCombinations(): () => boolean {
  const random = randomNumbers(13)
  return () => isNight || process.env.MATRIX === 'all' || random() < 1 / 13
}

/** Draws a random sample that depends only on `seed`. Returns all items with MATRIX=all. */
export function sample<T>(items: readonly T[], count: number, seed = 1): T[] {
  if (process.env.MATRIX === 'all') return [...items]
  const rest = [...items]
  const random = randomNumbers(seed)
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    const index = Math.floor(random() * rest.length)
    const drawn = rest[index] as T
    const last = rest.pop() as T
    if (index < rest.length) rest[index] = last
    return drawn
  })
}

/** Samples up to `count` permitted and up to `count` refused items. */
export function balance<T>(items: readonly T[], may: (item: T) => boolean, count: number): T[] {
  const groups = Map.groupBy(items, may)
  return [true, false].flatMap(is => sample(groups.get(is) ?? [], count))
}
