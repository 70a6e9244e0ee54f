/** Clients that break the rules of SSH below the protocol of SFTP. */
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import ssh2, { type Client, type Connection } from 'ssh2'
import t, { type Test } from 'tap'
import { internalsOf } from '../../src/endpoints/sftp/transport.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import {
  connectSsh,
  noAttributes,
  RawSftp,
  SftpClient,
  type SftpEndpoint,
  serveSftp,
  startWithSftp,
  text,
  uint32,
  uint64,
} from './server.ts'

/** What the tests use of the internals of a client. */
interface Internals {
  _sock: Socket
  _protocol: {
    session(channel: number, window: number, packetSize: number): void
    subsystem(channel: number, name: string, wantsReply: boolean): void
    channelWindowAdjust(channel: number, bytes: number): void
    ping(): void
    rekey(): void
  }
}

interface ChannelInternals {
  outgoing: { id: number; window: number }
}

const internals = (client: Client) => client as unknown as Internals
const channelOf = (raw: RawSftp) => raw.channel as unknown as ChannelInternals

t.setTimeout(300_000)

t.test('transport', async t => {
  const { app, token, root, key, endpoint } = await startWithSftp(t)
  const connect = (t: Test) => connectSsh(t, endpoint, { password: key })

  t.test('a channel with tiny packets is refused', async t => {
    const client = await connect(t)
    const { _protocol: protocol } = internals(client)
    const session = protocol.session.bind(protocol)
    for (const packetSize of [0, 1, 1023]) {
      protocol.session = (channel, window) => session(channel, window, packetSize)
      await t.rejects(RawSftp.open(client), /at least 1024 bytes/)
    }
    protocol.session = (channel, window) => session(channel, window, 1024)
    await new SftpClient(await RawSftp.start(client)).put('/files/packets', Buffer.alloc(5000, 1))
  })

  t.test('a client that sends more than the window ends its connection', async t => {
    const client = await connect(t)
    const raw = await RawSftp.start(client)
    const closed = closing(client)
    channelOf(raw).outgoing.window = Number.POSITIVE_INFINITY
    const one = Buffer.concat([uint32(15), Buffer.from([17]), uint32(1), text('/files')])
    // Packets whose sizes do not add up to the window: `ssh2` drops what follows a window that is used up exactly.
    for (let n = 0; n < 300; n += 1) raw.channel.write(Buffer.alloc(one.length * 1500, one))
    await closed
  })

  await atNight(t, 'a client that takes no answers ends its connection', async t => {
    const client = await connect(t)
    const raw = await RawSftp.start(client)
    await fill(raw, client)
    t.ok(await floods(client, () => internals(client)._protocol.ping()), 'requests for an answer')
  })

  t.test('a client sends little before it has authenticated', async t => {
    const client = new ssh2.Client()
    client.on('error', () => {})
    client.connect({ ...endpoint, username: 'x', authHandler: () => {} })
    await once(client, 'handshake')
    t.ok(await floods(client, () => internals(client)._protocol.ping()))
  })

  await atNight(t, 'a key exchange that does not end holds requests back', async t => {
    const client = await connect(t)
    const raw = await RawSftp.start(client)
    const { _sock: socket, _protocol: protocol } = internals(client)
    socket.pause()
    const folder = (n: number) => raw.request(14, text(`/files/exchange-${n}`), noAttributes)
    const made = Array.from({ length: 150 }, (_, n) => folder(n))
    protocol.rekey()
    const other = new SftpClient(await RawSftp.start(await connect(t)))
    for (let n = 0; n < 20; n += 1) await other.put(`/files/other-${n}`, Buffer.from('x'))
    const count = (await readdir(root)).filter(name => name.startsWith('exchange-')).length
    t.ok(count <= 64, `${count} requests were run`)
    socket.resume()
    t.ok((await Promise.all(made)).every(({ status }) => status === 0))
  })

  t.test('a client that leaves while it authenticates leaves nothing behind', async t => {
    const made = await app.createKey(token, { name: 'leaves', scopes: ['read'] })
    for (let n = 0; n < extent({ gate: 16, nightly: 64 }); n += 16) {
      await Promise.all(Array.from({ length: 16 }, () => leave(endpoint, made.key)))
    }
    await until(() => connectSsh(t, endpoint, { password: made.key }).then(() => true, String))
  })

  t.test('a session has one channel', async t => {
    const client = await connect(t)
    const raw = await RawSftp.start(client)
    const { id } = channelOf(raw).outgoing
    for (let n = 0; n < 20; n += 1) internals(client)._protocol.subsystem(id, 'sftp', n % 2 === 0)
    t.equal((await raw.request(17, text('/files'))).type, 105)
  })

  t.test('a client that leaves with requests under way causes no fault', async t => {
    const client = await connect(t)
    const raw = await RawSftp.start(client)
    for (let n = 0; n < 100; n += 1) void raw.request(14, text(`/files/under-way-${n}`), noAttributes)
    await until(async () => (await readdir(root)).some(name => name.startsWith('under-way')))
    internals(client)._sock.destroy()
    await new SftpClient(await RawSftp.start(await connect(t))).put('/files/later', Buffer.from('x'))
  })

  t.test('connections of a trusted proxy are those of many clients', async t => {
    const behind = await serveSftp(t, app, { connectionLimit: 2, isProxy: () => true })
    for (let n = 0; n < 3; n += 1) await connectSsh(t, behind, { password: key })
  })

  t.test('other internals of ssh2 are noticed', async t => {
    for (const client of [
      {},
      { _sock: {} },
      { _sock: {}, _protocol: { _kexinit: null, channelOpenFail() {}, _handlers: {} } },
    ]) {
      t.throws(() => internalsOf(client as Connection), /different internals/)
    }
  })

  t.test('nothing of it is a fault of the server', async t => t.same(endpoint.faults, []))

  /** Requests more than the buffers of the system keep, and takes nothing of it. */
  async function fill(raw: RawSftp, client: Client): Promise<void> {
    await writeFile(join(root, 'large'), Buffer.alloc(255 * 1024))
    const handle = await new SftpClient(raw).open('/files/large', 1)
    const { _sock: socket, _protocol: protocol } = internals(client)
    protocol.channelWindowAdjust(channelOf(raw).outgoing.id, 1 << 30)
    socket.pause()
    for (let n = 0; n < 200; n += 1) void raw.request(5, handle, uint64(0), uint32(255 * 1024))
  }
})

/** Sends again and again; whether that ends the connection. */
async function floods(client: Client, send: () => void): Promise<boolean> {
  let isClosed = false
  const closed = closing(client).then(() => {
    isClosed = true
  })
  const { _sock: socket } = internals(client)
  for (let n = 0; n < 1000 && !isClosed && !socket.destroyed; n += 1) {
    for (let each = 0; each < 100; each += 1) send()
    await nextTurn()
    if (socket.writableNeedDrain) await Promise.race([drained(socket), closed])
  }
  return isClosed || socket.destroyed
}

/** Sends a key, and leaves before it is looked up. */
async function leave({ host, port }: SftpEndpoint, key: string): Promise<void> {
  const client = new ssh2.Client()
  client.on('error', () => {})
  client.connect({
    host,
    port,
    username: 'x',
    authHandler: (_left, _partial, next) => {
      next({ type: 'password', username: 'x', password: key })
      internals(client)._sock.destroySoon()
    },
  })
  await closing(client)
}

/** `once` would fail with the error that a broken connection emits before. */
function closing(client: Client): Promise<void> {
  return new Promise(resolve => client.once('close', () => resolve()))
}

function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once('drain', resolve))
}
