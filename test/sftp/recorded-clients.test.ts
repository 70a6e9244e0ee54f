/**
 * Clients of Windows as they talk: the packets that they send, with their flags, attributes and order. The facts come from their sources:
 *
 * - WinSCP: `source/core/SftpFileSystem.cpp` of github.com/winscp/winscp. `DoStartup` begins with version 6; `ReadDirectory` asks for the next
 *   names before it has read the first ones; `Source` stores a large file as `.filepart`, sends CLOSE before the responses to its WRITEs,
 *   removes the old file and renames; `SFTPOpenRemote` opens a small file with EXCL and the size; `Sink` reads without waiting.
 * - FileZilla: its `fzsftp` is PuTTY's psftp (`psftp.c` and `sftp.c` of PuTTY). `sftp_cmd_cd` opens a folder to see whether it is there;
 *   `sftp_put_file` writes 16 KiB at a time; `xfer_download_queue` reads 32 KiB at a time, also beyond the end; `sftp_action_chmtime` sets
 *   both times after STAT.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { atNight } from '../support/extent.ts'
import { connectSsh, RawSftp, type Reply, startWithSftp, text, textAt, uint32, uint64 } from './server.ts'

const types = {
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  realpath: 16,
  stat: 17,
  rename: 18,
  extended: 200,
} as const
const flags = { read: 1, write: 2, create: 8, truncate: 16, exclusive: 32 } as const
const [ok, endOfFile, noSuchFile, failure] = [0, 1, 2, 4]
const [handleType, dataType, nameType, attributesType] = [102, 103, 104, 105]
/** What comes before the times: no size, no owner and no permissions. */
const onlyTimes = 8
const seconds = 1_000_000_000

t.test('recorded clients', async t => {
  const { root, key, endpoint } = await startWithSftp(t)
  const open = async (t: Parameters<typeof connectSsh>[0], version: number) => {
    const raw = await RawSftp.open(await connectSsh(t, endpoint, { password: key }))
    await raw.begin(version)
    return raw
  }
  const timeOf = async (name: string) => Math.floor((await stat(join(root, name))).mtimeMs / 1000)

  t.test('WinSCP', async t => {
    const raw = await open(t, 6)
    t.equal(pathIn(await raw.request(types.realpath, text('.'))), '/')
    t.same(await listAhead(raw, '/'), ['files'])
    t.equal(pathIn(await raw.request(types.realpath, text('/files'))), '/files')
    t.equal((await raw.request(types.lstat, text('/files'))).type, attributesType)
    t.same(await listAhead(raw, '/files'), [])
    t.equal((await raw.request(types.lstat, text('/files/..'))).type, attributesType, 'for an empty list')

    // A large file replaces another one.
    const content = randomBytes(500_000)
    await writeFile(join(root, 'report.pdf'), 'old')
    const [final, part] = [text('/files/report.pdf'), text('/files/report.pdf.filepart')]
    t.equal((await raw.request(types.lstat, final)).type, attributesType)
    t.equal((await raw.request(types.lstat, part)).status, noSuchFile)
    const replacing = flags.write | flags.create | flags.truncate
    const opened = await raw.request(types.open, part, uint32(replacing), uint32(1), uint64(content.length))
    t.same(
      (await store(raw, opened, content, 32_739)).map(({ status }) => status),
      Array(17).fill(ok),
    )
    t.equal((await raw.request(types.remove, final)).status, ok)
    t.equal((await raw.request(types.rename, part, final)).status, ok)
    const properties = [uint32(4 | onlyTimes), uint32(0o644), uint32(seconds), uint32(seconds)]
    t.equal((await raw.request(types.setstat, final, ...properties)).status, ok)
    t.ok((await readFile(join(root, 'report.pdf'))).equals(content))
    t.equal(await timeOf('report.pdf'), seconds)
    t.notOk((await readdir(root)).includes('report.pdf.filepart'))

    // A small file, which is there already: the times follow CLOSE without waiting for it.
    await writeFile(join(root, 'note.txt'), 'an older note')
    const note = text('/files/note.txt')
    const [size, letters] = [[uint32(1), uint64(4)], Buffer.from('note')]
    t.equal((await raw.request(types.open, note, uint32(replacing | flags.exclusive), ...size)).status, failure)
    t.equal((await raw.request(types.lstat, note)).type, attributesType)
    const small = await raw.request(types.open, note, uint32(replacing), ...size)
    const replies = await store(raw, small, letters, 32_739, () =>
      raw.request(types.setstat, note, uint32(onlyTimes), uint32(seconds), uint32(seconds)),
    )
    t.same(
      replies.map(({ status }) => status),
      [ok, ok, ok],
    )
    t.equal(await readFile(join(root, 'note.txt'), 'utf8'), 'note')
    t.equal(await timeOf('note.txt'), seconds)

    // A download.
    const { rest: reading } = await raw.request(types.open, final, uint32(flags.read), uint32(0))
    t.equal((await raw.request(types.fstat, reading)).type, attributesType)
    t.ok((await readAll(raw, reading, content.length, 32_768)).equals(content))
    t.equal((await raw.request(types.extended, text('statvfs@openssh.com'), text('/files'))).type, 201)
  })

  await atNight(t, 'FileZilla', async t => {
    const raw = await open(t, 3)
    t.equal(pathIn(await raw.request(types.realpath, text('.'))), '/')
    t.equal((await raw.request(types.mkdir, text('/files/zilla'), uint32(0))).status, ok)
    t.equal(pathIn(await raw.request(types.realpath, text('/files/zilla'))), '/files/zilla')
    const looked = await raw.request(types.opendir, text('/files/zilla'))
    t.equal(looked.type, handleType)
    t.equal((await raw.request(types.close, looked.rest)).status, ok)

    const [path, content] = [text('/files/zilla/photo.jpg'), randomBytes(100_000)]
    t.equal(pathIn(await raw.request(types.realpath, path)), '/files/zilla/photo.jpg', 'of a new file')
    const mode = [uint32(flags.write | flags.create | flags.truncate), uint32(4), uint32(0o644)]
    const opened = await raw.request(types.open, path, ...mode)
    t.same(
      (await store(raw, opened, content, 16_384)).map(({ status }) => status),
      Array(8).fill(ok),
    )
    t.equal((await raw.request(types.stat, path)).type, attributesType)
    t.equal((await raw.request(types.setstat, path, uint32(onlyTimes), uint32(1), uint32(seconds))).status, ok)
    t.equal(await timeOf('zilla/photo.jpg'), seconds)

    const { rest: folder } = await raw.request(types.opendir, text('/files/zilla'))
    t.same(namesIn(await raw.request(types.readdir, folder)), ['photo.jpg'])
    t.equal((await raw.request(types.readdir, folder)).status, endOfFile)
    t.equal((await raw.request(types.close, folder)).status, ok)

    t.equal((await raw.request(types.stat, path)).type, attributesType)
    const { rest: reading } = await raw.request(types.open, path, uint32(flags.read), uint32(0))
    t.ok((await readAll(raw, reading, content.length, 32_768)).equals(content))

    // It goes on with an upload that was interrupted.
    const { rest: more } = await raw.request(types.open, path, uint32(flags.write), uint32(4), uint32(0o644))
    t.equal((await raw.request(types.fstat, more)).type, attributesType)
    t.equal((await raw.request(types.write, more, uint64(content.length), text('more'))).status, ok)
    t.equal((await raw.request(types.close, more)).status, ok)
    t.equal((await stat(join(root, 'zilla/photo.jpg'))).size, content.length + 4)
    t.equal((await raw.request(types.rename, path, text('/files/zilla/picture.jpg'))).status, ok)
    t.equal((await raw.request(types.remove, text('/files/zilla/picture.jpg'))).status, ok)
  })

  t.test('nothing of it is a fault of the server', async t => t.same(endpoint.faults, []))
})

