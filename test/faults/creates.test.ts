/** Freezes a create at S3 after each of its requests. At each moment, every replica sees no file or the whole file. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { send } from '../http/tus.ts'
import { type FaultProxy, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import type { Client, GraphqlResult } from '../support/client.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { sha256 } from './ledger.ts'

const mib = 1024 * 1024

/** Describes a file as all kinds of requests see it. */
async function seen(client: Client, token: string, providerId: string, folder: string): Promise<string> {
  const path = `${folder}/file`
  const entry = 'query ($providerId: ID!, $path: String!) { entry(providerId: $providerId, path: $path) { name } }'
  const list = `query ($providerId: ID!, $folder: String!) {
    folder(providerId: $providerId, path: $folder) { entries(first: 100) { nodes { name } } }
  }`
  const [stat, listing, download, archive] = await Promise.all([
    client.graphql(entry, { providerId, path }, token),
    client.graphql(list, { providerId, folder }, token),
    client.download(token, providerId, path),
    client.download(token, providerId, folder),
  ])
  const bytes = Buffer.from(await download.arrayBuffer())
  const zip = Buffer.from(await archive.arrayBuffer())
  const reason = ({ errors: [error] }: GraphqlResult) => error?.extensions.reason
  return JSON.stringify({
    stat: reason(stat) ?? stat.data.entry.name,
    // The folder may exist or not.
    list: reason(listing) === 'NOT_FOUND' ? [] : listing.data.folder.entries.nodes.map(({ name }: Named) => name),
    read: download.status === 200 ? sha256(bytes) : download.status,
    archive: archive.status === 200 && zip.includes('file'),
  })
}

interface Named {
  name: string
}

const nothing = JSON.stringify({ stat: 'NOT_FOUND', list: [], read: 404, archive: false })
const whole = (bytes: Buffer) => JSON.stringify({ stat: 'file', list: ['file'], read: sha256(bytes), archive: true })

/** Delays the response to the n-th request that changes something, counted from 0. */
function freeze(proxy: FaultProxy, number: number) {
  let count = 0
  const frozen = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  proxy.fault = ({ method }) => {
    if (method === 'GET' || method === 'HEAD' || count++ !== number) return undefined
    return {
      // S3 has finished the request.
      answerAfter() {
        frozen.resolve()
        return released.promise
      },
    }
  }
  return { frozen: frozen.promise, release: released.resolve }
}

async function start(t: Test) {
  const server = await s3Server(t)
  const bucket = await server.newBucket()
  const proxy = await faultProxy(t, server.endpoint)
  const app = await startApp(t)
  const other = await app.replica()
  const { token } = await app.register('owner@example.org')
  const { accessKeyId, secretAccessKey, region, endpoint } = server
  const config = { bucket, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const frozen = await app.connectProvider(token, 's3', { ...config, endpoint: proxy.endpoint }, 'frozen')
  const all = await app.connectProvider(token, 's3', { ...config, endpoint }, 'whole bucket')
  const team = await app.connectProvider(token, 's3', { ...config, endpoint, prefix: 'team' }, 'team')
  const source = randomBytes(mib)
  await app.upload(token, frozen, '/team/source', source)
  const look = async (folder: string) => {
    // By day, each replica looks through another provider.
    const asked = [app, other].flatMap((client, index) => [
      ...(isNight || index === 0 ? [seen(client, token, all, `/team${folder}`)] : []),
      ...(isNight || index === 1 ? [seen(client, token, team, folder)] : []),
    ])
    return [...new Set(await Promise.all(asked))]
  }
  return { app, other, token, frozen, proxy, source, look }
}

t.test('a partial file is never visible during a create', async t => {
  const { app, token, frozen, proxy, source, look } = await start(t)
  const large = randomBytes(9 * mib)
  const copy = async (path: string) => {
    const query = 'mutation ($input: CopyInput!) { copy(input: $input) { name } }'
    const input = { providerId: frozen, path: '/team/source', toPath: path }
    await app.ask(query, { input }, token)
  }
  const upload = (bytes: Buffer<ArrayBuffer>) => async (path: string) => {
    const response = await app.upload(token, frozen, path, bytes)
    await response.arrayBuffer()
    t.equal(response.status, 201)
  }
  const resumable = async (path: string) => {
    const target = { url: app.url, token, metadata: { providerId: frozen, path } }
    await send(target, large, { retryDelays: [] })
  }
  const creates: [string, Buffer<ArrayBuffer>, (path: string) => Promise<void>][] = [
    ['small', source, upload(source)],
    ['large', large, upload(large)],
    ['resumable', large, resumable],
    ['copy', source, copy],
  ]
  const kinds = extent({ gate: ['small'], nightly: creates.map(([kind]) => kind) })
  for (const [kind, bytes, create] of creates.filter(([kind]) => kinds.includes(kind))) {
    let moments = 0
    for (let number = 0; ; number++) {
      const folder = `/${kind} ${number}`
      const { frozen, release } = freeze(proxy, number)
      const creating = create(`/team${folder}/file`)
      const isFrozen = await Promise.race([frozen.then(() => true), creating.then(() => false)])
      const views = isFrozen ? await look(folder) : []
      release()
      await creating
      proxy.fault = undefined
      if (!isFrozen) break
      moments += 1
      t.ok(
        [nothing, whole(bytes)].some(view => `${view}` === `${views}`),
        `${folder}: ${views}`,
      )
      t.same(await look(folder), [whole(bytes)], folder)
    }
    t.ok(moments > (kind === 'large' ? 3 : 0), `${kind}: ${moments} moments`)
  }
})

atNight(t, 'a concurrent create of the same file on another replica waits and is refused', async t => {
  const { app, other, token, frozen, proxy, look } = await start(t)
  const [first, second] = [randomBytes(9 * mib), randomBytes(mib)]
  const released = Promise.withResolvers<void>()
  const completing = Promise.withResolvers<void>()
  let isDelayed = false
  proxy.fault = ({ method, url }) => {
    if (isDelayed || method !== 'POST' || !url?.includes('uploadId')) return undefined
    isDelayed = true
    completing.resolve()
    return { holdUntil: released.promise }
  }
  const creating = app.upload(token, frozen, '/team/folder/file', first)
  await completing.promise
  const creatingToo = other.upload(token, frozen, '/team/folder/file', second)
  const replacing = other.upload(token, frozen, '/team/folder/file', second, '&conflict=replace')
  const ended = Promise.race([creatingToo, replacing]).then(({ status }) => status)
  t.equal(await Promise.race([ended, sleep(1000, 'none')]), 'none', 'both wait for the first create')
  t.same(await look('/folder'), [nothing])
  released.resolve()
  t.equal((await creating).status, 201)
  t.equal((await creatingToo).status, 409)
  t.equal((await replacing).status, 201, 'the replacement happens after the create')
  t.same(await look('/folder'), [whole(second)])
})
