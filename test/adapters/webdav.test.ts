/** The adapter for WebDAV, on four servers with all four ways to sign in. */
import { once } from 'node:events'
import { chmod, mkdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { WebdavConfig } from '../../adapters/backends/webdav/config.ts'
import { webdavAdapter } from '../../adapters/backends/webdav/index.ts'
import type { Harness } from '../../adapters/conformance/index.ts'
import { at, call, get, listAll, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { startAccounts, startApache, startNginxDav, startRclone } from '../servers/webdav.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { faults, runChosenCases, runConformance, runFaultCases } from './conformance.ts'
import { silentHost } from './host.ts'

// The servers may need to be installed first.
t.setTimeout(300_000)

/** @param root the folder on this machine that the server has at `url` */
function harnessFor({ url, root, ...more }: WebdavConfig & { root: string }): Harness {
  const folders = new Map<StorageProvider, string>()
  let count = 0
  const open = async (folder: string) => {
    const provider = await webdavAdapter.open({ ...more, url: `${url}${folder}` }, silentHost)
    folders.set(provider, folder)
    return provider
  }
  return {
    async open() {
      const folder = `p ${count++}`
      await mkdir(join(root, folder))
      await chmod(join(root, folder), 0o777)
      return await open(encodeURIComponent(folder))
    },
    reopen: provider => open(folders.get(provider) ?? ''),
    openFolder: (provider, path) => open(`${folders.get(provider)}/${path}/`),
    manyEntries: 100,
    largeFileSize: 80_000_000,
  }
}

const apache = await startApache(t)
const { url, user, password, root } = apache
const harness = harnessFor({ url, user, password, root })
runConformance(t, 'webdav', harness, [
  'hasCreateRaces in the harness',
  'partSize in the harness',
  'resumable writes',
  'the trait keepsModifiedAt',
  'the trait keepsReplaced',
  ...['copySmall', 'openFile', 'readSmall', 'setModifiedAt', 'presign', 'quota', 'changes'].map(
    name => `the method ${name}`,
  ),
  ...faults,
])

/** Cases whose result depends on the server. */
const varied =
  /^(?:round trip of (?:0|1048577|20 MB)|ranges|ifMatch|no two contents|listed|a walk that moves|common|odd|exactly|all of 20|a body that fails|a write whose|a missing|mkdir|fileId|modifiedAt|copy|move|deleteTree|quota)\b/

atNight(t, 'nginx without authentication', async t => {
  const { url, root } = await startNginxDav(t)
  // It hides names that begin with a dot.
  await runChosenCases(t, harnessFor({ url, root }), varied, /^(?:common|odd) /)
})

atNight(t, 'rclone with basic authentication', async t => {
  const { url, user, password, root } = await startRclone(t)
  // It removes a file before it moves another one there, makes folders that exist, and stores no line breaks in names.
  await runChosenCases(
    t,
    harnessFor({ url, user, password, root }),
    varied,
    /readers see only whole files|mkdir with|one of 20 concurrent mkdir|odd/,
  )
})

atNight(t, 'Stowage with a bearer token', async t => {
  const app = await startApp(t)
  const { token: session } = await app.register('owner@example.com')
  await app.connectProvider(session, 'local', { root: app.folder }, 'Files')
  const { key: token } = await app.createKey(session, { name: 'all', scopes: ['write'] })
  await runChosenCases(
    t,
    harnessFor({ url: `${app.url}/dav/files/`, token, root: app.folder }),
    varied,
    /^(?:common|odd) /,
  )
})

t.test('wrong credentials and addresses are told apart', async t => {
  const config = { url, user, password }
  const open = (changes: Partial<WebdavConfig>) => webdavAdapter.open({ ...config, ...changes }, silentHost)
  await t.rejects(open({ password: 'wrong' }), { code: 'UNAUTHORIZED' })
  const property = { name: 'url' }
  await t.rejects(open({ url: `${url}missing` }), { code: 'INVALID_CONFIG', property })
  const provider = await open({})
  await put(provider, 'file', 'content')
  await t.rejects(open({ url: `${url}file` }), { code: 'INVALID_CONFIG', property })
  await provider.close?.()
  for (const wrong of [`${url}?query`, 'http://someone:secret@127.0.0.1/', 'http://[/']) {
    await t.rejects(open({ url: wrong }), { code: 'INVALID_CONFIG', property }, wrong)
  }
  await t.rejects(open({ token: 'a' }), { code: 'INVALID_CONFIG', property: { name: 'token' } })
  const anonymous = webdavAdapter.open({ url, user }, silentHost)
  await t.rejects(anonymous, { code: 'INVALID_CONFIG', property: { name: 'password' } })
  await t.rejects(webdavAdapter.open({ url }, silentHost), { code: 'UNAUTHORIZED' })
})

t.test('accounts at one address have different ids, and providers of one account have the same', async t => {
  const server = await startAccounts(t, ['mine', 'theirs'])
  const idOf = async (user: string, folder: string, path: string) => {
    const provider = await webdavAdapter.open({ url: `${server.url}${folder}`, user, password: 'any' }, silentHost)
    const { fileId } = await provider.stat(at(path), call())
    await provider.close?.()
    return fileId
  }
  for (const user of ['mine', 'theirs']) {
    const provider = await webdavAdapter.open({ url: server.url, user, password: 'any' }, silentHost)
    await put(provider, 'team/file', user)
    await provider.close?.()
  }
  const mine = await idOf('mine', '', 'team/file')
  t.equal(await idOf('mine', 'team/', 'file'), mine)
  t.not(await idOf('theirs', '', 'team/file'), mine)
})

t.test('a folder with a file that another program has just added is not deleted', async t => {
  const provider = await harness.open()
  await provider.mkdir(at('folder'), { ...call(), exclusive: true })
  const folder = await provider.stat(at('folder'), call())
  await put(provider, 'folder/file', 'kept')
  await t.rejects(provider.delete(at('folder'), { ...call(), entry: folder }), { code: 'NOT_EMPTY' })
  t.equal((await get(provider, 'folder/file')).toString(), 'kept')
  await provider.close?.()
})

/** Starts a server whose responses the test decides. */
async function startScripted(t: Test, respond: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(respond)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const folder = '<d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype></d:prop></d:propstat>'
const file = '<d:propstat><d:prop><d:resourcetype/><d:getcontentlength>3</d:getcontentlength></d:prop></d:propstat>'
const multistatus = (...responses: string[]) =>
  `<d:multistatus xmlns:d="DAV:">${responses.map(each => `<d:response>${each}</d:response>`).join('')}</d:multistatus>`

t.test('each refusal of a server has its code', async t => {
  let [status, headers] = [0, {}]
  const address = await startScripted(t, (request, response) => {
    request.resume()
    if (status > 0) response.writeHead(status, headers).end('details')
    else response.writeHead(207).end(multistatus(`<d:href>/</d:href>${folder}`))
  })
  const provider = await webdavAdapter.open({ url: address }, silentHost)
  const codes: Record<number, string> = {
    401: 'UNAUTHORIZED',
    403: 'PERMISSION_DENIED',
    423: 'IN_USE',
    429: 'RATE_LIMITED',
    500: 'UNAVAILABLE',
    503: 'UNAVAILABLE',
    507: 'QUOTA_EXCEEDED',
  }
  for (const [number, code] of Object.entries(codes)) {
    status = Number(number)
    await t.rejects(provider.stat(at('file'), call()), { code }, number)
  }
  ;[status, headers] = [429, { 'retry-after': '7' }]
  await t.rejects(listAll(provider, ''), { code: 'RATE_LIMITED', retryAfterMs: 7000 })
  await provider.close?.()
})

t.test('strange responses are refused, and strange addresses in listings are left out', async t => {
  let body = multistatus(`<d:href>/</d:href>${folder}`)
  const address = await startScripted(t, (request, response) => {
    request.resume()
    response.writeHead(207).end(body)
  })
  const provider = await webdavAdapter.open({ url: address }, silentHost)
  const names = ['a%20b', 'caf%C3%A9', '..', '%2E%2E', '.', '%FF', 'x%2Fy', '&lt;tag&gt;']
  const entries = names.map(name => `<d:href>http://other.example/${name}</d:href>${file}`)
  body = multistatus(
    `<d:href>/</d:href>${folder}`,
    ...entries,
    '<d:href>/gone</d:href><d:status>HTTP/1.1 404 x</d:status>',
  )
  t.same(
    (await listAll(provider, '')).map(({ name }) => name).sort(),
    ['<tag>', 'a b', 'café', 'y'],
    'a name never leads out of its folder',
  )
  const refused = [
    '<html><body>Sign in</body></html>',
    'no XML',
    '<!DOCTYPE x [<!ENTITY a "b">]><d:multistatus xmlns:d="DAV:"/>',
    '<d:multistatus xmlns:d="DAV:"><d:response>',
    multistatus(`<d:href>/${'x'.repeat(70_000)}</d:href>${file}`),
    multistatus(`<d:href>/x</d:href><d:propstat><d:prop>${'<d:a/>'.repeat(600)}</d:prop></d:propstat>`),
    Buffer.from([0xff, 0xfe]).toString('latin1'),
  ]
  for (const each of refused) {
    body = each
    await t.rejects(
      listAll(provider, ''),
      { code: 'UNAVAILABLE', message: /does not respond as a WebDAV server/ },
      each.slice(0, 60),
    )
  }
  await provider.close?.()
})

atNight(t, 'a look at a missing folder is one request', async t => {
  const { url } = await startNginxDav(t)
  const proxy = await faultProxy(t, url)
  const provider = await webdavAdapter.open({ url: `${proxy.endpoint}/` }, silentHost)
  const requests: string[] = []
  proxy.fault = ({ method, url }) => void requests.push(`${method} ${url}`)
  await t.rejects(listAll(provider, 'missing'), { code: 'NOT_FOUND' })
  t.same(
    requests.filter(each => each.startsWith('PROPFIND /missing/')),
    ['PROPFIND /missing/'],
  )
  await provider.close?.()
})

atNight(t, 'a server may close idle connections just when they are used again', async t => {
  const { url, root } = await startNginxDav(t)
  const proxy = await faultProxy(t, url)
  const [used, closed] = [new Set<object>(), new Map<string, number>()]
  proxy.fault = ({ method = '', socket }) => {
    if (!used.has(socket) || !['OPTIONS', 'PROPFIND', 'GET', 'PUT'].includes(method)) {
      used.add(socket)
      return undefined
    }
    closed.set(method, (closed.get(method) ?? 0) + 1)
    socket.destroy()
    return 'stall'
  }
  await chmod(root, 0o777)
  const provider = await webdavAdapter.open({ url: `${proxy.endpoint}/` }, silentHost)
  for (const name of ['first', 'second']) {
    await put(provider, name, name)
    t.equal((await get(provider, name)).toString(), name)
  }
  t.same((await listAll(provider, '')).map(({ name }) => name).sort(), ['first', 'second'])
  for (const method of ['PROPFIND', 'GET', 'PUT']) t.ok(closed.get(method), `${method} was sent again`)
  await provider.close?.()
})

atNight(t, 'a server that is down', async t => {
  await runFaultCases(t, harness, async () => {
    await apache.stop()
    return () => apache.start()
  })
})
