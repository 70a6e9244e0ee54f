/** The three back ends together: what the proxies and the transfers promise, between each pair of them. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { googleDriveAdapter } from '../../adapters/google-drive/index.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { configFor } from '../adapters/s3-provider.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { type Place, place, transfers } from './transfers.ts'

t.setTimeout(180_000)

t.test('local, S3 and Google Drive', async t => {
  const fake = await startGoogleDrive(t)
  const s3 = await s3Server(t)
  const drive = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const app = await startApp(t, {
    adapters: folder => [
      ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }).filter(({ type }) => type !== drive.type),
      drive as AdapterDefinition,
    ],
  })
  const { token } = await app.register('owner@example.org')
  const serviceAccountKey = fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com')
  const connect = async (type: string, config: object) =>
    place(app, token, await app.connectProvider(token, type, config))
  const places: Record<string, Place> = {
    local: await connect('local', { root: app.folder }),
    S3: await connect('s3', configFor(s3, await s3.newBucket())),
    'Google Drive': await connect('google-drive', { serviceAccountKey }),
  }

  const pairs = Object.entries(places).flatMap(([from, source]) =>
    Object.entries(places).map(([to, target]) => ({ name: `${from} to ${to}`, source, target })),
  )
  for (const { name, source, target } of pairs) {
    const folder = `/${name.replaceAll(' ', '-')}`
    await t.test(name, t => transfers(t, within(source, folder), within(target, folder)))
  }

  const bytes = Buffer.alloc(30_000_000)
  for (let index = 0; index < bytes.length; index += 4) bytes.writeUInt32LE((index * 2654435761) >>> 0, index)
  const sha256 = createHash('sha256').update(bytes).digest('hex')

  for (const { name, source, target } of pairs.filter(({ source, target }) => source !== target)) {
    await t.test(`${name}: a move that is interrupted loses nothing`, async t => {
      const [path, toPath] = ['/interrupted/a.bin', `/interrupted/${name}.bin`]
      t.equal((await app.upload(token, source.providerId, path, bytes, '&conflict=replace')).status, 201)
      const stop = new AbortController()
      const moving = app.request('/graphql', {
        method: 'POST',
        token,
        signal: stop.signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          query: 'mutation ($input: MoveInput!) { move(input: $input) { path } }',
          variables: { input: { providerId: source.providerId, path, toProviderId: target.providerId, toPath } },
        }),
      })
      await sleep(60)
      stop.abort()
      await moving.catch(() => {})
      const sum = async ({ providerId }: Place, at: string) => {
        const response = await app.download(token, providerId, at)
        const hash = createHash('sha256')
        if (!response.body) return null
        for await (const chunk of Readable.fromWeb(response.body as import('node:stream/web').ReadableStream))
          hash.update(chunk)
        return response.status === 200 ? hash.digest('hex') : null
      }
      // The server goes on for a moment with what cannot be taken back.
      await sleep(300)
      const [left, arrived] = [await sum(source, path), await sum(target, toPath)]
      t.ok(left === sha256 || arrived === sha256, 'whole on one side')
      t.ok([null, sha256].includes(left) && [null, sha256].includes(arrived), 'and half on none')
    })
  }
})

/** The same place with another root, so that the pairs do not meet. */
function within(outer: Place, folder: string): Place {
  return {
    ...outer,
    run: (name, input) => outer.run(name, prefixed(input, folder)).then(result => unprefixed(result, folder)),
    put: (path, text) => outer.put(folder + path, text),
    get: path => outer.get(folder + path),
    names: path => outer.names(folder + path),
  }
}

function prefixed(input: object, folder: string): object {
  const { path, toPath, ...rest }: { path?: string; toPath?: string } = input
  return {
    ...rest,
    ...(path !== undefined && { path: folder + path }),
    ...(toPath !== undefined && { toPath: folder + toPath }),
  }
}

function unprefixed(result: unknown, folder: string): unknown {
  if (typeof result !== 'object' || result === null || !('path' in result)) return result
  return { ...result, path: String(result.path).slice(folder.length) }
}
