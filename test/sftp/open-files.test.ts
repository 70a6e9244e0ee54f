/** What is open in a session: faults of the back end, rights that end, and requests that the client does not wait for. */
import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { createMemoryAdapter } from '../../adapters/backends/memory/index.ts'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { withMethods } from '../../adapters/name-rules.ts'
import { statusOf } from '../../src/endpoints/sftp/errors.ts'
import { Handles } from '../../src/endpoints/sftp/handles.ts'
import { Turns } from '../../src/endpoints/sftp/turns.ts'
import { AppError } from '../../src/errors.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import {
  connectSsh,
  done,
  noAttributes,
  RawSftp,
  SftpClient,
  serveSftp,
  startWithSftp,
  text,
  uint32,
  uint64,
} from './server.ts'

t.setTimeout(300_000)

const [reads, writes, appends, creates, truncates, isNew] = [1, 2, 4, 8, 16, 32]
const mebibyte = 1024 * 1024
const space = 100 * mebibyte

/** What the back end does with the content of `/memory/broken` and the stores of `/memory/slow`. */
const backEnd = {
  end: 'error' as 'error' | 'early',
  hasETags: true,
  /** The offsets at which the content was opened. */
  opened: [] as number[],
  isStoring: false,
  mayStore: Promise.withResolvers<void>(),
}

const adapter = {
  ...createMemoryAdapter(space),
  async open() {
    const provider = new MemoryProvider(space)
    return withMethods(provider as StorageProvider, {
      async read(path, options) {
        const { body, entry } = await provider.read(path, options)
        if (!path.endsWith('broken')) return { body, entry }
        const offset = options.range?.offset ?? 0
        backEnd.opened.push(offset)
        return {
          body: Readable.from(cut(body, offset === 0 ? 300_000 : 0)),
          entry: backEnd.hasETags ? entry : { ...entry, etag: null },
        }
      },
      async write(path, body, options) {
        if (path.endsWith('slow')) {
          backEnd.isStoring = true
          await backEnd.mayStore.promise
        }
        return provider.write(path, body, options)
      },
    })
  },
}

async function* cut(body: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > most && backEnd.end === 'early') return
    if (bytes > most) throw new Error('The connection is lost')
    yield chunk
  }
}