/** Sends all WRITEs, CLOSE, and what follows, and then waits for the responses. */
async function store(
  raw: RawSftp,
  { rest: handle }: Reply,
  content: Buffer,
  piece: number,
  follow?: () => Promise<Reply>,
): Promise<Reply[]> {
  const sent: Promise<Reply>[] = []
  for (let at = 0; at < content.length; at += piece) {
    sent.push(raw.request(types.write, handle, uint64(at), text(content.subarray(at, at + piece))))
  }
  sent.push(raw.request(types.close, handle))
  if (follow) sent.push(follow())
  return Promise.all(sent)
}

/** Sends all READs, some of them beyond the end, and CLOSE before their responses. */
async function readAll(raw: RawSftp, handle: Buffer, size: number, piece: number): Promise<Buffer> {
  const sent: Promise<Reply>[] = []
  for (let at = 0; at < size + 4 * piece; at += piece) {
    sent.push(raw.request(types.read, handle, uint64(at), uint32(piece)))
  }
  const closed = raw.request(types.close, handle)
  const replies = await Promise.all(sent)
  const beyond = replies.slice(Math.ceil(size / piece))
  if (beyond.some(({ status }) => status !== endOfFile)) throw new Error('a READ beyond the end had another result')
  if ((await closed).status !== ok) throw new Error('CLOSE failed')
  return Buffer.concat(replies.filter(({ type }) => type === dataType).map(({ rest }) => rest.subarray(4)))
}

/** Lists a folder, and asks for the next names before it reads the first ones. */
async function listAhead(raw: RawSftp, path: string): Promise<string[]> {
  const { rest: handle } = await raw.request(types.opendir, text(path))
  const names: string[] = []
  let next = raw.request(types.readdir, handle)
  for (;;) {
    const reply = await next
    if (reply.type !== nameType) {
      if (reply.status !== endOfFile) throw new Error(`READDIR failed: ${reply.message}`)
      void raw.request(types.close, handle)
      return names
    }
    next = raw.request(types.readdir, handle)
    names.push(...namesIn(reply))
  }
}

/** Returns the names of a response, without their lines and attributes: size, owner, permissions and times. */
function namesIn({ rest }: Reply): string[] {
  const names: string[] = []
  let at = 4
  for (let left = rest.readUInt32BE(); left > 0; left -= 1) {
    const [name, afterName] = textAt(rest, at)
    const [, afterLine] = textAt(rest, afterName)
    names.push(name)
    const hasSize = (rest.readUInt32BE(afterLine) & 1) !== 0
    at = afterLine + 4 + (hasSize ? 8 : 0) + 20
  }
  return names
}

function pathIn({ rest }: Reply): string {
  return textAt(rest, 4)[0]
}
