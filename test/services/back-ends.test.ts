/** Uploads, downloads and transfers between each pair of the three back ends. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import t from 'tap'
import { googleDriveAdapter } from '../../adapters/backends/google-drive/index.ts'
import type { AdapterDefinition } from '../../adapters/contract.ts'
import { builtInAdapters } from '../../adapters/index.ts'
import { backoff, endpointsOf } from '../adapters/google-drive-world.ts'
import { configFor } from '../adapters/s3-provider.ts'
import { startGoogleDrive } from '../servers/google-drive/index.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { Brake } from '../support/brake.ts'
import { extent, inTurn } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { type ProviderClient, providerClient, transfers } from './transfers.ts'

t.test('local, S3 and Google Drive', async t => {
  const fake = await startGoogleDrive(t)
  const s3 = await s3Server(t)
  const drive = googleDriveAdapter({ endpoints: endpointsOf(fake), backoff })
  const brake = new Brake()
  const app = await startApp(t, {
    adapters: folder =>
      [
        ...builtInAdapters({ localRoots: [folder], dataFolder: '/nowhere' }).filter(({ type }) => type !== drive.type),
        drive as AdapterDefinition,
      ].map(adapter => brake.on(adapter)),
  })
  const { token } = await app.register('owner@example.org')
  const serviceAccountKey = fake.oauth.addServiceAccount('robot@fake.iam.gserviceaccount.com')
  const connect = async (type: string, config: object) =>
    providerClient(app, token, await app.connectProvider(token, type, config))
  const providers: Record<string, ProviderClient> = {
    local: await connect('local', { root: app.folder }),
    S3: await connect('s3', configFor(s3, await s3.newBucket())),
    'Google Drive': await connect('google-drive', { serviceAccountKey }),
  }

  const pairs = Object.entries(providers).flatMap(([from, source]) =>
    Object.entries(providers).map(([to, target]) => ({ name: `${from} to ${to}`, source, target })),
  )
  const tried = extent({ gate: pairs.filter(({ name }) => name === 'local to S3'), nightly: pairs })
  for (const { name, source, target } of tried) {
    const folder = `/${name.replaceAll(' ', '-')}`
    await t.test(name, t => transfers(t, within(source, folder), within(target, folder)))
  }

  const bytes = Buffer.alloc(20_000_000)
  for (let index = 0; index < bytes.length; index += 4) bytes.writeUInt32LE((index * 2654435761) >>> 0, index)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const sumOf = async ({ providerId }: ProviderClient, at: string) => {
    const response = await app.download(token, providerId, at)
    const hash = createHash('sha256')
    if (!response.body) return null
    for await (const chunk of Readable.fromWeb(response.body as import('node:stream/web').ReadableStream))
      hash.update(chunk)
    return response.status === 200 ? hash.digest('hex') : null
  }

  for (const { name, source, target } of tried.filter(({ source, target }) => source !== target)) {
    const places = { 'in the middle': bytes.length / 2, 'at its last bytes': bytes.length - 1 }
    for (const [where, at] of inTurn(Object.entries(places))) {
      await t.test(`${name}: a move that is interrupted ${where} loses nothing`, async t => {
        const [path, toPath] = ['/interrupted/a.bin', `/interrupted/${name} ${where}.bin`]
        t.equal((await app.upload(token, source.providerId, path, bytes, '&conflict=replace')).status, 201)
        const stop = new AbortController()
        const reached = brake.holdAt(at)
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
        await reached
        stop.abort()
        await t.rejects(moving, { name: 'AbortError' })
        // The event is written after all work of the move has ended.
        await until(async () => {
          const moves = app.db.selectFrom('audit_events').select('to_path').where('action', '=', 'MOVE')
          return (await moves.execute()).some(({ to_path }) => to_path === toPath)
        })
        t.equal(await sumOf(source, path), sha256, 'the source is complete')
        t.equal(await sumOf(target, toPath), null, 'nothing is at the target')
        t.notOk((await target.names('/interrupted').catch((): string[] => [])).includes(`${name} ${where}.bin`))
      })
    }
  }
})

/** The same provider below another folder, so that the pairs do not share files. */
function within(outer: ProviderClient, folder: string): ProviderClient {
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