t.test('open files of a session', async t => {
  const options = { adapters: [adapter] as never }
  const { app, token, providerId, key, endpoint } = await startWithSftp(t, options, 'memory')
  const start = async (t: Test, password = key) =>
    new SftpClient(await RawSftp.start(await connectSsh(t, endpoint, { password })))
  const sftp = await start(t)
  const content = randomBytes(mebibyte)
  const put = async (path: string, bytes: Buffer) => {
    const handle = await sftp.open(path, writes | creates | truncates)
    for (let at = 0; at < bytes.length; at += 200_000) await sftp.write(handle, at, bytes.subarray(at, at + 200_000))
    await sftp.close(handle)
  }
  /** Begins to store a file, which takes until the back end may store. */
  const slowStore = async (client: SftpClient) => {
    backEnd.isStoring = false
    backEnd.mayStore = Promise.withResolvers()
    const handle = await client.open('/memory/slow', writes | creates | truncates)
    await client.write(handle, 0, Buffer.from('slow'))
    const closed = client.raw.request(4, handle)
    await until(() => backEnd.isStoring)
    return { handle, closed }
  }

  await t.test('a stream that fails never reads as the end of the file', async t => {
    await put('/memory/broken', content)
    for (const [end, hasETags] of [
      ['error', true],
      ['early', true],
      ['error', false],
    ] as const) {
      Object.assign(backEnd, { end, hasETags, opened: [] })
      const handle = await sftp.open('/memory/broken', reads)
      const replies = await Promise.all(
        Array.from({ length: 32 }, (_, n) => sftp.raw.request(5, handle, uint64(n * 32_768), uint32(32_768))),
      )
      const failed = replies.findIndex(({ type }) => type !== 103)
      t.ok(failed > 0, `${end} after some content`)
      t.same(
        replies.slice(failed).map(({ status }) => status),
        replies.slice(failed).map(() => 4),
      )
      const isReadOn = backEnd.opened.some(offset => offset > 0 && offset <= 300_000)
      t.equal(isReadOn, hasETags, 'what could be another version is not read on')
      t.equal((await sftp.raw.request(5, handle, uint64(mebibyte), uint32(1))).status, 1, 'the end')
      await sftp.close(handle)
    }
    t.ok(endpoint.faults.length > 0)
    endpoint.faults.length = 0
  })

  await t.test('what was sent before the end of the session still happens', async t => {
    const client = await start(t)
    const { raw } = client
    const { closed } = await slowStore(client)
    const made = raw.request(14, text('/memory/made-late'), noAttributes)
    raw.channel.end()
    t.match(await made, { status: 0 })
    backEnd.mayStore.resolve()
    t.match(await closed, { status: 0 })
    t.equal(await sftp.size('/memory/slow'), 4)
  })

  await t.test('other entries and handles do not wait for a slow store, and its handle has ended', async t => {
    const { handle, closed } = await slowStore(sftp)
    for (const path of ['/', '/memory']) {
      await done(sftp.raw.request(17, text(path)))
      await sftp.close((await done(sftp.raw.request(11, text(path)))).rest)
    }
    t.match(await sftp.raw.request(6, handle, uint64(4), text('more')), { status: 4, message: /no such open file/ })
    t.match(await sftp.raw.request(4, handle), { status: 4 })
    const size = sftp.size('/memory/slow')
    backEnd.mayStore.resolve()
    t.match(await closed, { status: 0 })
    t.equal(await size, 4)
  })

  await atNight(t, 'what runs ends before the server does', async t => {
    const other = await serveSftp(t, app)
    const ssh = await connectSsh(t, other, { password: key })
    const client = new SftpClient(await RawSftp.start(ssh))
    const { closed } = await slowStore(client)
    const late = client.raw.request(14, text('/memory/slow'), noAttributes)
    const ended = other.close()
    backEnd.mayStore.resolve()
    t.match(await closed, { status: 0 })
    t.not((await late).status, 0)
    await ended
    t.equal(await sftp.size('/memory/slow'), 4)
    t.same(other.faults, [])
  })

  await atNight(t, 'a client hears of the server while its request runs', async t => {
    const ssh = await connectSsh(t, endpoint, { password: key })
    const { closed } = await slowStore(new SftpClient(await RawSftp.start(ssh)))
    const { _handlers: handlers } = (
      ssh as unknown as { _protocol: { _handlers: Record<string, (...of: unknown[]) => void> } }
    )._protocol
    const { promise: heard, resolve } = Promise.withResolvers<unknown>()
    handlers.GLOBAL_REQUEST = (_protocol, name) => resolve(name)
    t.equal(await heard, 'keepalive@openssh.com')
    backEnd.mayStore.resolve()
    await closed
  })

  await t.test('the handles of a session for one file share it', async t => {
    const [path, letters] = ['/memory/shared', (value: string) => Buffer.from(value)]
    const writer = await sftp.open(path, writes | creates)
    await sftp.write(writer, 0, letters('first '))
    const reader = await sftp.open(path, reads)
    t.same(await sftp.read(reader, 0, 100), letters('first '))
    await t.rejects(sftp.write(reader, 0, letters('x')), /not open for writing/)
    await t.rejects(sftp.open(path, writes | creates | isNew), /ALREADY_EXISTS/)
    const adding = await sftp.open(path, writes | appends)
    await sftp.write(adding, 0, letters('second'))
    t.same(await sftp.read(reader, 0, 100), letters('first second'))
    t.equal(await sftp.read(reader, 12, 1), null)
    const other = await start(t)
    await t.rejects(other.size(path), /NOT_FOUND/)
    await sftp.close(adding)
    t.equal(await other.size(path), 12)
    await sftp.write(writer, 12, letters('!'))
    await sftp.close(writer)
    t.equal(await other.size(path), 13)
    t.same(await sftp.read(reader, 6, 100), letters('second!'), 'after the last writer')
    await sftp.close(reader)
    const emptied = await sftp.open(path, writes)
    await sftp.close(await sftp.open(path, writes | truncates))
    t.equal(await other.size(path), 0)
    await sftp.close(emptied)
  })

  await atNight(t, 'an open file is renamed and removed', async t => {
    const rename = (from: string, to: string) => sftp.raw.request(18, text(from), text(to))
    const contentOf = async (path: string) => {
      const handle = await sftp.open(path, reads)
      const found = await sftp.read(handle, 0, 100)
      await sftp.close(handle)
      return String(found)
    }
    for (const path of ['/memory/old', '/memory/unsaved']) {
      const handle = await sftp.open(path, writes | creates)
      await sftp.write(handle, 0, Buffer.from('one'))
      if (path.endsWith('old')) await done(sftp.raw.request(200, text('fsync@openssh.com'), handle))
      await done(rename(path, `${path}.1`))
      t.equal((await sftp.raw.request(17, text(path))).status, 2)
      await sftp.write(handle, 3, Buffer.from(' two'))
      await sftp.close(handle)
      t.equal(await contentOf(`${path}.1`), 'one two')

      const again = await sftp.open(path, writes | creates)
      await sftp.write(again, 0, Buffer.from('gone'))
      if (path.endsWith('old')) await done(sftp.raw.request(200, text('fsync@openssh.com'), again))
      await done(sftp.raw.request(13, text(path)))
      t.equal((await sftp.raw.request(17, text(path))).status, 2)
      await put(path, Buffer.from('another'))
      await sftp.write(again, 4, Buffer.from('!'))
      await sftp.close(again)
      t.equal(await contentOf(path), 'another', 'the removed file does not come back')
    }
    const replaced = await sftp.open('/memory/old', writes)
    await sftp.write(replaced, 0, Buffer.from('lost'))
    t.match(await rename('/memory/unsaved', '/memory/old'), { status: 4, message: /ALREADY_EXISTS/ })
    await done(sftp.raw.request(200, text('posix-rename@openssh.com'), text('/memory/old.1'), text('/memory/old')))
    await sftp.close(replaced)
    t.equal(await contentOf('/memory/old'), 'one two')

    await done(sftp.raw.request(14, text('/memory/around'), noAttributes))
    const inside = await sftp.open('/memory/around/file', writes | creates)
    t.match(await rename('/memory/around', '/memory/elsewhere'), { status: 4, message: /IN_USE/ })
    t.match(await sftp.raw.request(15, text('/memory/around')), { status: 4, message: /NOT_EMPTY/ })
    await sftp.close(inside)
    await done(rename('/memory/around', '/memory/elsewhere'))
    t.equal(await contentOf('/memory/elsewhere/file'), 'null')
  })

  await t.test('the size of an open file is set between its writes', async t => {
    const handle = await sftp.open('/memory/cut', writes | creates)
    const write = (position: number, letters: string) => sftp.write(handle, position, Buffer.from(letters))
    await Promise.all([
      write(0, '0123456789'),
      write(4, 'abc'),
      done(sftp.raw.request(9, text('/memory/cut'), uint32(1), uint64(6))),
      write(8, 'xy'),
    ])
    await sftp.close(handle)
    const again = await sftp.open('/memory/cut', reads)
    t.match((await sftp.read(again, 0, 100))?.subarray(0, 6).toString(), '0123ab')
    await sftp.close(again)
  })

  await atNight(t, 'copied bytes count as downloaded', async t => {
    await put('/memory/secret', Buffer.from('the secret'))
    const [from, to] = [await sftp.open('/memory/secret', reads), await sftp.open('/memory/copy', writes | creates)]
    const end = uint64(2n ** 64n - 1n)
    await done(sftp.raw.request(200, text('copy-data'), from, uint64(0), end, to, uint64(0)))
    await sftp.close(from)
    await sftp.close(to)
    await app.app.services.audit.flush()
    const { auditEvents } = await app.ask('{ auditEvents(first: 20) { nodes { action path bytes } } }', {}, token)
    t.hasStrict(auditEvents.nodes.filter(({ action }: { action: string }) => action === 'DOWNLOAD')[0], {
      path: '/secret',
      bytes: 10,
    } as never)
  })

  await t.test('open files end with the right to them', async t => {
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
    const member = await app.register(`${randomUUID()}@example.org`)
    await app.ask(update, { input: { userId: member.id, role: 'EDITOR' } }, token)
    const theirs = await app.createKey(member.token, { name: 'sftp', scopes: ['write'] })
    await put('/memory/large', content)
    await put('/memory/small', Buffer.from('small'))
    const client = await start(t, theirs.key)
    const handles = [
      await client.open('/memory/small', reads),
      await client.open('/memory/large', reads),
      await client.open('/memory/small', reads | writes),
    ]
    for (const handle of handles) t.ok(await client.read(handle, 0, 5))
    const providerAccess = { restrictions: [{ providerId, basePath: '/elsewhere' }] }
    await app.ask(update, { input: { userId: member.id, providerAccess } }, token)
    for (const [n, handle] of handles.entries()) {
      await until(async () => {
        const { status } = await client.raw.request(5, handle, uint64(0), uint32(5))
        return status === 3 || `handle ${n}: ${status}`
      })
    }
    t.match(await client.raw.request(6, handles[2] ?? Buffer.alloc(0), uint64(0), text('x')), { status: 3 })
  })

  await atNight(t, 'a renamed file follows the rights to where it is', async t => {
    const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { role } }'
    const member = await app.register(`${randomUUID()}@example.org`)
    await app.ask(update, { input: { userId: member.id, role: 'EDITOR' } }, token)
    const allow = (...paths: string[]) => {
      const providerAccess = { restrictions: paths.map(basePath => ({ providerId, basePath })) }
      return app.ask(update, { input: { userId: member.id, providerAccess } }, token)
    }
    for (const path of ['/memory/from', '/memory/to']) await done(sftp.raw.request(14, text(path), noAttributes))
    await allow('/from', '/to')
    const theirs = await app.createKey(member.token, { name: 'sftp', scopes: ['write'] })
    const client = await start(t, theirs.key)
    const moved = async (name: string) => {
      const handle = await client.open(`/memory/from/${name}`, reads | writes | creates)
      await client.write(handle, 0, Buffer.from('moved'))
      await done(client.raw.request(18, text(`/memory/from/${name}`), text(`/memory/to/${name}`)))
      return handle
    }
    const [kept, ended] = [await moved('kept'), await moved('ended')]
    const stays = await client.open('/memory/from/stays', reads | writes | creates)
    const read = (handle: Buffer) => client.raw.request(5, handle, uint64(0), uint32(5))
    const loses = (handle: Buffer) =>
      until(async () => {
        const { status } = await read(handle)
        return status === 3 || `status ${status}`
      })
    await allow('/to')
    await loses(stays)
    t.equal((await read(kept)).type, 103, 'nobody needs the right to where it was')
    await client.write(kept, 5, Buffer.from(' and changed'))
    await client.close(kept)
    t.equal(await sftp.size('/memory/to/kept'), 17)
    await allow('/from')
    await loses(ended)
    t.match(await client.raw.request(4, ended), { status: 3 })
    t.equal(await sftp.size('/memory/to/ended'), 5)
  })

  await t.test('a handle that opens after the end of its session goes', async t => {
    const handles = new Handles('a member')
    await handles.closeAll(new Error('gone'))
    let closed = 0
    const pages = {
      next: async () => null,
      async close() {
        closed += 1
      },
    }
    const add = () => handles.add(async () => ({ kind: 'folder', waiting: [], pages, turns: new Turns() }))
    await t.rejects(add(), /gone/)
    t.equal(closed, 1)
    // Each one frees its place, of which a session has 256.
    for (let n = 0; n < 256; n += 1) await t.rejects(add(), /gone/)
  })

  t.test('a lock is a refusal', async t => t.equal(statusOf(new AppError('LOCKED')), 3))

  t.test('nothing else of it is a fault of the server', async t => t.same(endpoint.faults, []))
})
