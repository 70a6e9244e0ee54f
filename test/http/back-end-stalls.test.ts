/** Back ends that stall forever, through an adapter that ignores its abort signal. */
import { Readable } from 'node:stream'
import t from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, Call, Entry, ReadResult, StoragePath } from '../../adapters/contract.ts'
import { startApp } from '../support/app.ts'
import { eventually, head, talk } from './socket.ts'

const never = () => new Promise<never>(() => {})
const large = Buffer.alloc(16 * 1024 * 1024, 'large')

/** Stalls at the step that the file's name says. */
class Stalling extends MemoryProvider {
  override async read(path: StoragePath, options: Call): Promise<ReadResult> {
    if (path === 'read never responds') return await never()
    const { body, entry } = await super.read(path, options)
    if (path !== 'read stops in the middle') return { body, entry }
    body.destroy()
    const first = ['hello']
    const stopping = new Readable({
      read() {
        const piece = first.pop()
        if (piece) this.push(piece)
      },
    })
    return { body: stopping, entry }
  }

  override async write(path: StoragePath, body: Readable, options: Call & { overwrite: boolean }): Promise<Entry> {
    if (path === 'write reads nothing') return await never()
    if (path === 'write stops in the middle') {
      await body[Symbol.asyncIterator]().next()
      return await never()
    }
    if (path === 'write never ends') {
      await body.resume().toArray()
      return await never()
    }
    return await super.write(path, body, options)
  }

  async copy(from: StoragePath): Promise<Entry> {
    return await (from === 'copy never ends' ? never() : this.stat(from, { signal: new AbortController().signal }))
  }
}

const stalling: AdapterDefinition = {
  type: 'stalling',
  apiVersion: 1,
  title: 'Stalling',
  configSchema: { type: 'object', properties: {} },
  open: async () => new Stalling(256 * 1024 * 1024),
}

t.test('transfers with stalled back ends are cut, those with slow clients continue', async t => {
  const app = await startApp(t, { settings: { backEndTimeout: 1 }, adapters: [stalling] })
  const { token } = await app.register('owner@example.org')
  const [id, other] = [
    await app.connectProvider(token, 'stalling', {}, 'one'),
    await app.connectProvider(token, 'stalling', {}, 'other'),
  ]
  const transfers = () => app.app.server.transfers.size
  const files = ['read never responds', 'read stops in the middle', 'copy never ends', 'large']
  for (const name of files) {
    const content = name === 'large' ? large : 'hello and more'
    t.equal((await app.upload(token, id, `/${name}`, content)).status, 201)
  }
  const isUnavailable = (response: { status: number; text: string }, what: string) => {
    t.equal(response.status, 503, what)
    const [error] = JSON.parse(response.text).errors
    t.match(error, { message: /^Nothing moved at the back end for 1?\d seconds: try again\.$/ }, what)
    t.match(error.extensions, { reason: 'UNAVAILABLE', retryable: true }, what)
  }
  const answerOf = async (response: Response) => ({ status: response.status, text: await response.text() })

  /** Waits as long as it takes until two stalled transfers, one after the other, are refused. */
  const twoTimeouts = async () => {
    for (const stalls of ['first', 'second'])
      isUnavailable(await answerOf(await app.download(token, id, '/read never responds')), stalls)
  }

  const copy = async (input: object) => {
    const document = 'mutation ($input: CopyInput!) { copy(input: $input) { path } }'
    const { errors } = await app.graphql(document, { input: { providerId: id, toPath: '/copy', ...input } }, token)
    t.equal(errors[0]?.extensions.reason, 'UNAVAILABLE')
  }
  const uploadStalls = async (name: string) => {
    isUnavailable(await answerOf(await app.upload(token, other, `/${name}`, large)), name)
  }
  const checks = {
    async 'a download that never starts is refused'() {
      isUnavailable(await answerOf(await app.download(token, id, '/read never responds')), 'read never responds')
    },
    async 'a download that stops in the middle is cut'() {
      const response = await app.download(token, id, '/read stops in the middle')
      t.equal(response.status, 200)
      await t.rejects(response.text())
    },
    'a copy to another provider fails': () => copy({ path: '/read stops in the middle', toProviderId: other }),
    'a copy inside the back end fails': () => copy({ path: '/copy never ends' }),
    'an upload that the back end never reads fails': () => uploadStalls('write reads nothing'),
    'an upload that the back end stops reading fails': () => uploadStalls('write stops in the middle'),
    'an upload that is never acknowledged fails': () => uploadStalls('write never ends'),
    async 'a client that sends slowly succeeds'() {
      const client = await talk(Number(new URL(app.url).port))
      const url = `${app.url}/api/upload/proxy?${new URLSearchParams({ providerId: other, path: '/slow' })}`
      await client.send(head('POST', url, { 'Content-Length': 2, Authorization: `Bearer ${token}` }))
      for (const byte of 'ab') {
        await twoTimeouts()
        await client.send(byte)
      }
      await client.until(/HTTP\/1\.1 /)
      t.match(client.received(), /^HTTP\/1\.1 201 /)
      client.socket.destroy()
    },
    async 'a client that pauses succeeds'() {
      const response = await app.download(token, id, '/large')
      const reader = response.body?.getReader()
      let bytes = (await reader?.read())?.value?.length ?? 0
      await twoTimeouts()
      for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
        bytes += piece.value.length
      }
      t.equal(bytes, large.length)
    },
  }
  // The cases run concurrently, because each of them waits.
  await Promise.all(
    Object.entries(checks).map(async ([what, check]) => {
      await check()
      t.pass(what)
    }),
  )
  await eventually(() => {
    if (transfers() !== 0) throw new Error(`${transfers()} transfers are still running`)
  })
  t.pass('no transfer is still running')
})
