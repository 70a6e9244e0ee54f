/** The rows of SFTP, which takes API keys alone. */
import { done, noAttributes, type RawSftp, Refused, text, textAt, uint32, uint64 } from '../sftp/server.ts'
import type { Answer } from './api.ts'
import type { Need } from './model.ts'
import type { RouteRow, Target } from './row.ts'

const reads: Need = { who: 'anybody signed in', scope: 'read', where: 'paths' }
const readsWay: Need = { ...reads, where: 'way' }
const writes: Need = { who: 'anybody signed in', scope: 'write', where: 'paths' }

let sessionOf: (key: string) => Promise<RawSftp> = () => Promise.reject(new Error('No server of SFTP is known'))

/** Sets what opens sessions. @param open returns a session for an API key */
export function performOver(open: (key: string) => Promise<RawSftp>): void {
  sessionOf = open
}

const statuses: Record<number, [status: number, code: string]> = {
  2: [404, 'NOT_FOUND'],
  3: [403, 'FORBIDDEN'],
  4: [400, 'BAD_USER_INPUT'],
}

/** Returns the response as that of a REST endpoint. */
async function answerOf(work: Promise<string>): Promise<Answer> {
  try {
    return { status: 200, body: {}, text: await work, errors: [] }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { status, message } = error.reply
    const reason = /\((\w+)\)$/.exec(message)?.[1] ?? ''
    const [code, name] = statuses[status ?? 0] ?? [500, 'INTERNAL_SERVER_ERROR']
    return { status: code, body: {}, text: message, errors: [{ message, extensions: { code: name, reason } }] }
  }
}

const row = (
  rest: Omit<RouteRow, 'call'>,
  work: (sftp: RawSftp, paths: readonly Buffer[], target: Target) => Promise<string>,
): RouteRow => ({
  ...rest,
  call: target => ({
    method: 'SFTP',
    path: '',
    async perform(authorization) {
      const sftp = await sessionOf(authorization?.slice('Bearer '.length) ?? '')
      const paths = target.locations.map(({ provider, path }) => text(`/${provider}${path}`))
      return answerOf(work(sftp, paths, target))
    },
  }),
})

const one =
  (type: number, ...more: Buffer[]) =>
  async (sftp: RawSftp, paths: readonly Buffer[]) => {
    const reply = await done(sftp.request(type, ...paths, ...more))
    return reply.rest.toString('latin1')
  }

const nothing = Buffer.alloc(0)

async function read(sftp: RawSftp, [path = nothing]: readonly Buffer[]): Promise<string> {
  const opened = await done(sftp.request(3, path, uint32(1), noAttributes))
  const data = await done(sftp.request(5, opened.rest, uint64(0), uint32(10_000)))
  await done(sftp.request(4, opened.rest))
  return textAt(data.rest, 0)[0]
}

async function list(sftp: RawSftp, [path = nothing]: readonly Buffer[]): Promise<string> {
  const { rest: handle } = await done(sftp.request(11, path))
  const page = await sftp.request(12, handle)
  await done(sftp.request(4, handle))
  return page.rest.toString('latin1')
}

/** @param flags of OPEN */
const store =
  (flags: number) =>
  async (sftp: RawSftp, [path = nothing]: readonly Buffer[], { n }: Target) => {
    const { rest: handle } = await done(sftp.request(3, path, uint32(flags), noAttributes))
    await done(sftp.request(6, handle, uint64(0), text(`uploaded by ${n}`)))
    await done(sftp.request(4, handle))
    return ''
  }

const extended = (name: string) => async (sftp: RawSftp, paths: readonly Buffer[]) => {
  await done(sftp.request(200, text(name), ...paths))
  return ''
}

const moves = { needs: writes, takes: ['doomed', 'new'], effect: 'moved', audit: 'MOVE' } as const
const modificationTime = Buffer.concat([uint32(8), uint32(1_000_000_000), uint32(1_000_000_000)])

export const sftpRows: Readonly<Record<string, RouteRow>> = {
  'SFTP STAT': row({ needs: readsWay, takes: ['entry'] }, one(17)),
  'SFTP LSTAT': row({ needs: readsWay, takes: ['entry'] }, one(7)),
  'SFTP OPENDIR': row({ needs: readsWay, takes: ['folder'] }, list),
  'SFTP OPEN to read': row({ needs: reads, takes: ['file'], effect: 'sent', audit: 'DOWNLOAD' }, read),
  'SFTP OPEN to write': row({ needs: writes, takes: ['new'], effect: 'stored', audit: 'UPLOAD' }, store(2 | 8 | 16)),
  'SFTP OPEN of a new file': row(
    { needs: writes, takes: ['new'], effect: 'stored', audit: 'UPLOAD' },
    store(2 | 8 | 32),
  ),
  'SFTP OPEN over a file': row(
    { needs: writes, takes: ['replaced'], effect: 'stored', audit: 'UPLOAD' },
    store(2 | 8 | 16),
  ),
  'SFTP MKDIR': row(
    { needs: writes, takes: ['new'], effect: 'folder made', audit: 'FOLDER_CREATE' },
    one(14, noAttributes),
  ),
  'SFTP REMOVE': row({ needs: writes, takes: ['doomed'], effect: 'gone', audit: 'DELETE' }, one(13)),
  'SFTP RMDIR': row({ needs: writes, takes: ['doomed'], bounces: true, audit: 'DELETE' }, one(15)),
  'SFTP RENAME': row(moves, one(18)),
  'SFTP posix-rename': row(moves, extended('posix-rename@openssh.com')),
  'SFTP SETSTAT': row({ needs: writes, takes: ['entry'], audit: 'PROPERTIES_UPDATE' }, one(9, modificationTime)),
  'SFTP STATVFS': row({ needs: readsWay, takes: ['entry'] }, extended('statvfs@openssh.com')),
}
