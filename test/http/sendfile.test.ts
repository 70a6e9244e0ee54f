/** Downloads of local files that a real nginx sends, with the configuration from docs/operations.md. */
import assert from 'node:assert/strict'
import { mkdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { startNginx } from '../servers/nginx.ts'
import { extent } from '../support/extent.ts'
import { type HttpServer, startHttp } from './server.ts'

const content = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251))

/** Returns the nginx location from the documentation, for a folder. */
async function documentedLocation(folder: string): Promise<string> {
  const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const location = /^location \/internal\/[\s\S]*?^}/m.exec(page)?.[0]
  assert.ok(location, 'docs/operations.md has no location for nginx')
  return location.replaceAll('/srv/files', folder)
}

/** Resolves with the address of an nginx in front of the server. */
async function startFront(t: Test, { url, folder }: HttpServer): Promise<string> {
  return startNginx(t, url, await documentedLocation(folder))
}

const swapped = 'swapped-after-the-look'
const sendfile = { header: 'X-Accel-Redirect', prefix: '/internal' } as const

t.test('nginx sends the files that Stowage allows, with the headers of Stowage', async t => {
  const server: HttpServer = await startHttp(t, {
    settings: { trustedProxies: ['127.0.0.1'], sendfile },
    extend: app => {
      app.get(`/${swapped}`, (_request, reply) =>
        reply.header('X-Accel-Redirect', `/internal${server.folder}/target.txt`).send(''),
      )
    },
  })
  const front = await startFront(t, server)
  const through = (url: string) => url.replace(server.url, front)
  const { authorization } = server
  const download = (path: string, headers: Record<string, string> = {}) =>
    fetch(through(server.downloadUrl(path)), { headers: { ...authorization, ...headers } })
  await mkdir(join(server.folder, 'folder'))
  await writeFile(join(server.folder, 'folder', 'page.html'), content)

  await t.test('headers and bytes are those of Stowage', async t => {
    const direct = await fetch(server.downloadUrl('/folder/page.html'), { headers: authorization })
    t.notOk(direct.headers.has('x-accel-redirect'), 'a direct request gets no path')
    t.same(Buffer.from(await direct.arrayBuffer()), content)
    const handed = await download('/folder/page.html')
    t.same(Buffer.from(await handed.arrayBuffer()), content)
    t.equal(handed.status, 200)
    t.notOk(handed.headers.has('x-accel-redirect'))
    for (const name of [
      'content-type',
      'content-disposition',
      'content-length',
      'content-security-policy',
      'x-content-type-options',
      'cross-origin-resource-policy',
      'referrer-policy',
      'cache-control',
      'etag',
      'last-modified',
      'accept-ranges',
    ]) {
      t.equal(handed.headers.get(name), direct.headers.get(name), name)
    }
  })

  await t.test('nginx sends the file and applies the range', async t => {
    const believed = await fetch(server.downloadUrl('/folder/page.html'), {
      headers: { ...authorization, 'x-forwarded-for': '192.0.2.1', range: 'bytes=10-19' },
    })
    t.equal(believed.status, 200)
    t.equal(believed.headers.get('x-accel-redirect'), `/internal${server.folder}/folder/page.html`)
    t.equal(believed.headers.get('content-range'), null)
    t.equal((await believed.arrayBuffer()).byteLength, 0)
    const part = await download('/folder/page.html', { range: 'bytes=10-19' })
    t.equal(part.status, 206)
    t.equal(part.headers.get('content-range'), 'bytes 10-19/5000')
    t.same(Buffer.from(await part.arrayBuffer()), content.subarray(10, 20))
  })

  await t.test('Stowage still evaluates conditions', async t => {
    const etag = (await download('/folder/page.html')).headers.get('etag') ?? ''
    t.equal((await download('/folder/page.html', { 'if-none-match': etag })).status, 304)
    t.equal((await download('/folder/page.html', { 'if-match': etag })).status, 200)
    t.equal((await download('/folder/page.html', { 'if-match': '"other"' })).status, 412)
    t.equal((await download('/folder/page.html', { 'if-range': etag, range: 'bytes=0-0' })).status, 206)
    t.equal((await download('/folder/page.html', { 'if-range': '"other"', range: 'bytes=0-0' })).status, 200)
    t.equal((await download('/folder/page.html', { range: 'bytes=5000-' })).status, 416)
  })

  await t.test('no request bypasses Stowage', async t => {
    const url = through(server.downloadUrl('/folder/page.html'))
    t.equal((await fetch(url)).status, 401)
    t.equal((await fetch(`${front}/internal${server.folder}/folder/page.html`)).status, 404)
    const { services, local } = server
    const owner = await services.credentials.authenticate(server.token, { address: '127.0.0.1', requestId: 'test' })
    const { key } = await services.apiKeys.create(owner, {
      name: 'elsewhere',
      scopes: ['read'],
      providerAccess: { restrictions: [{ providerId: local, basePath: '/elsewhere' }] },
    })
    t.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 403)
  })

  await t.test('nginx does not follow a link that replaces a file', async t => {
    // This has the same effect as a link that appears between the response of Stowage and the open of nginx.
    await writeFile(join(server.folder, 'target.txt'), 'open')
    t.equal(await (await fetch(`${front}/${swapped}`)).text(), 'open')
    await unlink(join(server.folder, 'target.txt'))
    await symlink(join(server.folder, 'folder', 'page.html'), join(server.folder, 'target.txt'))
    t.equal((await fetch(`${front}/${swapped}`)).status, 403)
  })

  await t.test('files with any name are sent', async () => {
    const names = fc
      .array(fc.constantFrom(...' %2F?#&;+"\'\\\n$é\u{1f600}ab..'), { minLength: 1, maxLength: 20 })
      .map(parts => `n${parts.join('')}`)
    await fc.assert(
      fc.asyncProperty(names, async name => {
        await writeFile(join(server.folder, name), name)
        const response = await download(`/${name}`)
        assert.equal(await response.text(), name)
        assert.equal(response.status, 200)
      }),
      { numRuns: extent({ gate: 6, nightly: 60 }) },
    )
  })
})
