/**
 * Sends hostile paths and names to every endpoint, with a key that is limited to a base path. Nothing outside that path is
 * created, changed, removed or revealed, and every stored file has exactly the given name.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'content-disposition'
import fc from 'fast-check'
import type { Test } from 'tap'
import { readWithPython } from '../http/archive-tools.ts'
import { metadataHeader, tusPath } from '../http/tus.ts'
import { hostilePaths } from '../matrix/areas.ts'
import { runAll } from '../matrix/cells.ts'
import { isSpelled } from '../matrix/model.ts'
import { base } from '../matrix/world.ts'
import { sharePath } from '../support/shares.ts'
import { resourcesIn } from '../webdav/client.ts'
import type { Item } from './back-ends.ts'
import { anyName, anyPath, names, rawPaths } from './corpus.ts'
import {
  type Answer,
  type Attack,
  archive,
  dav,
  download,
  follow,
  form,
  graphql,
  headerOf,
  json,
  objectForm,
  redeem,
  rendition,
  thumbnail,
  tool,
  tryCall,
  tus,
  upload,
} from './requests.ts'
import { trySftp } from './sftp-paths.ts'

const isThorough = process.env.MATRIX === 'all'

const entry = 'query ($providerId: ID!, $path: String!) { entry(providerId: $providerId, path: $path) { path name } }'
const list = `query ($providerId: ID!, $path: String!) {
  folder(providerId: $providerId, path: $path) { downloadUrl entries(first: 1000) { nodes { path name __typename } } } }`
const insight = `query ($within: [LocationInput!]) {
  storageUsage(within: $within) { parts { path } } rankedFiles(within: $within, rank: LARGEST) { file { path } }
}`
const search = 'query ($input: SearchInput!) { search(input: $input) { nodes { entry { path } } } }'
const archiveTicket = 'query ($input: ArchiveTicketInput!) { archiveTicket(input: $input) }'
const link = 'query ($providerId: ID!, $path: String!) { file(providerId: $providerId, path: $path) { downloadUrl } }'
const listVersions =
  'query ($providerId: ID!, $path: String!) { versions(providerId: $providerId, path: $path) { nodes { id } } }'
export const change = (name: string, select = 'path') => {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  return `mutation ($input: ${type}!) { ${name}(input: $input) { ${select} } }`
}

/** Uses a path as the source and the target of every operation. */
export async function tryPath(on: Attack, path: string, n: number): Promise<void> {
  const { providerId } = on
  const at = { providerId, path }
  const isPlain = [base, '/', `${base}/seed.txt`, `${base}/deep`, `${base}/deep/seed.txt`].includes(path)
  await graphql(on, entry, at)
  await graphql(on, list, at)
  await graphql(on, insight, { within: [at] })
  await graphql(on, search, { input: { text: 'seed', within: [at] } })
  await tryCall(on, `GET a search in ${JSON.stringify(path).slice(0, 200)}`, {
    method: 'GET',
    path: `/api/search?${new URLSearchParams({ text: 'seed', providerId, path: path.toWellFormed() })}`,
  })
  const linked = json(await graphql(on, link, at)).data?.file?.downloadUrl
  if (linked) await follow(on, linked)
  await graphql(on, change('createFolder'), { input: at })
  await graphql(on, change('takeOverUpload'), { input: { ...at, uploadId: path } })
  await graphql(on, change('setQuota', 'id'), { input: { ...at, bytes: 0 } })
  const direct = json(await graphql(on, change('createUploadTicket', 'url method isDirect'), { input: at })).data
  if (direct?.createUploadTicket.isDirect) {
    await fetch(direct.createUploadTicket.url, { method: direct.createUploadTicket.method, body: 'direct' })
  }
  const source = `${base}/source-${n}`
  await on.backEnd.make(on.backEnd.spelled(source), 'source')
  await graphql(on, change('copy'), { input: { providerId, path: source, toPath: path } })
  await graphql(on, change('rename'), { input: { providerId, path: source, name: path } })
  const job = { kind: 'COPY', sources: [{ providerId, path: source }], target: { providerId, path: base } }
  await graphql(on, change('createJob', 'job { id }'), { input: { ...job, targetName: path, conflict: 'REPLACE' } })
  await graphql(on, change('copy'), { input: { ...at, toPath: `${base}/copied-${n}` } })
  if (!isPlain) {
    await graphql(on, change('move'), { input: { ...at, toPath: `${base}/moved-${n}` } })
    await graphql(on, change('rename'), { input: { ...at, name: `renamed-${n}` } })
    await graphql(on, change('delete', 'deletedPath'), { input: { ...at, recursive: true } })
  }
  const keptId = Buffer.from(JSON.stringify([randomUUID(), providerId, path])).toString('base64url')
  await graphql(on, change('restore'), { input: { id: keptId } })
  await graphql(on, change('restoreVersion'), { input: { id: keptId } })
  await graphql(on, 'mutation ($id: ID!) { deleteVersion(id: $id) }', { id: keptId })
  await graphql(on, listVersions, at)
  // Paths are parsed before any back end sees them, so most back ends try a part of them.
  if (on.backEnd.type === 'memory' || isThorough || n % 3 === 0) await tryTools(on, path, n)
  if (on.backEnd.type === 'memory' || isThorough || n % 3 === 1) await tryDav(on, path, n)
  if (on.backEnd.type === 'memory' || isThorough || n % 3 === 0) await trySftp(on, path, n)
  if (on.backEnd.type === 'memory' || isThorough || n % 3 === 2) await tryShare(on, path)
  await download(on, path)
  await download(on, path, '&disposition=inline', 'HEAD')
  await thumbnail(on, path)
  await rendition(on, path)
  await archive(on, [path])
  await archive(on, [`${base}/seed.txt`, path])
  const ticket = json(await graphql(on, archiveTicket, { input: { providerId, paths: [path] } })).data?.archiveTicket
  if (ticket) await redeem(on, ticket)
  await upload(on, path, 'uploaded')
  await form(on, path, `filename="form-${n}"`, 'uploaded')
  await form(on, base, `filename="${path}"`, 'uploaded')
  if (path.isWellFormed()) {
    await form(on, base, `filename*=UTF-8''${encodeURIComponent(path)}`, 'uploaded')
    await tus(on, path, 'uploaded')
    if (on.backEnd.type === 'memory' || isThorough || n % 3 === 1) await tryKey(on, path, isPlain)
  }
}

