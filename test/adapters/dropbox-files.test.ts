/** Tests how the adapter uses Dropbox, beyond what the conformance kit checks. */
import { createHash, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import t from 'tap'
import { dropboxAdapter } from '../../adapters/backends/dropbox/index.ts'
import { chunkSize } from '../../adapters/backends/dropbox/write.ts'
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
import { type Dropbox, startDropbox } from '../servers/dropbox/index.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { copiesNeverReplace } from './cloud-cases.ts'
import { backoff, configOf, endpointsOf, oauthHost, openWorld } from './dropbox-world.ts'
import { silentHost } from './host.ts'
import { consent } from './oauth-host.ts'

const { network } = silentHost
const keep = { ...call(), overwrite: false }

t.test('the consent asks for offline access, with the secret or with PKCE', async t => {
  const { oauth } = dropboxAdapter()
  const query = { redirectUri: 'https://stowage.example/webhook/callback', state: 'x', codeChallenge: 'challenge' }
  const withSecret = oauth?.authorizeUrl({ clientId: 'key', clientSecret: 'secret' }, query)
  t.equal(withSecret?.origin, 'https://www.dropbox.com')
  const common = {
    client_id: 'key',
    response_type: 'code',
    redirect_uri: query.redirectUri,
    state: 'x',
    scope: 'account_info.read files.metadata.read files.content.read files.content.write',
    token_access_type: 'offline',
  }
  t.strictSame(Object.fromEntries(withSecret?.searchParams ?? []), common)
  const publicApp = oauth?.authorizeUrl({ clientId: 'key' }, query)
  const pkce = { code_challenge: 'challenge', code_challenge_method: 'S256' }
  t.strictSame(Object.fromEntries(publicApp?.searchParams ?? []), { ...common, ...pkce })

  const fake = await startDropbox(t)
  const endpoints = endpointsOf(fake)
  const flow = dropboxAdapter({ endpoints, backoff: { first: 1, longest: 10, attempts: 2 } }).oauth
  if (!flow) throw new Error('no OAuth')
  for (const config of [configOf(fake), { clientId: fake.oauth.rules.clientId }]) {
    const given = await consent(flow, config)
    const { refreshToken = '', expiresAt } = await flow.exchange(config, given, network)
    t.ok(expiresAt.getTime() > Date.now() + 14_000_000, 'a token is valid for four hours')
    t.ok((await flow.refresh(config, refreshToken, network)).accessToken)
    await rejectsWith('NEEDS_RECONNECT', flow.exchange(config, given, network))
  }
  const publicConfig = { clientId: fake.oauth.rules.clientId }
  const stolen = { ...(await consent(flow, publicConfig)), codeVerifier: 'x'.repeat(43) }
  await rejectsWith('NEEDS_RECONNECT', flow.exchange(publicConfig, stolen, network))
  await rejectsWith('UNAUTHORIZED', flow.refresh({ clientId: 'unknown' }, 'any', network))
  fake.faults.fail({ path: /token/, reason: 'server_error', status: 503, times: 20 })
  await rejectsWith('UNAVAILABLE', flow.refresh(publicConfig, 'any', network))
})

t.test('withdrawn consent is NEEDS_RECONNECT, a missing permission too, and a refused token UNAUTHORIZED', async t => {
  const { provider, fake, host } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.oauth.expireAccessTokens()
  await Promise.all(Array.from({ length: 20 }, () => provider.stat(at('file'), call())))
  t.equal(fake.oauth.grants.refresh_token, 1, 'one request to Dropbox for all')
  fake.faults.fail({ path: /files\//, reason: 'missing_scope', times: 4 })
  const refused = await provider.stat(at('file'), call()).catch(error => error)
  t.match(refused, { code: 'NEEDS_RECONNECT', message: /tick it in the App Console/ })
  fake.faults.clear()
  fake.faults.fail({ path: /files\//, reason: 'expired_access_token', times: 100 })
  const refreshes = host.refreshes
  await rejectsWith('UNAUTHORIZED', provider.stat(at('file'), call()))
  t.equal(host.refreshes - refreshes, 1)
  fake.faults.clear()
  fake.oauth.withdraw()
  await rejectsWith('NEEDS_RECONNECT', get(provider, 'file'))
  await rejectsWith('NEEDS_RECONNECT', put(provider, 'new', 'no'))
  await rejectsWith('NEEDS_RECONNECT', listAll(provider, ''))
})

t.test('every documented refusal has a code and a sentence that says what to do', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', 'content')
  const stat = () => provider.stat(at('file'), call())
  const write = () => put(provider, 'new', 'content')
  const move = () => provider.move?.(at('file'), at('moved'), keep)
  const cases: [string, StorageErrorCode, () => Promise<unknown> | undefined][] = [
    ['path/malformed_path', 'INVALID_PATH', stat],
    ['path/restricted_content', 'PERMISSION_DENIED', stat],
    ['path/locked', 'IN_USE', stat],
    ['path/no_write_permission', 'PERMISSION_DENIED', write],
    ['path/insufficient_space', 'QUOTA_EXCEEDED', write],
    ['path/disallowed_name', 'INVALID_PATH', write],
    ['path/team_folder', 'PERMISSION_DENIED', write],
    ['path/operation_suppressed', 'PERMISSION_DENIED', write],
    ['path/access_restricted', 'PERMISSION_DENIED', write],
    ['path/conflict/file_ancestor', 'NOT_A_DIRECTORY', write],
    ['encryption_not_supported', 'PERMISSION_DENIED', write],
    ['to/no_write_permission', 'PERMISSION_DENIED', move],
    ['cant_copy_shared_folder', 'PERMISSION_DENIED', move],
    ['cant_nest_shared_folder', 'PERMISSION_DENIED', move],
    ['cant_move_shared_folder', 'PERMISSION_DENIED', move],
    ['cant_move_into_vault/is_shared_folder', 'PERMISSION_DENIED', move],
    ['cant_move_into_family/is_shared_folder', 'PERMISSION_DENIED', move],
    ['cant_transfer_ownership', 'PERMISSION_DENIED', move],
    ['duplicated_or_nested_paths', 'INVALID_PATH', move],
    ['too_many_files', 'NOT_IN_ONE_STEP', move],
    ['insufficient_quota', 'QUOTA_EXCEEDED', move],
    ['internal_error', 'UNAVAILABLE', move],
    ['something_new', 'UNAVAILABLE', move],
  ]
  for (const [reason, code, run] of cases) {
    fake.faults.fail({ path: /files\//, reason })
    const error = await Promise.resolve(run()).then(
      () => new Error('none'),
      (error: Error) => error,
    )
    t.match(error, { code, name: 'StorageError' }, reason)
    t.match(error.message, /^[A-Z].*[.)]$/, reason)
    t.notMatch(error.message, /_|undefined/, reason)
    t.equal(fake.faults.pending, 0, reason)
  }
  fake.faults.fail({ path: /files\//, reason: 'too_many_write_operations', status: 409, times: 2 })
  await put(provider, 'new', 'content')
  t.equal(fake.faults.pending, 0, 'a lock on the account is waited for')
})

atNight(t, 'content is verified by its hash, in one request and in parallel parts', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(3 * chunkSize + 1_000_000)
  // Holds the first part until another one arrives.
  let arrived = 0
  const arrive = () => {
    arrived += 1
  }
  const hold = async () => {
    fake.faults.before({ path: /append_v2/, run: arrive })
    await until(() => arrived > 0)
  }
  fake.faults.before({ path: /append_v2/, run: hold })
  fake.faults.fail({ path: /append_v2/, reason: 'lost', executed: true })
  fake.faults.fail({ path: /append_v2/, reason: 'content_hash_mismatch' })
  await rejectsWith('UNAVAILABLE', put(provider, 'damaged', bytes))
  await isMissing(provider, 'damaged')
  fake.faults.clear()
  fake.faults.fail({ path: /append_v2/, reason: 'lost', executed: true })
  fake.faults.fail({ path: /append_v2/, reason: 'server_error', status: 500 })
  await put(provider, 'large', bytes)
  t.equal(fake.faults.pending, 0, 'lost responses are repeated')
  t.equal(arrived, 1, 'parts are sent at once')
  t.equal(sha256(await get(provider, 'large')), sha256(bytes))
  fake.faults.fail({ path: /files\/upload$/, reason: 'content_hash_mismatch' })
  await rejectsWith('UNAVAILABLE', put(provider, 'small', 'content'))
  await isMissing(provider, 'small')
  t.equal(fake.faults.count({ path: /files\/upload$/ }), 1)
})

atNight(t, 'a commit whose response was lost is found, not repeated', async t => {
  const { provider, fake } = await openWorld(t)
  const large = randomBytes(chunkSize + 1)
  const lose = (path: RegExp) => fake.faults.fail({ path, reason: 'lost', executed: true })
  lose(/files\/upload$/)
  t.match(await put(provider, 'small', 'content'), { name: 'small', size: 7 })
  lose(/files\/upload$/)
  await put(provider, 'small', 'other', true)
  await has(provider, 'small', 'other')
  lose(/finish/)
  await put(provider, 'large', large)
  lose(/move_v2/)
  t.match(await provider.move?.(at('small'), at('folder/moved'), keep), { name: 'moved' })
  await isMissing(provider, 'small')
  lose(/copy_v2/)
  t.match(await provider.copy?.(at('large'), at('copy'), keep), { name: 'copy', size: large.length })
  lose(/delete_v2/)
  await provider.delete(at('copy'), call())
  await isMissing(provider, 'copy')
  // Nothing was stored.
  fake.faults.fail({ path: /files\/upload$/, reason: 'lost', times: 2 })
  await put(provider, 'again', 'content')
  t.equal(fake.faults.pending, 0)
  fake.faults.fail({ path: /files\/upload$/, reason: 'lost', times: 20 })
  await rejectsWith('UNAVAILABLE', put(provider, 'never', 'content'))
  fake.faults.clear()
  t.strictSame(await namesIn(provider, ''), ['again', 'folder', 'large'])

  const { resumable } = provider
  const state = (await resumable?.begin(at('resumed'), call())) ?? ''
  lose(/finish/)
  const options = { ...keep, offset: 0, size: 7 }
  t.match(await resumable?.complete(state, bodyOf('content'), options), { name: 'resumed', size: 7 })
})

t.test(
  'after a failure of any request, a write has stored the whole file or nothing, and an upload continues',
  async t => {
    const { provider, fake } = await openWorld(t, { options: { backoff: { ...backoff, attempts: 1 } } })
    const large = randomBytes(chunkSize + 1000)
    const faults = [
      { reason: 'lost' },
      { reason: 'lost', executed: true },
      { reason: 'too_many_requests', status: 429 },
    ]
    /** Fails the request with this number. */
    const failAt = (number: number, fault: (typeof faults)[number]) => {
      fake.faults.clear()
      const match = { path: /2\// }
      const arm = (left: number): void => {
        if (left === 1) fake.faults.before({ ...match, run: () => fake.faults.fail({ ...match, ...fault }) })
        else fake.faults.before({ ...match, run: () => arm(left - 1) })
      }
      arm(number)
    }
    const contentOf = (path: string) => {
      const node = fake.files.tree.find(`root/${path}`)
      return node && Buffer.concat(node.chunks)
    }
    let failures = 0
    for (const bytes of [Buffer.from('small'), large]) {
      for (const [index, fault] of faults.entries()) {
        for (let number = 1; number <= (bytes === large ? 6 : 2); number += 1) {
          // In `npm test`, each request fails in one way.
          if (extent({ gate: number % faults.length !== index, nightly: false })) continue
          for (const old of bytes === large ? [undefined] : [undefined, 'old']) {
            const path = `${bytes.length} ${failures} ${number} ${old} ${JSON.stringify(fault.reason)}`
            if (old !== undefined) fake.addFile(`root/${path}`, old)
            failAt(number, fault)
            const error = await put(provider, path, bytes, true).then(
              () => undefined,
              (error: Error & { code?: string }) => error,
            )
            if (error) failures += 1
            const expected = error ? old && Buffer.from(old) : bytes
            const stored = contentOf(path)
            if (stored === undefined ? expected !== undefined : !stored.equals(expected || Buffer.alloc(0))) {
              t.fail(`${path}: ${error?.message} but ${stored?.length} bytes are stored`)
            }
            if (error) t.ok(['UNAVAILABLE', 'RATE_LIMITED'].includes(error.code ?? ''), error.message)
          }
        }
      }
    }
    t.ok(failures > extent({ gate: 2, nightly: 10 }), `${failures} writes failed`)
    fake.faults.clear()
    const { resumable } = provider
    if (!resumable) throw new Error('no resumable writes')
    const part = large.subarray(0, resumable.partSize)
    const rest = large.subarray(resumable.partSize, resumable.partSize + 1000)
    for (const [index, fault] of faults.entries()) {
      for (let number = 1; number <= 4; number += 1) {
        if (extent({ gate: number % faults.length !== index, nightly: false })) continue
        const path = at(`resumed ${number} ${fault.reason} ${'executed' in fault}`)
        const state = await resumable.begin(path, call())
        failAt(number, fault)
        const append = () => resumable.append(state, bodyOf(part), { ...call(), offset: 0, size: part.length })
        const complete = () =>
          resumable.complete(state, bodyOf(rest), { ...keep, offset: part.length, size: rest.length })
        await append().catch(() => append())
        await complete().catch(complete)
        t.ok(contentOf(path)?.equals(Buffer.concat([part, rest])), path)
        fake.faults.clear()
      }
    }
  },
)

atNight(t, 'an aborted write leaves nothing, even during its commit', async t => {
  const { provider, fake } = await openWorld(t)
  const reason = new Error('the client went away')
  for (const [path, size, route] of [
    ['small', 10, /files\/upload$/],
    ['large', chunkSize + 1, /finish/],
  ] as const) {
    const controller = new AbortController()
    fake.faults.before({ path: route, run: () => controller.abort(reason) })
    const options = { signal: controller.signal, overwrite: false }
    await t.rejects(provider.write(at(path), bodyOf(randomBytes(size)), options), reason)
  }
  const controller = new AbortController()
  const body = stalledBody(randomBytes(2 * chunkSize + 1))
  const write = provider.write(at('stalled'), body, { signal: controller.signal, overwrite: false })
  fake.faults.before({ path: /append_v2/, run: () => controller.abort(reason) })
  await t.rejects(write, reason)
  t.ok(body.destroyed)
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('a full account is refused before a large file is sent', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', '12345')
  fake.files.storageLimit = 1000
  t.strictSame(await provider.quota?.(call()), { used: 5, total: 1000 })
  const large = { ...keep, size: 2 * chunkSize }
  await rejectsWith('QUOTA_EXCEEDED', provider.write(at('large'), bodyOf(Buffer.alloc(2 * chunkSize)), large))
  t.equal(fake.faults.count({ path: /upload_session/ }), 0)
  await rejectsWith('QUOTA_EXCEEDED', put(provider, 'folder/small', Buffer.alloc(2000)))
  await rejectsWith('QUOTA_EXCEEDED', Promise.resolve(provider.resumable?.begin(at('new'), large)))
  t.strictSame(await namesIn(provider, ''), ['file'], 'no folder stays')
  const team = { '.tag': 'team', used: 70, allocated: 100, user_within_team_space_allocated: 0 }
  t.strictSame(await quotaOf(team), { used: 70, total: 100 })
  const limited = { ...team, user_within_team_space_allocated: 50, user_within_team_space_used_cached: 20 }
  t.strictSame(await quotaOf(limited), { used: 20, total: 50 })

  async function quotaOf(allocation: object) {
    fake.spaceAllocation = allocation
    return await provider.quota?.(call())
  }
})

t.test('names are found in any case, keep the case of their first writer, and change it in two steps', async t => {
  const { provider: adapter, fake } = await openWorld(t)
  const provider = withNameRules(adapter)
  await put(provider, 'Folder/ReadMe', 'content')
  await has(provider, 'folder/README', 'content')
  t.equal((await provider.stat(at('folder/README'), call())).name, 'README')
  await rejectsWith('ALREADY_EXISTS', put(provider, 'FOLDER/readme', 'other'))
  await put(provider, 'FOLDER/readme', 'other', true)
  t.strictSame(await namesIn(provider, ''), ['Folder'])
  t.strictSame(await namesIn(provider, 'folder'), ['ReadMe'])
  t.match(await provider.move?.(at('folder/readme'), at('folder/README'), keep), { name: 'README' })
  t.match(await provider.move?.(at('Folder'), at('FOLDER'), keep), { name: 'FOLDER', kind: 'directory' })
  t.strictSame([await namesIn(provider, ''), await namesIn(provider, 'FOLDER')], [['FOLDER'], ['README']])
  const fail = () => fake.faults.fail({ path: /move_v2/, reason: 'internal_error' })
  fake.faults.before({ path: /move_v2/, run: () => fake.faults.before({ path: /move_v2/, run: fail }) })
  await rejectsWith('UNAVAILABLE', Promise.resolve(provider.move?.(at('FOLDER/README'), at('FOLDER/ReadMe'), keep)))
  t.strictSame(await namesIn(provider, 'FOLDER'), ['README'], 'the old name is restored')
  for (const name of ['desktop.ini', '.DS_Store', 'back\\slash', 'space ', 'x'.repeat(256)]) {
    await rejectsWith('INVALID_PATH', put(provider, `new/${name}`, 'no'))
    await rejectsWith('INVALID_PATH', Promise.resolve(provider.move?.(at('FOLDER/README'), at(`new/${name}`), keep)))
  }
  fake.faults.clear()
  t.strictSame(await namesIn(provider, ''), ['FOLDER'])
})

t.test('a copy or a move never replaces an entry at Dropbox, and the host is told to do it', async t => {
  await copiesNeverReplace((await openWorld(t)).provider)
})

t.test('a folder that has replaced a file is not deleted with its content', async t => {
  const { provider, fake } = await openWorld(t)
  const file = await put(provider, 'path', 'content')
  const swap = () => {
    const node = fake.files.tree.find('root/path')
    if (node) fake.files.tree.remove(node)
    fake.addFile('root/path/kept', 'kept')
  }
  fake.faults.before({ path: /delete_v2/, run: swap })
  await rejectsWith('NOT_EMPTY', provider.delete(at('path'), { ...call(), entry: file }))
  await has(provider, 'path/kept', 'kept')
  const source = await put(provider, 'source', 'content')
  fake.faults.before({
    path: /copy_v2/,
    run: () => {
      const node = fake.files.tree.find('root/source')
      if (node) fake.files.tree.remove(node)
      fake.addFile('root/source/inner', 'kept')
    },
  })
  const copy = provider.copy?.(at('source'), at('copied'), { ...keep, entry: source })
  await rejectsWith('NOT_A_FILE', Promise.resolve(copy))
  await isMissing(provider, 'copied')
})

t.test('a folder with too many entries for one request is deleted in parts', async t => {
  const { provider, fake } = await openWorld(t)
  for (let i = 0; i < 30; i += 1) fake.addFile(`root/tree/${i % 3}/file ${i}`)
  fake.files.maxFiles = 8
  await provider.deleteTree?.(at('tree'), call())
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('pages that are too long and changes during a listing neither lose nor lengthen anything', async t => {
  const { provider, fake } = await openWorld(t)
  const names = Array.from({ length: 95 }, (_, i) => `file ${String(i).padStart(2, '0')}`)
  for (const name of names) fake.addFile(`root/${name}`)
  fake.lister.extraEntries = 3
  t.strictSame((await listAll(provider, '', 10)).map(({ name }) => name).toSorted(), names)
  t.strictSame((await listAll(provider, '', 1)).map(({ name }) => name).toSorted(), names)

  const first = await provider.list(at(''), { ...call(), limit: 10 })
  for (const { name } of first.entries) await provider.delete(at(name), call())
  await put(provider, 'added', '')
  const rest: string[] = []
  for (let { cursor } = first; cursor !== undefined; ) {
    const page = await provider.list(at(''), { ...call(), limit: 10, cursor })
    t.ok(page.entries.length <= 10)
    rest.push(...page.entries.map(({ name }) => name))
    cursor = page.cursor
  }
  const seen = [...first.entries.map(({ name }) => name), ...rest.filter(name => name !== 'added')]
  t.strictSame(seen.toSorted(), names)

  fake.lister.extraEntries = 0
  const { cursor = '' } = await provider.list(at(''), { ...call(), limit: 10 })
  fake.lister.reset()
  await rejectsWith('UNAVAILABLE', provider.list(at(''), { ...call(), limit: 10, cursor }))
})

t.test('documents without bytes are read as exports', async t => {
  const { provider, fake } = await openWorld(t)
  fake.addDocument('root/Notes.paper', 'the text')
  const entry = await provider.stat(at('Notes.paper'), call())
  t.match(entry, { size: null, etag: null, isExport: true })
  t.equal((await get(provider, 'Notes.paper')).toString(), 'the text')
  t.equal((await get(provider, 'Notes.paper', { offset: 4, length: 2 })).toString(), 'te')
  await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'Notes.paper', { offset: 8 }))
  const { body, entry: read } = await provider.read(at('Notes.paper'), call())
  body.destroy()
  t.strictSame(read, entry)
})

t.test('downloads that break off, stall or change are noticed', async t => {
  const { provider, fake } = await openWorld(t, { options: { timeouts: { ...usualTimeouts, stall: 50 } } })
  const bytes = randomBytes(1_000_000)
  const { etag } = await put(provider, 'file', bytes)
  fake.cutDownloadAfter = 300_000
  await t.rejects(get(provider, 'file'))
  fake.cutIsStall = true
  fake.cutDownloadAfter = 300_000
  await rejectsWith('UNAVAILABLE', get(provider, 'file'))
  fake.faults.before({ path: /download/, run: () => fake.addFile('root/file', 'other') })
  const read = provider.read(at('file'), { ...call(), ifMatch: etag ?? '' })
  await rejectsWith('PRECONDITION_FAILED', read)
})

t.test('a team space shows team folders, and its folders have one id in every provider', async t => {
  const fake = await startDropbox(t)
  const { provider, options, host } = await openTeam(fake)
  t.strictSame(await namesIn(provider, ''), ['Design', 'Jane Doe'])
  await put(provider, 'Design/plan', 'content')
  const open = (config: object) => dropboxAdapter(options).open({ ...configOf(fake), ...config }, host)
  const personal = await open({})
  const member = await open({ space: 'team', rootFolder: '/Jane Doe' })
  const design = await open({ space: 'team', rootFolder: '/Design' })
  await put(personal, 'own', 'own')
  await has(member, 'own', 'own')
  await has(design, 'plan', 'content')
  const idOf = async (storage: StorageProvider, path: string) => (await storage.stat(at(path), call())).fileId
  t.equal(await idOf(personal, ''), await idOf(member, ''))
  t.equal(await idOf(personal, ''), await idOf(provider, 'Jane Doe'))
  t.equal(await idOf(design, ''), await idOf(provider, 'Design'))
  t.equal(await idOf(design, 'plan'), await idOf(provider, 'Design/plan'))
  t.not(await idOf(provider, ''), await idOf(personal, ''))
  fake.rootNamespace = '4004'
  t.strictSame(await namesIn(provider, 'Design'), ['plan'], 'a new root is looked up')
  await rejectsWith('PERMISSION_DENIED', listAll(await open({ rootFolder: '/missing' }), ''))
  await rejectsWith('PERMISSION_DENIED', (await open({ rootFolder: '/missing' })).stat(at(''), call()))
})

async function openTeam(fake: Dropbox) {
  fake.joinTeam(['Design'])
  const options = { endpoints: endpointsOf(fake), backoff }
  const host = await oauthHost(fake, options)
  const provider = await dropboxAdapter(options).open({ ...configOf(fake), space: 'team' }, host)
  return { provider, options, host }
}

t.test('modification times are kept in whole seconds', async t => {
  const { provider } = await openWorld(t)
  const modifiedAt = new Date('2020-01-02T03:04:05.678Z')
  const entry = await provider.write(at('file'), bodyOf('content'), { ...keep, modifiedAt })
  t.equal(entry.modifiedAt?.toISOString(), '2020-01-02T03:04:05.000Z')
  const copied = await provider.copy?.(at('file'), at('copy'), keep)
  t.equal(copied?.modifiedAt?.toISOString(), '2020-01-02T03:04:05.000Z')
})

t.test('errors and their causes contain neither tokens nor bytes', async t => {
  const { provider, fake } = await openWorld(t)
  for (const reason of ['path/other', 'lost', 'server_error']) {
    fake.faults.fail({ path: /files\//, reason, times: 100 })
    const error = await put(provider, 'file', 'the content of the file').catch(error => error)
    t.equal(error.code, 'UNAVAILABLE')
    t.ok(error.cause, 'the log gets the cause')
    t.notMatch(inspect(error, { depth: 20, showHidden: true }), /Bearer|<Buffer|sl\.|the content/)
    fake.faults.clear()
  }
})

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
