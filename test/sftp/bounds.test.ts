/** Bad input, and the bounds on connections, attempts and what a session has open. */
import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import ssh2, { type Client } from 'ssh2'
import t, { type Test } from 'tap'
import { AppError } from '../../src/errors.ts'
import { atNight, extent } from '../support/extent.ts'
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

t.test('bad input and bounds', async t => {
  const { app, token, key, endpoint } = await startWithSftp(t)
  const session = async (t: Test) => RawSftp.start(await connectSsh(t, endpoint, { password: key }))

  t.test('a malformed packet ends the session', async t => {
    const length = (bytes: number) => uint32(bytes)
    const packets: Record<string, Buffer> = {
      'a packet of 4 GB': length(0xffffffff),
      'a packet of more than 256 KiB': length(256 * 1024 + 1),
      'an empty packet': length(0),
      'a packet without an id': Buffer.concat([length(1), Buffer.from([17])]),
      'a path of 4 GB': Buffer.concat([length(9), Buffer.from([17]), uint32(1), length(0xffffffff)]),
    }
    for (const [what, bytes] of Object.entries(packets)) {
      const raw = await session(t)
      raw.channel.write(bytes)
      const { type } = await raw.request(17, text('/files'))
      t.equal(type, 0, what)
    }
    const raw = await RawSftp.open(await connectSsh(t, endpoint, { password: key }))
    t.equal((await raw.request(17, text('/files'))).type, 0, 'a session without INIT')
  })

  t.test('other wrong input is refused, and the session goes on', async t => {
    const raw = await session(t)
    const cases: [what: string, type: number, fields: Buffer[], status: number][] = [
      ['an unknown type', 99, [], 8],
      ['an unknown extension', 200, [text('more@example.com'), uint64(1)], 8],
      ['an unknown handle', 4, [text('77')], 4],
      ['a name that is not UTF-8', 17, [text(Buffer.from([0x2f, 0xff]))], 4],
      ['a path that is too long', 17, [text(`/${'a'.repeat(5000)}`)], 4],
      ['a handle that is too long', 4, [text('1'.repeat(33))], 4],
      ['more fields than there are', 4, [text('1'), uint64(0)], 4],
      ['a position beyond 2^53', 5, [text('1'), uint64(1n << 60n), uint32(1)], 4],
      ['a thousand attributes', 9, [text('/f'), uint32(0x80000000), uint32(1000), uint32(0)], 4],
      ['a missing storage', 17, [text('/none')], 2],
      ['a file at the root', 3, [text('/new'), uint32(10), noAttributes], 2],
      ['a folder at the root', 14, [text('/new'), noAttributes], 2],
      ['deleting a storage', 15, [text('/files')], 4],
      ['renaming a storage', 18, [text('/files'), text('/others')], 4],
    ]
    for (const [what, type, fields, status] of cases) t.match(await raw.request(type, ...fields), { status }, what)
    t.equal((await raw.request(17, text('/files/../files/./'))).status, null)
  })

  t.test('a session has a bounded number of open files', async t => {
    const raw = await session(t)
    const sftp = new SftpClient(raw)
    await sftp.put('/files/one', Buffer.from('1'))
    const opened = await Promise.all(
      Array.from({ length: 1000 }, () => raw.request(3, text('/files/one'), uint32(1), noAttributes)),
    )
    const handles = opened.filter(({ type }) => type === 102)
    t.equal(handles.length, 256)
    t.match(
      opened.find(({ type }) => type !== 102),
      { status: 4, message: /close one first/ },
    )
    await sftp.close(handles[0]?.rest ?? Buffer.alloc(0))
    await sftp.close(await sftp.open('/files/one', 1))
    raw.channel.end()
  })

  atNight(t, '256 reads and writes count as one request, and wait for the rate limit', async t => {
    const { requestLimits } = app.app.services
    const { countMember } = requestLimits
    t.teardown(() => {
      requestLimits.countMember = countMember
    })
    const limit = { counted: 0, refused: 0, isReached: false }
    requestLimits.countMember = viewer => {
      if (limit.isReached) {
        limit.refused += 1
        throw new AppError('RATE_LIMITED', 'Too many requests.', { retryAfterMs: 20 })
      }
      countMember(viewer)
      limit.counted += 1
    }
    const client = new SftpClient(await session(t))
    const counts = async (work: () => Promise<unknown>) => {
      const before = limit.counted
      await work()
      return limit.counted - before
    }
    const times = (count: number, request: (index: number) => Promise<unknown>) =>
      Promise.all(Array.from({ length: count }, (_, index) => request(index)))

    let handle = await client.open('/files/counted', 2 | 8 | 16)
    const write = (index: number) => client.write(handle, index, Buffer.from('a'))
    t.equal(await counts(() => times(255, write)), 0, '255 writes')
    t.equal(await counts(() => write(255)), 1, 'one more')
    t.equal(await counts(() => client.close(handle)), 1, 'CLOSE')
    t.equal(await counts(async () => (handle = await client.open('/files/counted', 1))), 1, 'OPEN')
    const read = () => client.read(handle, 0, 1)
    t.equal(await counts(() => times(512, read)), 2, '512 reads')

    limit.isReached = true
    let answered = 0
    const reads = times(300, async () => {
      t.same(await read(), Buffer.from('a'))
      answered += 1
    })
    await until(() => answered >= 256 && limit.refused > 10)
    t.equal(answered, 256, 'the reads after the limit wait')
    limit.isReached = false
    await reads
    await client.close(handle)
  })

  t.test('wrong keys are refused, and end the connection after some attempts', async t => {
    const wrong = `stw_${'0'.repeat(40)}`
    for (const password of [wrong, 'a password', '']) {
      await t.rejects(connectSsh(t, endpoint, { password }), /authentication methods failed/)
    }
    const socket = connectSocket(endpoint.port, endpoint.host)
    t.teardown(() => socket.destroy())
    let attempts = 0
    const client = new ssh2.Client()
    client.on('error', () => {})
    client.connect({
      sock: socket,
      username: 'x',
      // One attempt after another, without an end.
      authHandler: (_left, _partial, next) => {
        attempts += 1
        next({ type: 'password', username: 'x', password: wrong })
      },
    })
    await once(client, 'close')
    t.ok(attempts <= 7, `${attempts} attempts`)
  })

  t.test('a key is also the answer to a question', async t => {
    const connect = (answers: string[]) => {
      const client = new ssh2.Client()
      t.teardown(() => client.destroy())
      client.on('keyboard-interactive', (_name, instructions, _language, prompts, finish) => {
        t.match([instructions, prompts], [/API key/, [{ prompt: 'Password: ', echo: false }]])
        finish(answers)
      })
      client.connect({ ...endpoint, username: 'x', tryKeyboard: true, authHandler: ['keyboard-interactive'] })
      return once(client, 'ready')
    }
    await connect([key])
    for (const answers of [['a password'], [], [`stw_${'0'.repeat(40)}`]])
      await t.rejects(connect(answers), /authentication methods failed/)
  })

  t.test('a revoked key loses its connections', async t => {
    const made = await app.createKey(token, { name: 'to revoke', scopes: ['write'] })
    const client = await connectSsh(t, endpoint, { password: made.key })
    const sftp = new SftpClient(await RawSftp.start(client))
    await sftp.put('/files/kept', Buffer.from('kept'))
    const open = await sftp.open('/files/kept', 1)
    const handle = await sftp.open('/files/never', 2 | 8)
    await sftp.write(handle, 0, Buffer.from('never'))
    const closed = once(client, 'close')
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: made.id }, token)
    const late = await sftp.raw.request(3, text('/files/kept'), uint32(1), noAttributes)
    t.ok(late.status === 3 || late.type === 0, 'nothing more is opened')
    await closed
    t.equal((await sftp.raw.request(5, open, uint64(0), uint32(1))).type, 0)
    await t.rejects(connectSsh(t, endpoint, { password: made.key }), /authentication methods failed/)
  })

  t.test('old algorithms are not offered', async t => {
    const old = {
      kex: ['diffie-hellman-group14-sha1', 'diffie-hellman-group16-sha512'],
      cipher: ['aes128-cbc', '3des-cbc', 'aes128-ctr'],
      hmac: ['hmac-sha1', 'hmac-md5'],
      serverHostKey: ['ssh-rsa', 'rsa-sha2-512'],
      compress: ['zlib@openssh.com', 'zlib'],
    }
    for (const [name, list] of Object.entries(old)) {
      for (const one of list) {
        // HMACs matter only for a cipher that does not authenticate by itself.
        const algorithms = { ...(name === 'hmac' && { cipher: ['aes256-ctr'] }), [name]: [one] }
        await t.rejects(
          connectSsh(t, endpoint, { password: key, algorithms } as never),
          { level: 'handshake' } as never,
          one,
        )
      }
    }
  })

  t.test('a handshake that does not end is closed', async t => {
    const hasty = await serveSftp(t, app, { loginTime: 300 })
    const ends = (socket: Socket) => once(socket.on('error', () => {}).resume(), 'close')
    const silent = connectSocket(hasty.port, hasty.host)
    const half = connectSocket(hasty.port, hasty.host)
    half.write('SSH-2.0-half\r\n\0\0\0\x10')
    // The server waits for the algorithms of a client of OpenSSH.
    const waiting = connectSocket(hasty.port, hasty.host)
    waiting.write('SSH-2.0-OpenSSH_9.2\r\n')
    await Promise.all([silent, half, waiting].map(ends))
    const client = await connectSsh(t, hasty, { password: key })
    await new SftpClient(await RawSftp.start(client)).put('/files/after', Buffer.from('x'))
  })

  t.test('connections of one address are bounded', async t => {
    const narrow = await serveSftp(t, app, { connectionLimit: 3 })
    const clients: Client[] = []
    for (let n = 0; n < 3; n += 1) clients.push(await connectSsh(t, narrow, { password: key }))
    const count = extent({ gate: 100, nightly: 10_000 })
    for (let n = 0; n < count; n += 100) {
      const sockets = Array.from({ length: 100 }, () => connectSocket(narrow.port, narrow.host).on('error', () => {}))
      await Promise.all(sockets.map(socket => once(socket.resume(), 'close')))
    }
    await done((await RawSftp.start(clients[0] as Client)).request(17, text('/')))
    const gone = once(clients[1] as Client, 'close')
    clients[1]?.end()
    await gone
    await connectSsh(t, narrow, { password: key })
  })

  t.test('the end of the server closes the connections', async t => {
    const other = await serveSftp(t, app)
    const client = await connectSsh(t, other, { password: key })
    const closed = once(client, 'close')
    await other.close()
    await closed
  })

  t.test('nothing of it is a fault of the server', async t => t.same(endpoint.faults, []))
})
