/** Tests how the adapter uses Microsoft Graph, beyond what the conformance kit checks. */
import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { inspect } from 'node:util'
import t from 'tap'
import { oneDriveAdapter } from '../../adapters/backends/onedrive/index.ts'
import { QuickXorHash } from '../../adapters/backends/onedrive/quick-xor-hash.ts'
import { chunkSize } from '../../adapters/backends/onedrive/upload.ts'
import { usualTimeouts } from '../../adapters/bases/cloud/repeat.ts'
import {
  at,
  bodyOf,
  call,
  get,
  has,
  isMissing,
  listAll,
  namesIn,
  put,
  rejectsWith,
  stalledBody,
} from '../../adapters/conformance/kit.ts'
import type { StorageErrorCode, StorageProvider } from '../../adapters/contract.ts'
import { withNameRules } from '../../adapters/name-rules.ts'
import { startOneDrive } from '../servers/onedrive/index.ts'
import { atNight, extent } from '../support/extent.ts'
import { temporaryFolder } from '../support/program.ts'
import { copiesNeverReplace } from './cloud-cases.ts'
import { silentHost } from './host.ts'
import { consent, consentingHost } from './oauth-host.ts'
import { backoff, configOf, endpointsOf, openWorld } from './onedrive-world.ts'

const { network } = silentHost
const keep = { ...call(), overwrite: false }
const session = { method: 'PUT', path: /\/upload\// }

const write = (provider: StorageProvider, path: string, bytes: Buffer, overwrite = false) =>
  provider.write(at(path), bodyOf(bytes), { ...call(), size: bytes.length, overwrite })

t.test('quickXorHash is that of Microsoft, however the bytes are divided', async t => {
  const hashOf = (...parts: Buffer[]) => {
    const hash = new QuickXorHash()
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const known = { '': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=', 'Sg==': 'SgAAAAAAAAAAAAAAAQAAAAAAAAA=' }
  const longer = {
    '/aNzzCFPS/A=': '/RjFHJgRgicsAR4ACAAAAAAAAAA=',
    'XBV6YKU9V7yMakZnFIxIkuU=': 'HbplHsBQih5cgReMQYMRzkABRiA=',
    'DWAAX5/CIfrmErgZa8ot6ZraeSbu': 'LR2Z0PjuRYGKQB/mhQAuMrAGZbQ=',
  }
  for (const [bytes, hash] of Object.entries({ ...known, ...longer })) {
    t.equal(hashOf(Buffer.from(bytes, 'base64')), hash)
  }
  const bytes = randomBytes(10_000)
  const whole = hashOf(bytes)
  for (const size of [1, 3, 160, 161, 4096, 9999]) {
    const parts: Buffer[] = []
    for (let start = 0; start < bytes.length; start += size) parts.push(bytes.subarray(start, start + size))
    t.equal(hashOf(...parts), whole, `parts of ${size} bytes`)
  }
})

t.test('each tenant has its own addresses, and the consent covers SharePoint only for a site', async t => {
  const { oauth } = oneDriveAdapter()
  const query = { redirectUri: 'https://stowage.example/webhook/callback', state: 'x', codeChallenge: 'challenge' }
  const url = oauth?.authorizeUrl({ clientId: 'id', clientSecret: 'secret', tenant: 'contoso.example' }, query)
  t.equal(url?.href.split('?')[0], 'https://login.microsoftonline.com/contoso.example/oauth2/v2.0/authorize')
  t.strictSame(Object.fromEntries(url?.searchParams ?? []), {
    client_id: 'id',
    response_type: 'code',
    response_mode: 'query',
    redirect_uri: query.redirectUri,
    scope: 'offline_access Files.ReadWrite.All',
    state: 'x',
    code_challenge: 'challenge',
    code_challenge_method: 'S256',
    prompt: 'select_account',
  })
  const site = oauth?.authorizeUrl({ clientId: 'id', siteUrl: 'https://contoso.sharepoint.com' }, query)
  t.match(site?.href, '/common/')
  t.equal(site?.searchParams.get('scope'), 'offline_access Files.ReadWrite.All Sites.Read.All')

  const fake = await startOneDrive(t)
  const flow = oneDriveAdapter({ endpoints: endpointsOf(fake), backoff: { ...backoff, attempts: 2 } }).oauth
  if (!flow) throw new Error('no OAuth')
  const config = { ...configOf(fake), tenant: 'contoso.example' }
  const given = await consent(flow, config)
  const { refreshToken = '' } = await flow.exchange(config, given, network)
  t.ok((await flow.refresh(config, refreshToken, network)).accessToken)
  await rejectsWith('NEEDS_RECONNECT', flow.exchange(config, given, network))
  const stolen = { ...(await consent(flow, config)), codeVerifier: 'x'.repeat(43) }
  await rejectsWith('NEEDS_RECONNECT', flow.exchange(config, stolen, network))
  await rejectsWith('UNAUTHORIZED', flow.refresh({ ...config, clientSecret: 'wrong' }, refreshToken, network))
  fake.faults.fail({ path: /token/, reason: 'serviceNotAvailable', status: 503, times: 20 })
  await rejectsWith('UNAVAILABLE', flow.refresh(config, refreshToken, network))
})

t.test('withdrawn consent is NEEDS_RECONNECT, and a token that is always refused UNAUTHORIZED', async t => {
  const { provider, fake, host } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.oauth.expireAccessTokens()
  await Promise.all(Array.from({ length: 20 }, () => provider.stat(at('file'), call())))
  t.equal(fake.oauth.grants.refresh_token, 1, 'one request to Microsoft for all')
  fake.faults.fail({ path: /v1\.0/, reason: 'unauthenticated', times: 100 })
  const { refreshes } = host
  await rejectsWith('UNAUTHORIZED', provider.stat(at('file'), call()))
  t.equal(host.refreshes - refreshes, 1)
  fake.faults.clear()
  fake.oauth.withdraw()
  await rejectsWith('NEEDS_RECONNECT', get(provider, 'file'))
  await rejectsWith('NEEDS_RECONNECT', put(provider, 'new', 'no'))
  await rejectsWith('NEEDS_RECONNECT', listAll(provider, ''))
})

atNight(t, 'every documented refusal has a code and a sentence that says what to do', async t => {
  const { provider, fake } = await openWorld(t)
  const cases: [string, number, StorageErrorCode][] = [
    ['accessDenied', 403, 'PERMISSION_DENIED'],
    ['accessDenied/accessRestricted', 403, 'PERMISSION_DENIED'],
    ['somethingNew', 403, 'PERMISSION_DENIED'],
    ['notAllowed', 403, 'PERMISSION_DENIED'],
    ['notSupported', 405, 'PERMISSION_DENIED'],
    ['malwareDetected', 403, 'PERMISSION_DENIED'],
    ['notAllowed/resourceLocked', 423, 'IN_USE'],
    ['invalidRequest', 400, 'INVALID_PATH'],
    ['invalidRequest/nameContainsInvalidCharacters', 400, 'INVALID_PATH'],
    ['invalidRequest/pathIsTooLong', 400, 'INVALID_PATH'],
    ['accessDenied/maxFolderDepthExceeded', 403, 'INVALID_PATH'],
    ['quotaLimitReached', 507, 'QUOTA_EXCEEDED'],
    ['insufficientStorage', 507, 'QUOTA_EXCEEDED'],
    ['accessDenied/childItemCountExceeded', 403, 'QUOTA_EXCEEDED'],
    ['accessDenied/maxItemCountExceeded', 403, 'QUOTA_EXCEEDED'],
    ['resourceModified', 409, 'UNAVAILABLE'],
    ['somethingNew', 418, 'UNAVAILABLE'],
  ]
  for (const [reason, status, code] of cases) {
    fake.faults.fail({ method: 'PUT', reason, status })
    const error = await put(provider, 'new', 'content').then(
      () => new Error('none'),
      (error: Error) => error,
    )
    t.match(error, { code, name: 'StorageError' }, reason)
    t.match(error.message, /^[A-Z].*[.)]$/, reason)
    t.equal(fake.faults.pending, 0, reason)
  }
  const busy = [
    ['activityLimitReached', 429],
    ['serviceNotAvailable', 503],
    ['generalException', 509],
  ] as const
  for (const [reason, status] of busy.slice(0, extent({ gate: 1, nightly: 3 }))) {
    fake.faults.fail({ method: 'PUT', reason, status, retryAfter: 1 })
    await put(provider, reason, 'content')
    t.equal(fake.faults.pending, 0, 'the call waits and is repeated')
  }
})

atNight(t, 'an upload session gets ranges of whole units and no token, and is verified', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(2 * chunkSize + 1000)
  await write(provider, 'made/large', bytes)
  t.equal(sha256(await get(provider, 'made/large')), sha256(bytes))
  const sent = fake.faults.log.filter(({ url }) => url.startsWith('/upload/'))
  t.strictSame(
    sent.map(({ contentRange }) => contentRange),
    [
      `bytes 0-${chunkSize - 1}/${bytes.length}`,
      `bytes ${chunkSize}-${2 * chunkSize - 1}/${bytes.length}`,
      `bytes ${2 * chunkSize}-${bytes.length - 1}/${bytes.length}`,
    ],
  )
  t.ok(chunkSize % (320 * 1024) === 0)
  const permissions = fake.faults.log.filter(({ url }) => /^\/(?:upload|download)/.test(url))
  t.ok(permissions.length > 3 && permissions.every(({ token }) => token === undefined))
  fake.drive.onStore = chunks => chunks.map((chunk, i) => (i === 0 ? Buffer.from(chunk).fill(0, 0, 1) : chunk))
  await rejectsWith('UNAVAILABLE', write(provider, 'damaged', Buffer.alloc(chunkSize + 1, 'x')))
  await rejectsWith('UNAVAILABLE', put(provider, 'small', 'content'))
  fake.drive.onStore = chunks => [...chunks, Buffer.from('properties of SharePoint')]
  t.match(await put(provider, 'report.docx', 'content'), { size: 31 })
  t.strictSame(await namesIn(provider, ''), ['made', 'report.docx'])
})

atNight(t, 'lost responses and temporary errors do not end an upload, and a stored file is found', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(2 * chunkSize + 1000)
  const reasons = ['serviceNotAvailable', 'activityLimitReached', 'lost']
  for (const reason of extent({ gate: reasons.slice(2), nightly: reasons })) {
    fake.faults.fail({ ...session, reason, times: 2 })
    await write(provider, reason, bytes, true)
    t.equal(fake.faults.pending, 0, reason)
  }
  const lose = (method: string, path: RegExp) => fake.faults.fail({ method, path, reason: 'lost', executed: true })
  // The first range arrives, then the last.
  lose('PUT', /\/upload\//)
  await write(provider, 'first', bytes)
  const third = { ...session, run: () => lose('PUT', /\/upload\//) }
  fake.faults.before({
    ...session,
    run: () => fake.faults.before({ ...session, run: () => fake.faults.before(third) }),
  })
  t.match(await write(provider, 'last', bytes), { name: 'last', size: bytes.length })
  t.equal(fake.faults.pending, 0)
  lose('PUT', /content/)
  t.match(await put(provider, 'small', 'content'), { size: 7 })
  lose('PATCH', /items/)
  t.match(await provider.move?.(at('small'), at('folder/moved'), keep), { name: 'moved' })
  lose('DELETE', /items/)
  await provider.delete(at('folder/moved'), call())
  await isMissing(provider, 'folder/moved')
  for (const path of ['first', 'last']) t.equal(sha256(await get(provider, path)), sha256(bytes))
  fake.faults.before({ ...session, run: () => fake.expireSessions() })
  await rejectsWith('UNAVAILABLE', write(provider, 'new/expired', bytes))
  t.notOk((await namesIn(provider, '')).includes('new'), 'the folder is removed, too')
  t.equal(fake.openSessions, 0)
})

t.test('after a failure of any request, a write has stored the whole file or nothing', async t => {
  const { provider, fake } = await openWorld(t, { options: { backoff: { ...backoff, attempts: 1 } } })
  const large = randomBytes(chunkSize + 1000)
  const faults = [
    { reason: 'lost' },
    { reason: 'lost', executed: true },
    { reason: 'activityLimitReached', status: 429 },
  ]
  const match = { path: /v1\.0|upload/ }
  const failAt = (number: number, fault: (typeof faults)[number]) => {
    fake.faults.clear()
    const arm = (left: number): void => {
      if (left === 1) fake.faults.before({ ...match, run: () => fake.faults.fail({ ...match, ...fault }) })
      else fake.faults.before({ ...match, run: () => arm(left - 1) })
    }
    arm(number)
  }
  let failures = 0
  for (const [bytes, requests] of [
    [Buffer.from('small'), 4],
    [large, 5],
  ] as const) {
    for (const [index, fault] of faults.entries()) {
      for (let number = 1; number <= requests; number += 1) {
        // In `npm test`, each request fails in one way.
        if (extent({ gate: number % faults.length !== index, nightly: false })) continue
        const path = `folder ${bytes.length} ${index} ${number}/file`
        failAt(number, fault)
        const error = await write(provider, path, bytes).then(
          () => undefined,
          (error: Error & { code?: string }) => error,
        )
        fake.faults.clear()
        const stored = fake.drive.tree.find(`root/${path}`)
        if (error) {
          failures += 1
          t.ok(['UNAVAILABLE', 'RATE_LIMITED'].includes(error.code ?? ''), `${path}: ${error.message}`)
          t.equal(stored, undefined, `${path}: a write that failed has stored a file`)
        } else {
          t.ok(stored && Buffer.concat(stored.chunks).equals(bytes), path)
        }
      }
    }
  }
  t.ok(failures > extent({ gate: 3, nightly: 10 }), `${failures} writes failed`)
})

atNight(t, 'a body of unknown size waits on the disk without a name, and a wrong size stores nothing', async t => {
  const { provider, fake } = await openWorld(t)
  const [folder, usual] = [await temporaryFolder(t), process.env.TMPDIR]
  process.env.TMPDIR = folder
  t.teardown(() => {
    if (usual === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = usual
  })
  const spools = () => readdir(folder)
  const bytes = randomBytes(2 * chunkSize + 77)
  const controller = new AbortController()
  const reason = new Error('the client went away')
  const stalled = provider.write(at('stalled'), stalledBody(bytes), { signal: controller.signal, overwrite: false })
  await put(provider, 'unknown', bytes)
  t.strictSame(await spools(), [])
  controller.abort(reason)
  await t.rejects(stalled, reason)
  t.equal(sha256(await get(provider, 'unknown')), sha256(bytes))
  for (const size of [chunkSize + 1, bytes.length - 1, bytes.length + 1]) {
    const write = provider.write(at('new/wrong'), bodyOf(bytes), { ...keep, size })
    await rejectsWith('UNAVAILABLE', write)
  }
  t.equal(fake.openSessions, 0)
  t.strictSame(await namesIn(provider, ''), ['unknown'])
})

t.test('an aborted write leaves nothing, even during its commit', async t => {
  const { provider, fake } = await openWorld(t)
  const reason = new Error('the client went away')
  for (const [path, size, match] of [
    ['folder/small', 10, { method: 'PUT', path: /content/ }],
    ['folder/large', chunkSize + 1, session],
  ] as const) {
    const controller = new AbortController()
    fake.faults.before({ ...match, run: () => controller.abort(reason) })
    const bytes = randomBytes(size)
    const options = { signal: controller.signal, size, overwrite: false }
    await t.rejects(provider.write(at(path), bodyOf(bytes), options), reason)
  }
  t.equal(fake.openSessions, 0)
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('a full drive is refused before a large file is sent', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', '12345')
  fake.drive.quota = 1000
  t.strictSame(await provider.quota?.(call()), { used: 5, total: 1000 })
  await rejectsWith('QUOTA_EXCEEDED', write(provider, 'large', Buffer.alloc(chunkSize + 1)))
  t.equal(fake.faults.count({ path: /createUploadSession/ }), 0)
  await rejectsWith('QUOTA_EXCEEDED', put(provider, 'folder/small', Buffer.alloc(2000)))
  t.strictSame(await namesIn(provider, ''), ['file'], 'no folder stays')
  fake.drive.quota = 0
  t.strictSame(await provider.quota?.(call()), { used: 5, total: null })
})

t.test('OneDrive makes copies in the background, which keep their time', async t => {
  const { provider, fake } = await openWorld(t)
  const modifiedAt = new Date('2020-01-02T03:04:05.678Z')
  for (const [path, content] of Object.entries({ file: 'content', empty: '' })) {
    await provider.write(at(path), bodyOf(content), { ...keep, modifiedAt })
    fake.copyPolls = 3
    const copied = await provider.copy?.(at(path), at(`made/${path}`), keep)
    t.equal(copied?.modifiedAt?.getTime(), modifiedAt.getTime())
    await has(provider, `made/${path}`, content)
  }
  const start = { path: /\/copy/ }
  // Another writer takes the name while the copy is under way.
  fake.faults.before({ path: /monitor/, run: () => fake.addFile('root/taken', 'other') })
  await rejectsWith('ALREADY_EXISTS', Promise.resolve(provider.copy?.(at('file'), at('taken'), keep)))
  await has(provider, 'taken', 'other')
  fake.drive.quota = 50
  fake.faults.before({ ...start, run: () => fake.addFile('root/big', Buffer.alloc(40)) })
  await rejectsWith('QUOTA_EXCEEDED', Promise.resolve(provider.copy?.(at('file'), at('folder/full'), keep)))
  fake.drive.quota = 0
  const controller = new AbortController()
  const reason = new Error('the client went away')
  fake.faults.before({ path: /monitor/, run: () => controller.abort(reason) })
  const aborted = provider.copy?.(at('file'), at('folder/aborted'), { ...keep, signal: controller.signal })
  await t.rejects(Promise.resolve(aborted), reason)
  t.strictSame(await namesIn(provider, ''), ['big', 'empty', 'file', 'made', 'taken'])
})

t.test('a copy or a move never replaces an entry at OneDrive, and the host is told to do it', async t => {
  await copiesNeverReplace((await openWorld(t)).provider)
})

t.test('names are found in any case, and those that OneDrive cannot store are refused', async t => {
  const { provider: adapter, fake } = await openWorld(t)
  const provider = withNameRules(adapter)
  await put(provider, 'Folder/ReadMe', 'content')
  await has(provider, 'folder/README', 'content')
  t.match(await provider.move?.(at('folder/readme'), at('folder/README'), keep), { name: 'README' })
  t.strictSame(await namesIn(provider, 'folder'), ['README'])
  const requests = fake.faults.log.length
  for (const name of [
    'a:b',
    'a|b',
    'con',
    'NUL',
    '.lock',
    'desktop.ini',
    '~$x',
    'a_vti_b',
    ' x',
    'x ',
    'x.',
    'x\ny',
    '*',
  ]) {
    await rejectsWith('INVALID_PATH', put(provider, `new/${name}`, 'no'))
    await t.rejects(provider.stat(at(name), call()), { code: /^(NOT_FOUND|INVALID_PATH)$/ })
    await rejectsWith('INVALID_PATH', provider.mkdir(at(`new/${name}`), { ...call(), exclusive: true }))
    await rejectsWith('INVALID_PATH', Promise.resolve(provider.move?.(at('Folder'), at(name), keep)))
  }
  const long = Array.from({ length: 34 }, () => 'ten letters').join('/')
  await rejectsWith('INVALID_PATH', put(provider, long, 'no'))
  await rejectsWith('INVALID_PATH', provider.mkdir(at(long), { ...call(), exclusive: true }))
  t.equal(fake.faults.log.length, requests, 'nothing was sent')
})

t.test('an entry that changes while it is deleted or moved is looked up again', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'path', 'content')
  const swap = () => {
    const node = fake.drive.tree.find('root/path')
    if (node) fake.drive.tree.touch(node)
  }
  fake.faults.before({ method: 'DELETE', run: swap })
  await provider.delete(at('path'), call())
  await isMissing(provider, 'path')
  await put(provider, 'path', 'content')
  fake.faults.before({ method: 'PATCH', run: swap })
  await provider.move?.(at('path'), at('folder/moved'), keep)
  await has(provider, 'folder/moved', 'content')
  fake.faults.before({
    method: 'DELETE',
    run: () => {
      const node = fake.drive.tree.find('root/folder')
      if (node) fake.drive.tree.touch(node)
      fake.addFile('root/folder/added', 'kept')
    },
  })
  await provider.delete(at('folder/moved'), call())
  await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
  await has(provider, 'folder/added', 'kept')
})

t.test('shortcuts and notebooks are neither shown nor followed', async t => {
  const { provider, fake } = await openWorld(t)
  fake.drive.shortcuts.add(fake.addFile('root/folder/shortcut', ''))
  fake.drive.notebooks.add(fake.addFile('root/folder/Notebook', ''))
  await put(provider, 'folder/file', 'content')
  t.strictSame(await namesIn(provider, 'folder'), ['file'])
  await isMissing(provider, 'folder/shortcut')
  await rejectsWith('NOT_FOUND', get(provider, 'folder/Notebook'))
  await provider.delete(at('folder/file'), call())
  await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
  await provider.deleteTree?.(at('folder'), call())
  await isMissing(provider, 'folder')
})

t.test('a provider can be a drive, a library, or the library of a site', async t => {
  const fake = await startOneDrive(t)
  const options = { endpoints: endpointsOf(fake), backoff }
  const siteUrl = 'https://contoso.sharepoint.com/sites/Team/'
  const host = await consentingHost(oneDriveAdapter(options).oauth, { ...configOf(fake), siteUrl })
  const open = (config: object) => oneDriveAdapter(options).open({ ...configOf(fake), ...config }, host)
  fake.addFile('Documents/plan', 'content', fake.library)
  const [site, library, documents, own] = [
    await open({ siteUrl }),
    await open({ driveId: fake.library.id }),
    await open({ siteUrl, rootFolder: '/Documents' }),
    await open({}),
  ]
  await has(site, 'Documents/plan', 'content')
  await has(library, 'Documents/plan', 'content')
  await put(documents, 'new', 'new')
  await has(site, 'Documents/new', 'new')
  t.strictSame(await namesIn(own, ''), [])
  const idOf = async (storage: StorageProvider, path: string) => (await storage.stat(at(path), call())).fileId
  for (const [a, b] of [
    [await idOf(site, ''), await idOf(library, '')],
    [await idOf(documents, ''), await idOf(library, 'Documents')],
    [await idOf(documents, 'plan'), await idOf(site, 'Documents/plan')],
  ]) {
    t.equal(a, b)
  }
  t.not(await idOf(own, ''), await idOf(site, ''))
  await rejectsWith('INVALID_CONFIG', open({ siteUrl, driveId: fake.library.id }))
  await rejectsWith('PERMISSION_DENIED', listAll(await open({ rootFolder: '/missing' }), ''))
  await rejectsWith('PERMISSION_DENIED', (await open({ driveId: 'unknown' })).stat(at(''), call()))
})

t.test('downloads that break off, stall or change are noticed, and old pages expire', async t => {
  const { provider, fake } = await openWorld(t, { options: { timeouts: { ...usualTimeouts, stall: 50 } } })
  const { etag } = await put(provider, 'file', randomBytes(1_000_000))
  fake.cutDownloadAfter = 300_000
  await t.rejects(get(provider, 'file'))
  fake.cutIsStall = true
  fake.cutDownloadAfter = 300_000
  await rejectsWith('UNAVAILABLE', get(provider, 'file'))
  fake.faults.before({ path: /download/, run: () => fake.addFile('root/file', randomBytes(1_000_000)) })
  await rejectsWith('PRECONDITION_FAILED', provider.read(at('file'), { ...call(), ifMatch: etag ?? '' }))
  for (let i = 0; i < 5; i += 1) fake.addFile(`root/${i}`)
  const { cursor = '' } = await provider.list(at(''), { ...call(), limit: 2 })
  fake.expirePages()
  await rejectsWith('UNAVAILABLE', provider.list(at(''), { ...call(), limit: 2, cursor }))
})

t.test('errors and their causes contain neither secret addresses nor tokens nor bytes', async t => {
  const { provider, fake } = await openWorld(t)
  for (const reason of extent({ gate: ['lost'], nightly: ['somethingNew', 'lost', 'serviceNotAvailable'] })) {
    fake.faults.fail({ ...session, reason, status: 503, times: 100 })
    const error = await write(provider, 'file', Buffer.alloc(chunkSize + 1, 'content')).catch(error => error)
    t.equal(error.code, 'UNAVAILABLE')
    t.ok(error.cause, 'the log gets the cause')
    t.notMatch(inspect(error, { depth: 20, showHidden: true }), /Bearer|<Buffer|EwB|tempauth|upload\/s/)
    fake.faults.clear()
  }
})

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

t.test('a file that changes while it is opened is opened again', async t => {
  const { provider, fake } = await openWorld(t)
  fake.addFile('root/file', 'before')
  const download = { method: 'GET', path: /\/download\// }
  fake.faults.before({ ...download, run: () => void fake.addFile('root/file', 'after the change') })
  await has(provider, 'file', 'after the change')
  let content = 'after the change'
  const grow = () => {
    content += '.'
    fake.addFile('root/file', content)
    fake.faults.before({ ...download, run: grow })
  }
  fake.faults.before({ ...download, run: grow })
  await rejectsWith('UNAVAILABLE', get(provider, 'file'))
  t.equal(fake.faults.count(download), 5, 'at most three times')
})