/** Uses a path with share links, as it is and below a folder of the share. */
async function tryShare(on: Attack, path: string): Promise<void> {
  const call = (method: string, to: string, more: object = {}) =>
    tryCall(on, `${method} ${to.slice(0, 200)}`, { method, path: to, isWithout: true, ...more })
  for (const shown of [path, `/deep${path}`].map(each => each.toWellFormed())) {
    const listed = await call('GET', sharePath(on.links.view, 'entries', { path: shown }))
    for (const entry of listed.status === 200 ? json(listed).entries : []) {
      if (!isSpelled({ provider: '', path: entry.path })) on.wrong.push(`a share lists ${JSON.stringify(entry.path)}`)
    }
    await call('GET', sharePath(on.links.view, 'content', { path: shown }))
    await call('HEAD', sharePath(on.links.view, 'content', { path: shown }))
    await call('POST', sharePath(on.links.drop, 'files', { path: shown }), { body: 'dropped' })
    const metadata = metadataHeader({ path: shown })
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '7', 'upload-metadata': metadata }
    await call('POST', sharePath(on.links.drop, 'uploads'), { headers })
  }
}

/** Uses a path as a key and as a prefix over S3. */
async function tryKey(on: Attack, path: string, isPlain: boolean): Promise<void> {
  // Without a key, a request is one to the bucket.
  if (path === '' || path === '/') return
  const key = path.split('/').map(encodeURIComponent).join('/')
  const bucket = `/s3/${on.providerId}`
  const at = `${bucket}${key.startsWith('/') ? '' : '/'}${key}`
  const source = { 'x-amz-copy-source': `/${on.providerId}${key}` }
  const call = (method: string, to: string, more: object = {}) =>
    tryCall(on, `${method} ${path} over S3`, { method, path: to, ...more })
  await call('GET', at)
  await call('HEAD', at)
  await call('PUT', at, { body: 'stored over S3' })
  await call('PUT', `${bucket}${base}/copied-over-s3`, { headers: source })
  await call('GET', `${at}?retention`)
  await call('PUT', `${at}?legal-hold`, { body: '<LegalHold><Status>ON</Status></LegalHold>' })
  for (const query of ['list-type=2&prefix=', 'list-type=2&delimiter=%2F&start-after=', 'delimiter=%2F&prefix=']) {
    const text = encodeURIComponent(path.replace(/^\//, ''))
    const { status, text: xml } = await call('GET', `${bucket}?encoding-type=url&${query}${text}`)
    if (status === 200 && !/<(?:Contents|CommonPrefixes)>/.test(xml)) continue
    for (const [, found = ''] of xml.matchAll(/<(?:Key|Prefix)>([^<]+)<\/(?:Key|Prefix)><(?!MaxKeys)/g)) {
      const isOnTheWay = `${base}/`.startsWith(`/${decodeURIComponent(found)}`)
      if (!isOnTheWay && !`/${decodeURIComponent(found)}`.startsWith(`${base}/`)) on.wrong.push(`listed ${found}`)
    }
  }
  await objectForm(on, path.replace(/^\//, ''), 'x')
  await objectForm(on, `${base.slice(1)}/by-form/$\{filename}`, path)
  if (isPlain) return
  const listed = path.replace(/[&<>]/g, character => `&#${character.charCodeAt(0)};`)
  await call('POST', `${bucket}?delete`, { body: `<Delete><Object><Key>${listed}</Key></Object></Delete>` })
  await call('DELETE', at)
}

/** Uses a path in every tool that takes one. */
async function tryTools(on: Attack, path: string, n: number): Promise<void> {
  const { providerId } = on
  const at = { providerId, path }
  const isPlain = [base, '/', `${base}/seed.txt`, `${base}/deep`, `${base}/deep/seed.txt`].includes(path)
  for (const name of ['stat', 'list_folder', 'read_file', 'create_folder']) await tool(on, name, at)
  const found = await tool(on, 'search', { ...at, name: 'seed' })
  for (const { path: inside } of found.output?.entries ?? []) {
    if (!`${inside}/`.startsWith(`${base}/`)) on.wrong.push(`found ${JSON.stringify(inside)}`)
  }
  await tool(on, 'list_versions', at)
  await tool(on, 'read_file', { ...at, version: randomUUID() })
  await tool(on, 'restore_version', { ...at, version: randomUUID() })
  await tool(on, 'write_file', { ...at, content: 'written', conflict: 'RENAME' })
  const source = `${base}/source-of-tools-${n}`
  await on.backEnd.make(on.backEnd.spelled(source), 'source')
  await tool(on, 'copy', { providerId, path: source, toPath: path })
  await tool(on, 'copy', { ...at, toPath: `${base}/copied-by-tools-${n}` })
  await tool(on, 'move', { providerId, path: source, toPath: path })
  if (isPlain) return
  await tool(on, 'move', { ...at, toPath: `${base}/moved-by-tools-${n}` })
  await tool(on, 'write_file', { ...at, content: 'written' })
  await tool(on, 'delete', { ...at, confirm: path })
}

const lockInfo =
  '<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype><owner>x</owner></lockinfo>'
const property = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>'

/** Uses a path in every method of WebDAV, in its URL, its Destination and its If header. */
async function tryDav(on: Attack, path: string, n: number): Promise<void> {
  const isPlain = [base, '/', `${base}/seed.txt`, `${base}/deep`, `${base}/deep/seed.txt`].includes(path)
  for (const depth of ['0', '1']) {
    const { text } = await dav(on, 'PROPFIND', path, { headers: { depth } })
    for (const [, href = ''] of text.matchAll(/<D:href>([^<]*)<\/D:href>/g)) {
      // A lock of another call, which runs at the same time.
      if (href.startsWith('opaquelocktoken:')) continue
      const inside = decodeURIComponent(href).slice(`/dav/${on.providerId}`.length)
      // Above the base path, only the way down to it is shown.
      if (!`${inside}/`.startsWith(`${base}/`) && !`${base}/`.startsWith(inside))
        on.wrong.push(`PROPFIND names ${href}`)
    }
  }
  await dav(on, 'GET', path)
  await dav(on, 'PROPPATCH', path, { body: property })
  await dav(on, 'LOCK', path, { body: lockInfo, headers: { depth: '0', timeout: 'Second-1' } })
  await dav(on, 'UNLOCK', path, {
    headers: { 'lock-token': `<opaquelocktoken:${path.slice(0, 20).toWellFormed()}>` },
  }).catch(
    // Node refuses to send such a header.
    () => {},
  )
  const source = `${base}/source-of-dav-${n}`
  await on.backEnd.make(on.backEnd.spelled(source), 'source')
  await dav(on, 'COPY', source, { destination: path, headers: { overwrite: 'F' } })
  await dav(on, 'COPY', path, { destination: `${base}/copied-by-dav-${n}` })
  await dav(on, 'MKCOL', path)
  if (isPlain || base.startsWith(path.replace(/\/$/, ''))) return
  await dav(on, 'MOVE', source, { destination: path })
  await dav(on, 'MOVE', path, { destination: `${base}/moved-by-dav-${n}` })
  await dav(on, 'PUT', path, { body: 'stored' })
  await dav(on, 'DELETE', path)
}

async function tryRawPath(on: Attack, raw: string): Promise<void> {
  const query = `?providerId=${on.providerId}&path=${raw.replace('%s', base)}`
  const headers = { 'content-type': 'application/octet-stream' }
  for (const method of ['GET', 'HEAD']) await tryCall(on, raw, { method, path: `/api/download/proxy${query}` })
  for (const route of ['thumbnail', 'rendition'])
    await tryCall(on, raw, { method: 'GET', path: `/api/${route}${query}` })
  const davPath = `/dav/${on.providerId}${raw.replace('%s', base)}`
  for (const method of ['GET', 'PROPFIND', 'MKCOL'])
    await tryCall(on, raw, { method, path: davPath, headers: { depth: '0' } })
  await tryCall(on, raw, { method: 'PUT', path: davPath, body: 'raw' })
  await tryCall(on, raw, { method: 'POST', path: `/api/upload/proxy${query}`, headers, body: 'raw' })
  const bytes = Buffer.from(
    raw.replace('%s', base).replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  const path = bytes.toString('base64')
  await tryCall(on, raw, {
    method: 'POST',
    path: tusPath,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-length': '0',
      'upload-metadata': `providerId ${Buffer.from(on.providerId).toString('base64')},path ${path}`,
    },
  })
}

const isInside = ({ backEnd }: Attack, { at }: Item) => backEnd.spelled(base).every((name, index) => at[index] === name)

async function outside(on: Attack): Promise<string[]> {
  const items = await on.backEnd.all()
  return items
    .filter(item => !isInside(on, item))
    .map(({ at, is }) => JSON.stringify([...at, is]))
    .toSorted()
}

/** Runs `work` for all items, several at once. */
export async function forEach<T>(on: Attack, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  on.wrong.push(...(await runAll(items, item => work(item).then(() => null))))
}

/** Runs `work` and asserts that nothing outside the base path has changed. */
export async function leavesTheRest(t: Test, on: Attack, work: () => Promise<void>): Promise<void> {
  const [before, count] = [await outside(on), on.count]
  t.ok(before.some(line => line.includes('canary-documents')))
  await work()
  t.same(await outside(on), before, 'nothing outside the base path has changed')
  t.same(on.wrong.splice(0).slice(0, 20), [])
  t.comment(`${on.backEnd.type}: ${on.count - count} hostile requests`)
  t.equal(on.app.logged(), '')
}

/** Adds generated values to the corpus: the same ones in every run, and more of them with MATRIX=all. */
function withRandom(corpus: readonly string[], any: fc.Arbitrary<string>): string[] {
  const numRuns = isThorough ? 600 : 30
  return [...new Set([...corpus, ...fc.sample(any, { numRuns, seed: 4 })])]
}

/** Returns the values that a run tries. @param scale divides their number in `npm test`, for values that take long */
export type Sample = <T>(values: readonly T[], scale?: number) => T[]

/** @param every tries one of this many paths, for a back end that differs from another one only in its protocol */
export async function pathsStayInside(t: Test, on: Attack, sample: Sample, every = 1): Promise<void> {
  const isTried = (_: unknown, n: number) => isThorough || n % every === 0
  const paths = [...withRandom(hostilePaths, anyPath).entries()].filter(isTried)
  await leavesTheRest(t, on, async () => {
    await forEach(on, sample(paths, 2), ([n, path]) => tryPath(on, path, n))
    await forEach(on, sample(rawPaths.filter(isTried)), raw => tryRawPath(on, raw))
  })
}

/**
 * Creates a file with this name through the endpoints, each in a folder of its own. The memory back end tries all endpoints;
 * other back ends try the raw upload and one of the others in turn, because names are parsed before any adapter sees them.
 * @returns the paths of the stored files
 */
async function giveName(on: Attack, name: string, n: number): Promise<string[]> {
  const { providerId } = on
  const stored: string[] = []
  const outcomes: string[] = []
  const note = (endpoint: string, answer: Answer, path: string, errors: { extensions: { reason: string } }[] = []) => {
    const isStored = answer.status < 300 && errors.length === 0
    const said =
      errors[0]?.extensions.reason ?? (answer.status < 300 ? 'stored' : json(answer).errors[0].extensions.reason)
    // The form parser already rejects such a name.
    const isUnread = endpoint === 'form' && /[\r\n]/.test(name) && said === 'INVALID_INPUT'
    const reason = isUnread ? 'INVALID_PATH' : said
    outcomes.push(reason)
    if (isStored) stored.push(path)
    else if (reason !== 'INVALID_PATH') on.wrong.push(`${endpoint} of ${JSON.stringify(name)}: ${reason}`)
    if (isStored && !isSpelled({ provider: '', path, makes: true }))
      on.wrong.push(`${endpoint} accepted ${JSON.stringify(name)}`)
  }
  const same = (endpoint: string, path: string, said: string | undefined) => {
    if (said !== path) on.wrong.push(`${endpoint} of ${JSON.stringify(path)}: says ${JSON.stringify(said)}`)
  }
  const at = (endpoint: string) => `${base}/named/${endpoint}`
  const isTried = (turn: number) => on.backEnd.type === 'memory' || isThorough || n % 3 === turn
  if (name.isWellFormed()) {
    const raw = await upload(on, `${at('raw')}/${name}`, 'raw')
    note('raw', raw, `${at('raw')}/${name}`)
    if (raw.status === 201) {
      same('raw', `${at('raw')}/${name}`, json(raw).path)
      const location = new URL(headerOf(raw, 'location') ?? '', on.app.url)
      same('location', `${at('raw')}/${name}`, location.searchParams.get('path') ?? undefined)
    }
  }
  if (name.isWellFormed() && isTried(0)) {
    const part = await form(on, at('form'), `filename*=UTF-8''${encodeURIComponent(name)}`, 'form')
    note('form', part, `${at('form')}/${name}`)
    if (part.status === 201) same('form', `${at('form')}/${name}`, json(part).entries[0].path)
  }
  if (name.isWellFormed() && isTried(1)) {
    const written = await tool(on, 'write_file', { providerId, path: `${at('tool')}/${name}`, content: 'tool' })
    const answer = { status: written.status, headers: [], body: Buffer.alloc(0), text: '' }
    note('tool', answer, `${at('tool')}/${name}`, written.errors)
    if (written.output) same('tool', `${at('tool')}/${name}`, written.output.path)
  }
  if (name.isWellFormed() && isTried(1)) {
    const resumable = await tus(on, `${at('tus')}/${name}`, 'tus')
    note('resumable', resumable, `${at('tus')}/${name}`)
    if (resumable.status === 201) {
      same('resumable', `${at('tus')}/${name}`, decodeURIComponent(headerOf(resumable, 'upload-stored-path') ?? ''))
    }
  }
  // An address cannot tell a slash in a name from one between names.
  if (name !== '' && !name.includes('/') && name.isWellFormed() && isTried(2)) {
    for (const folder of [`${base}/named`, at('dav')]) await dav(on, 'MKCOL', folder)
    const put = await dav(on, 'PUT', `${at('dav')}/${name}`, { body: 'dav' })
    const reason = /<s:exception>(\w+)</.exec(put.text)?.[1]
    note('dav', put, `${at('dav')}/${name}`, reason === undefined ? [] : [{ extensions: { reason } }])
  }
  if (isTried(2) || !name.isWellFormed()) {
    const plain = `${at('renamed')}/not yet ${n}`
    await on.backEnd.make(on.backEnd.spelled(plain), 'renamed')
    const renamed = await graphql(on, change('rename'), { input: { providerId, path: plain, name } })
    const path = `${at('renamed')}/${name}`
    const { data, errors } = json(renamed)
    note('rename', renamed, path, errors)
    if (data?.rename) same('rename', path, data.rename.path)
    else stored.push(plain)
  }
  if (new Set(outcomes).size > 1) on.wrong.push(`${JSON.stringify(name)}: the endpoints differ: ${outcomes}`)
  return stored
}

async function checkRead(on: Attack, path: string): Promise<void> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const seen = json(await graphql(on, entry, { providerId: on.providerId, path })).data?.entry
  if (seen?.path !== path || seen.name !== name)
    on.wrong.push(`entry of ${JSON.stringify(path)}: ${JSON.stringify(seen)}`)
  const read = await download(on, path, '&disposition=inline')
  if (read.status !== 200) on.wrong.push(`${JSON.stringify(path)} cannot be read: ${read.status}`)
  if (headerOf(read, 'content-security-policy') !== 'sandbox') on.wrong.push(`${JSON.stringify(path)}: no sandbox`)
  checkDisposition(on, read, name)
  const linked = json(await graphql(on, link, { providerId: on.providerId, path })).data?.file?.downloadUrl
  const followed = linked && (await follow(on, linked))
  if (followed?.text !== read.text) on.wrong.push(`the link to ${JSON.stringify(path)} returns other bytes`)
}

function checkDisposition(on: Attack, answer: Answer, name: string): void {
  const given = headerOf(answer, 'content-disposition') ?? ''
  const { filename } = parse(given).parameters
  if (filename !== name.replace(/\p{Cc}/gu, '_')) on.wrong.push(`${JSON.stringify(name)} is sent as ${given}`)
}

/** Checks that an archive unpacks into one folder. @returns the number of files in it */
export async function checkArchive(on: Attack, folder: string): Promise<number> {
  const answer = await download(on, folder)
  const folderOnDisk = await mkdtemp(join(tmpdir(), 'stowage-hostile-'))
  try {
    await writeFile(join(folderOnDisk, 'a.zip'), answer.body)
    const members = await readWithPython(join(folderOnDisk, 'a.zip'))
    const top = folder.slice(folder.lastIndexOf('/') + 1)
    for (const { name } of members) {
      const [first, ...rest] = name.replace(/\/$/, '').split('/')
      const climbs = rest.some(segment => ['', '.', '..'].includes(segment))
      if (first !== top || climbs || /[\\\p{Cc}]/u.test(name)) on.wrong.push(`in an archive: ${JSON.stringify(name)}`)
    }
    if (new Set(members.map(({ name }) => name)).size !== members.length) on.wrong.push(`twins in ${folder}`)
    return members.filter(({ name }) => !name.endsWith('/')).length
  } finally {
    await rm(folderOnDisk, { recursive: true })
  }
}

/** Leaves out names that are the same as an earlier one where names are not case-sensitive. */
export function distinct({ backEnd }: Attack, all: readonly string[]): string[] {
  return backEnd.foldsCase ? [...new Map(all.map(name => [name.toLowerCase(), name])).values()] : [...all]
}

export async function namesAreKept(t: Test, on: Attack, sample: Sample): Promise<void> {
  const given = sample(distinct(on, withRandom(names, anyName)))
  const stored: string[] = []
  await leavesTheRest(t, on, async () => {
    const work = async ([n, name]: [number, string]) => {
      const paths = await giveName(on, name, n)
      stored.push(...paths)
      if (paths[0] !== undefined) await checkRead(on, paths[0])
    }
    await forEach(on, [...given.entries()], work)
    const archived = await checkArchive(on, `${base}/named`)
    if (archived !== stored.length) on.wrong.push(`${archived} of ${stored.length} in the archive`)
  })
  const { backEnd } = on
  const depth = backEnd.spelled(base).length
  const found = (await backEnd.all()).filter(item => isInside(on, item) && item.at[depth] === 'named')
  const files = found.filter(({ is }) => is !== 'folder').map(({ at }) => JSON.stringify(at))
  t.same(
    files.toSorted(),
    stored.map(path => JSON.stringify(backEnd.spelled(path))).toSorted(),
    'exactly these files exist, under these names',
  )
  t.comment(`${given.length} names, ${stored.length} stored`)
}

/** Checks that WebDAV and S3 list the same names as GraphQL. */
async function checkDoors(on: Attack, folder: string, names: readonly string[]): Promise<void> {
  const same = (door: string, found: readonly string[]) => {
    if (JSON.stringify(found.toSorted()) !== JSON.stringify(names.toSorted()))
      on.wrong.push(`${door} lists ${JSON.stringify(found)}`)
  }
  const decoded = (text: string) => decodeURIComponent(text.replace(/\/$/, '').split('/').at(-1) ?? '')
  const { text } = await dav(on, 'PROPFIND', folder, { headers: { depth: '1' } })
  const [, ...members] = await resourcesIn({ text })
  same(
    'WebDAV',
    members.map(({ href }) => decoded(href)),
  )
  const query = `encoding-type=url&delimiter=%2F&prefix=${encodeURIComponent(`${folder.slice(1)}/`)}`
  const list = await tryCall(on, 'a list over S3', { method: 'GET', path: `/s3/${on.providerId}?${query}` })
  const keys = list.text.matchAll(/<(?:Key|Prefix)>([^<]+)<\/(?:Key|Prefix)>(?!<MaxKeys)/g)
  same(
    'S3',
    [...keys].map(([, key = '']) => decoded(key)),
  )
}

async function checkReadAtDoors(on: Attack, path: string): Promise<void> {
  const read = await dav(on, 'GET', path)
  const key = path.split('/').map(encodeURIComponent).join('/')
  const object = await tryCall(on, `GET ${path} over S3`, { method: 'GET', path: `/s3/${on.providerId}${key}` })
  const isSame = read.status === 200 && object.status === 200 && read.text === object.text
  if (!isSame) on.wrong.push(`${JSON.stringify(path)} at the doors: ${read.status} and ${object.status}`)
}

/** Creates files with these paths outside Stowage and reads them. @returns the listed names */
export async function existingNamesAreData(
  t: Test,
  on: Attack,
  paths: readonly (readonly string[])[],
): Promise<string[]> {
  const folder = `${base}/there`
  for (const at of paths) await on.backEnd.make([...on.backEnd.spelled(folder), ...at], `there ${JSON.stringify(at)}`)
  let listed: { name: string; path: string; __typename: string }[] = []
  await leavesTheRest(t, on, async () => {
    const answer = json(await graphql(on, list, { providerId: on.providerId, path: folder }))
    listed = answer.data.folder.entries.nodes
    const files = listed.filter(({ __typename }) => __typename === 'File')
    for (const { name, path } of listed) {
      if (path !== `${folder}/${name}` || !isSpelled({ provider: '', path }))
        on.wrong.push(`listed: ${JSON.stringify(path)}`)
    }
    await forEach(on, files, ({ path }) => checkRead(on, path))
    await checkDoors(
      on,
      folder,
      listed.map(({ name }) => name),
    )
    await forEach(on, files, ({ path }) => checkReadAtDoors(on, path))
    await checkArchive(on, folder)
    const linked = await follow(on, answer.data.folder.downloadUrl)
    if (linked?.status !== 200) on.wrong.push(`the link to the folder: ${linked?.status}`)
  })
  return listed.map(({ name }) => name)
}
