/** Reads and writes at any position, and the order of what a client sends without waiting. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { createMemoryAdapter } from '../../adapters/backends/memory/index.ts'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { withMethods } from '../../adapters/name-rules.ts'
import { atNight, extent } from '../support/extent.ts'
import { randomNumbers } from '../support/random.ts'
import { until } from '../support/until.ts'
import { connectSsh, done, RawSftp, SftpClient, startWithSftp, text, uint32, uint64 } from './server.ts'

t.setTimeout(300_000)

const [writes, creates, truncates, isNew, reads, appends] = [2, 8, 16, 32, 1, 4]
const mebibyte = 1024 * 1024

t.test('files of a storage', async t => {
  const { app, token, root, providerId, key, endpoint } = await startWithSftp(t, { settings: { trashDays: 30 } })
  await app.connectProvider(token, 'memory', {}, 'Memory')
  const ssh = await connectSsh(t, endpoint, { password: key })
  const sftp = new SftpClient(await RawSftp.start(ssh))
  const onDisk = (name: string) => readFile(join(root, name))

  t.test('the server announces the extensions of OpenSSH', async t => {
    const raw = await RawSftp.open(ssh)
    const extensions = await raw.begin()
    t.same(
      [...extensions],
      [
        ['posix-rename@openssh.com', '1'],
        ['statvfs@openssh.com', '2'],
        ['fsync@openssh.com', '1'],
        ['limits@openssh.com', '1'],
        ['copy-data', '1'],
      ],
    )
    const limits = await raw.request(200, text('limits@openssh.com'))
    t.ok(limits.rest.readBigUInt64BE(8) >= 32_768n)
    t.equal((await raw.request(200, text('hardlink@openssh.com'), text('/files/a'), text('/files/b'))).status, 8)
    t.equal((await raw.request(20, text('/files/a'), text('/files/b'))).status, 8, 'SYMLINK')
    t.equal((await raw.request(19, text('/files/a'))).status, 8, 'READLINK')
  })

  atNight(t, 'writes in any order give the file that a disk would have', async t => {
    const random = randomNumbers(7)
    const upTo = (max: number) => Math.floor(random() * max)
    // Within the memory, across the stream, beyond the window, and over bytes that are sent already.
    const sizes = [5000, 9 * mebibyte, 3 * mebibyte]
    for (const [index, size] of sizes.slice(0, extent({ gate: 2, nightly: 3 })).entries()) {
      const expected = Buffer.alloc(size)
      const name = `random-${index}`
      const handle = await sftp.open(`/files/${name}`, writes | creates | truncates)
      let end = 0
      for (let n = 0; n < 40; n += 1) {
        const isNext = random() < 0.6
        const position = isNext ? Math.min(end, size - 1) : upTo(size)
        const bytes = randomBytes(Math.min(1 + upTo(200_000), size - position))
        bytes.copy(expected, position)
        end = Math.max(end, position + bytes.length)
        await sftp.write(handle, position, bytes)
      }
      await sftp.close(handle)
      t.ok((await onDisk(name)).equals(expected.subarray(0, end)), `${size} bytes`)
    }
  })

  t.test('writes that are sent without waiting arrive in pieces', async t => {
    const content = randomBytes(4 * mebibyte)
    const handle = await sftp.open('/files/pieces', writes | creates | truncates)
    const piece = 100_000
    const positions = Array.from({ length: Math.ceil(content.length / piece) }, (_, n) => n * piece)
    // Neighbors change places, as with clients that send from several threads.
    for (let n = 0; n + 1 < positions.length; n += 2) {
      ;[positions[n], positions[n + 1]] = [positions[n + 1] ?? 0, positions[n] ?? 0]
    }
    await Promise.all(positions.map(at => sftp.write(handle, at, content.subarray(at, at + piece))))
    await sftp.close(handle)
    t.ok((await onDisk('pieces')).equals(content))
  })

  t.test('a file is visible to others once it is closed, and to its session before', async t => {
    const handle = await sftp.open('/files/partial', writes | creates | isNew)
    await sftp.write(handle, 0, Buffer.from('partial'))
    t.equal(await sftp.size('/files/partial'), 7)
    t.notOk((await readdir(root)).includes('partial'))
    await sftp.close(handle)
    t.same(await onDisk('partial'), Buffer.from('partial'))
    await t.rejects(sftp.open('/files/partial', writes | creates | isNew), /4: .*ALREADY_EXISTS/)
    await t.rejects(sftp.open('/files/none', writes), /2: .*NOT_FOUND/)
    await t.rejects(sftp.open('/files/none/file', writes | creates), /2: There is no folder "\/none"/)
    await t.rejects(sftp.open('/files', writes | creates), /NOT_A_FILE|ROOT_IS_FIXED/)
  })

  t.test('fsync stores what was written so far', async t => {
    const handle = await sftp.open('/files/synced', writes | creates | truncates)
    await sftp.write(handle, 0, Buffer.from('one'))
    await done(sftp.raw.request(200, text('fsync@openssh.com'), handle))
    t.same(await onDisk('synced'), Buffer.from('one'))
    await sftp.write(handle, 3, Buffer.from(' two'))
    await sftp.close(handle)
    t.same(await onDisk('synced'), Buffer.from('one two'))
    const again = await sftp.open('/files/synced', writes)
    for (const [position, letter] of [
      [0, 'O'],
      [4, 'T'],
    ] as const) {
      await sftp.write(again, position, Buffer.from(letter))
      await done(sftp.raw.request(200, text('fsync@openssh.com'), again))
    }
    t.same(await onDisk('synced'), Buffer.from('One Two'))
    await sftp.close(again)
  })

  t.test('an existing file is changed, appended to and cut in place', async t => {
    for (const storage of ['files', 'memory']) {
      const path = `/${storage}/changed`
      await sftp.put(path, Buffer.from('0123456789'))
      const both = await sftp.open(path, reads | writes)
      t.same(await sftp.read(both, 2, 3), Buffer.from('234'))
      await sftp.write(both, 4, Buffer.from('xy'))
      t.same(await sftp.read(both, 0, 100), Buffer.from('0123xy6789'))
      t.equal(await sftp.read(both, 10, 1), null)
      await sftp.close(both)
      const added = await sftp.open(path, writes | appends)
      await sftp.write(added, 0, Buffer.from('!'))
      await sftp.close(added)
      await done(sftp.raw.request(9, text(path), uint32(1), uint64(5)))
      const again = await sftp.open(path, reads)
      t.same(await sftp.read(again, 0, 100), Buffer.from('0123x'), storage)
      await sftp.close(again)
    }
  })

  t.test('a change of another client is not overwritten with older content', async t => {
    await sftp.put('/files/raced', Buffer.from('old'))
    const handle = await sftp.open('/files/raced', writes)
    await sftp.write(handle, 1, Buffer.from('X'))
    await writeFile(join(root, 'raced'), 'newer content')
    await t.rejects(sftp.close(handle), /PRECONDITION_FAILED/)
    t.same(await onDisk('raced'), Buffer.from('newer content'))
  })

  atNight(t, 'reads at any position return the content', async t => {
    const content = randomBytes(3 * mebibyte)
    const random = randomNumbers(3)
    for (const storage of extent({ gate: ['files'], nightly: ['files', 'memory'] })) {
      await sftp.put(`/${storage}/content`, content.subarray(0, 200_000))
      const more = await sftp.open(`/${storage}/content`, writes | appends)
      for (let at = 200_000; at < content.length; at += 200_000) {
        await sftp.write(more, 0, content.subarray(at, at + 200_000))
      }
      await sftp.close(more)
      const handle = await sftp.open(`/${storage}/content`, reads)
      const inOrder = Array.from({ length: 97 }, (_, n) => n * 32_768)
      const parts = await Promise.all(inOrder.map(at => sftp.read(handle, at, 32_768)))
      t.ok(Buffer.concat(parts.map(part => part ?? Buffer.alloc(0))).equals(content), `${storage} in order`)
      for (let n = 0; n < 30; n += 1) {
        const [at, length] = [Math.floor(random() * content.length), 1 + Math.floor(random() * 100_000)]
        const part = await sftp.read(handle, at, length)
        if (!part?.equals(content.subarray(at, at + length))) t.fail(`${storage}: ${length} bytes at ${at}`)
      }
      t.equal(await sftp.read(handle, content.length + 5, 10), null)
      await sftp.close(handle)
    }
  })

  t.test('copy-data copies between open files', async t => {
    await sftp.put('/files/source', Buffer.from('the source'))
    const [from, to] = [await sftp.open('/files/source', reads), await sftp.open('/memory/copied', writes | creates)]
    await done(sftp.raw.request(200, text('copy-data'), from, uint64(4), uint64(0), to, uint64(0)))
    await sftp.close(from)
    await sftp.close(to)
    t.equal(await sftp.size('/memory/copied'), 6)
    const again = await sftp.open('/files/source', reads)
    const adding = await sftp.open('/memory/copied', writes | appends)
    await done(sftp.raw.request(200, text('copy-data'), again, uint64(0), uint64(0), adding, uint64(0)))
    await sftp.close(again)
    await sftp.close(adding)
    t.equal(await sftp.size('/memory/copied'), 16, 'a handle that appends writes at the end')
  })

  t.test('changes that are sent without waiting happen in their order', async t => {
    const { raw } = sftp
    const replies = [
      raw.request(14, text('/files/a'), uint32(0)),
      raw.request(14, text('/files/a/b'), uint32(0)),
      raw.request(18, text('/files/a'), text('/files/c')),
      raw.request(17, text('/files/c/b')),
      raw.request(15, text('/files/c/b')),
      raw.request(15, text('/files/c')),
      raw.request(17, text('/files/c')),
    ]
    const found = await Promise.all(replies)
    t.same(
      found.map(({ status }) => status),
      [0, 0, 0, null, 0, 0, 2],
    )
  })

  t.test('renaming replaces only if the client asks for it', async t => {
    await sftp.put('/files/upload.filepart', Buffer.from('new'))
    await sftp.put('/files/upload', Buffer.from('old'))
    const paths = [text('/files/upload.filepart'), text('/files/upload')]
    t.match(await sftp.raw.request(18, ...paths), { status: 4, message: /ALREADY_EXISTS/ })
    await done(sftp.raw.request(200, text('posix-rename@openssh.com'), ...paths))
    t.same(await onDisk('upload'), Buffer.from('new'))
  })

  t.test('times are set, and deleted files go to the trash', async t => {
    await sftp.put('/files/timed', Buffer.from('x'))
    await done(sftp.raw.request(9, text('/files/timed'), uint32(8), uint32(1_000_000_000), uint32(1_000_000_000)))
    t.equal(Math.floor((await stat(join(root, 'timed'))).mtimeMs / 1000), 1_000_000_000)
    const large = await sftp.open('/files/large-timed', writes | creates | truncates)
    for (let at = 0; at < 2 * mebibyte; at += 200_000) await sftp.write(large, at, randomBytes(200_000))
    await done(sftp.raw.request(10, large, uint32(8), uint32(1_000_000_000), uint32(1_000_000_000)))
    await sftp.close(large)
    t.equal(
      Math.floor((await stat(join(root, 'large-timed'))).mtimeMs / 1000),
      1_000_000_000,
      'after the upload has begun',
    )
    await done(sftp.raw.request(13, text('/files/timed')))
    const items = await app.ask(
      'query ($id: ID!) { trash(providerId: $id) { nodes { originalPath } } }',
      { id: providerId },
      token,
    )
    t.same(items.trash.nodes, [{ originalPath: '/timed' }])
  })

  t.test('nothing is stored of a file whose connection is lost', async t => {
    const other = await connectSsh(t, endpoint, { password: key })
    const lost = new SftpClient(await RawSftp.start(other))
    const handle = await lost.open('/files/lost', writes | creates | truncates)
    for (let n = 0; n < 20; n += 1) await lost.write(handle, n * 200_000, randomBytes(200_000))
    other.destroy()
    await app.app.services.audit.flush()
    await until(async () => {
      const { auditEvents } = await app.ask('{ auditEvents(first: 20) { nodes { action path result } } }', {}, token)
      return auditEvents.nodes.some(({ path }: { path: string | null }) => path === '/lost') || 'no event yet'
    })
    t.notOk((await readdir(root)).includes('lost'))
  })

  t.test('nothing of it is a fault of the server', async t => t.same(endpoint.faults, []))
})

atNight(t, 'a stream of the back end that breaks off is opened once more', async t => {
  const content = randomBytes(mebibyte)
  const opened: number[] = []
  // Each body ends with an error after 300 KB, as those of a back end that closes idle connections.
  const breaking = {
    ...createMemoryAdapter(100 * mebibyte),
    async open() {
      const provider = new MemoryProvider(100 * mebibyte)
      return withMethods(provider as StorageProvider, {
        async read(path, options) {
          const { body, entry } = await provider.read(path, options)
          opened.push(options.range?.offset ?? 0)
          return { body: Readable.from(cut(body)), entry }
        },
      })
    },
  }
  const { key, endpoint } = await startWithSftp(t, { adapters: [breaking] as never }, 'memory')
  const sftp = new SftpClient(await RawSftp.start(await connectSsh(t, endpoint, { password: key })))
  const handle = await sftp.open('/memory/file', writes | creates)
  for (let at = 0; at < content.length; at += 200_000) await sftp.write(handle, at, content.subarray(at, at + 200_000))
  await sftp.close(handle)
  const reading = await sftp.open('/memory/file', reads)
  const parts: Buffer[] = []
  for (let at = 0; at < content.length; at += 100_000) {
    parts.push((await sftp.read(reading, at, 100_000)) ?? Buffer.alloc(0))
  }
  t.ok(Buffer.concat(parts).equals(content))
  t.same(opened[0], 0)
  t.ok(opened.length > 2 && opened.length < 8, `${opened}`)
  await sftp.close(reading)
})

async function* cut(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of body) {
    if (bytes > 300_000) throw new Error('The connection is lost')
    bytes += chunk.length
    yield chunk
  }
}
