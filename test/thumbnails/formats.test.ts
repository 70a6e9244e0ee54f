/** Thumbnails of each kind of file, over REST, GraphQL and share links. The files are made by other programs than those that read them. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startApp, type TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { encodedMedia, look, pdfPage, rawPhoto, songWithCover, twoColors } from '../support/media.ts'
import { makeShare, revokeShare, sharePath } from '../support/shares.ts'

const redAndBlue = ['f00', '00f']
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="400"><rect width="300" height="400" fill="#f00"/><rect x="300" width="300" height="400" fill="#00f"/></svg>'

const thumbnailPath = (providerId: string, path: string, size = 256) =>
  `/api/thumbnail?${new URLSearchParams({ providerId, path, size: String(size) })}`

async function urlOf(app: TestApp, token: string, providerId: string, path: string): Promise<string | null> {
  const query = 'query ($p: ID!, $path: String!) { file(providerId: $p, path: $path) { thumbnailUrl(size: 128) } }'
  return (await app.ask(query, { p: providerId, path }, token)).file.thumbnailUrl
}

t.test('thumbnails', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  const put = (name: string, bytes: Uint8Array | string) => writeFile(join(app.folder, name), bytes)
  const get = (name: string, init: Parameters<typeof app.request>[1] = {}, size = 256) =>
    app.request(thumbnailPath(providerId, `/${name}`, size), { token, ...init })
  const reasonOf = async (response: Response) =>
    ((await response.json()) as { errors: { extensions: { reason: string } }[] }).errors[0]?.extensions.reason

  const { heic, video, streamed } = await encodedMedia(t)
  const photo = await twoColors(1200, 800).jpeg().toBuffer()
  const files: Record<string, Uint8Array | string> = {
    'photo.JPG': photo,
    'a.png': await twoColors(600, 400).png().toBuffer(),
    'a.gif': await twoColors(600, 400).gif().toBuffer(),
    'a.webp': await twoColors(600, 400).webp().toBuffer(),
    'a.avif': await twoColors(600, 400).avif().toBuffer(),
    'a.tiff': await twoColors(600, 400).tiff().toBuffer(),
    'a.svg': svg,
    'a.heic': heic,
    'a.pdf': pdfPage(),
    'a.dng': rawPhoto(await twoColors(160, 120).jpeg().toBuffer(), photo),
    'a.mp3': songWithCover(await twoColors(500, 500).png().toBuffer()),
    'a.mp4': video,
    'streamed.mp4': streamed,
  }

  const usual = ['photo.JPG', 'a.png', 'a.svg', 'a.heic', 'a.pdf', 'a.mp3', 'a.mp4']
  for (const name of extent({ gate: usual, nightly: Object.keys(files) })) {
    const bytes = files[name] ?? ''
    await put(name, bytes)
    const response = await get(name)
    t.equal(response.status, 200, name)
    t.equal(response.headers.get('content-type'), 'image/webp', name)
    const image = await look(new Uint8Array(await response.arrayBuffer()))
    t.equal(Math.max(image.width, image.height), 256, `${name} fits`)
    t.same(image.colors, redAndBlue, `${name} shows the content`)
  }

  t.test('orientation applies, and metadata is removed', async t => {
    const turned = await twoColors(400, 200)
      .withExif({ IFD0: { Artist: 'Somebody' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    await put('turned.jpg', turned)
    const bytes = Buffer.from(await (await get('turned.jpg')).arrayBuffer())
    const { width, height } = await look(bytes)
    t.same([width, height], [128, 256])
    t.notOk(bytes.includes('Somebody'))
  })

  t.test('a client that has the image gets 304, until the file changes', async t => {
    await put('changing.png', await twoColors(300, 200).png().toBuffer())
    const etag = (await get('changing.png')).headers.get('etag') ?? ''
    t.equal((await get('changing.png', { headers: { 'if-none-match': etag } })).status, 304)
    await put('changing.png', await twoColors(200, 300).png().toBuffer())
    const changed = await get('changing.png', { headers: { 'if-none-match': etag } })
    t.equal(changed.status, 200)
    const { width, height } = await look(new Uint8Array(await changed.arrayBuffer()))
    t.same([width, height], [171, 256])
    t.equal(changed.headers.get('cache-control'), 'private, no-cache')
  })

  t.test('the format follows Accept', async t => {
    const typeFor = async (accept: string) => (await get('a.png', { headers: { accept } })).headers.get('content-type')
    t.equal(await typeFor('image/avif,image/webp,*/*'), 'image/webp')
    t.equal(await typeFor('image/avif'), 'image/avif')
    t.equal(await typeFor('image/png'), 'image/webp')
  })

  t.test('sizes are bounded, and small images stay small', async t => {
    await put('small.png', await twoColors(40, 20).png().toBuffer())
    t.equal((await look(new Uint8Array(await (await get('small.png', {}, 1024)).arrayBuffer()))).width, 40)
    for (const size of [63, 1025]) t.equal((await get('a.png', {}, size)).status, 400)
    t.equal((await look(new Uint8Array(await (await get('photo.JPG', {}, 1000)).arrayBuffer()))).width, 1024)
  })

  t.test('damaged files and others have none, which is remembered', async t => {
    await put('damaged.jpg', photo.subarray(0, 2000))
    await put('text.jpg', 'no image')
    await put('empty.png', '')
    await put('a.txt', 'text')
    for (const name of ['damaged.jpg', 'text.jpg', 'empty.png', 'a.txt', 'text.jpg']) {
      const response = await get(name)
      t.equal(response.status, 404, name)
      t.equal(await reasonOf(response), 'NO_THUMBNAIL', name)
    }
    t.equal(await urlOf(app, token, providerId, '/a.txt'), null)
    const kept = await readdir(join(app.settings.dataFolder, 'thumbnails'), { recursive: true })
    t.notOk(kept.some(name => name.endsWith('.new')))
  })

  t.test('an address of GraphQL works without a header, as long as its key', async t => {
    const { key, id } = await app.createKey(token, { name: 'k', scopes: ['read'] })
    const url = await urlOf(app, key, providerId, '/a.png')
    if (!url) throw new Error('no address')
    t.equal(url, await urlOf(app, key, providerId, '/a.png'), 'the address stays the same')
    const response = await fetch(url)
    t.equal(response.status, 200)
    t.equal((await look(new Uint8Array(await response.arrayBuffer()))).width, 128)
    const ticket = new URL(url).searchParams.get('ticket') ?? ''
    t.equal(
      (await app.request(`/api/download/proxy?${new URLSearchParams({ ticket })}`)).status,
      401,
      'it downloads nothing',
    )
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
    t.equal((await fetch(url)).status, 401)
  })

  t.test('a base path bounds thumbnails', async t => {
    const restrictions = [{ providerId, basePath: '/folder' }]
    const { key } = await app.createKey(token, { name: 'k', scopes: ['read'], providerAccess: { restrictions } })
    t.equal(await reasonOf(await get('a.png', { token: key })), 'OUTSIDE_BASE_PATH')
    t.equal(await reasonOf(await get('missing.png', { token: key })), 'OUTSIDE_BASE_PATH')
    t.equal((await get('a.png', { token: null })).status, 401)
  })

  t.test('share links have thumbnails, small ones where downloads are limited', async t => {
    const widthOf = async (link: string, path: string, size: number) => {
      const response = await app.request(sharePath(link, 'thumbnail', { path, size: String(size) }))
      t.equal(response.status, 200)
      return (await look(new Uint8Array(await response.arrayBuffer()))).width
    }
    const open = await makeShare(app, token, { providerId, path: '/' })
    t.equal(await widthOf(open.link, '/photo.JPG', 1024), 1024)
    const limited = await makeShare(app, token, { providerId, path: '/photo.JPG', maxDownloads: 1 })
    t.equal(await widthOf(limited.link, '/photo.JPG', 1024), 256)
    t.equal(
      (await app.request(sharePath(limited.link, 'content', { path: '/photo.JPG' }))).status,
      200,
      'none was counted',
    )
    const drop = await makeShare(app, token, { providerId, path: '/', kind: 'DROP' })
    t.equal((await app.request(sharePath(drop.link, 'thumbnail', { path: '/photo.JPG' }))).status, 403)
    await revokeShare(app, token, open.id)
    t.equal((await app.request(sharePath(open.link, 'thumbnail', { path: '/photo.JPG' }))).status, 401)
  })
})
