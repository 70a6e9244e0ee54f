/** Uses hostile paths in every request of SFTP. */
import { posix } from 'node:path'
import { base } from '../matrix/world.ts'
import { noAttributes, type Reply, text, uint32, uint64 } from '../sftp/server.ts'
import { secret } from './back-ends.ts'
import type { Attack } from './requests.ts'

/** Entries that later requests need. */
const kept = new Set(['/', base, `${base}/seed.txt`, `${base}/deep`, `${base}/deep/seed.txt`])

export async function trySftp(on: Attack, path: string, n: number): Promise<void> {
  const storage = `/${on.providerId}`
  const at = text(`${storage}${path}`)
  const ask = async (type: number, ...fields: Buffer[]): Promise<Reply> => {
    on.count += 1
    const reply = await on.sftp.raw.request(type, ...fields)
    if (reply.rest.includes(secret))
      on.wrong.push(`request ${type} of SFTP reveals a secret at ${JSON.stringify(path)}`)
    if (reply.type === 0) on.wrong.push(`request ${type} of SFTP ends the session at ${JSON.stringify(path)}`)
    if (reply.message.endsWith('(INTERNAL)')) on.wrong.push(`request ${type} of SFTP fails at ${JSON.stringify(path)}`)
    return reply
  }
  const closed = async (opened: Reply, use: (handle: Buffer) => Promise<unknown>) => {
    if (opened.type !== 102) return
    await use(opened.rest)
    await ask(4, opened.rest)
  }
  await ask(16, at)
  await ask(17, at)
  await ask(7, at)
  await ask(200, text('statvfs@openssh.com'), at)
  await closed(await ask(11, at), handle => ask(12, handle))
  await closed(await ask(3, at, uint32(1), noAttributes), handle => ask(5, handle, uint64(0), uint32(10_000)))
  const found = posix.normalize(`${storage}/${path}`).replace(/\/$/, '').slice(storage.length) || '/'
  if (kept.has(found) || `${base}/`.startsWith(`${found}/`)) return
  const source = `${base}/source-of-sftp-${n}`
  await on.backEnd.make(on.backEnd.spelled(source), 'source')
  await ask(14, at, noAttributes)
  await ask(18, text(`${storage}${source}`), at)
  await ask(200, text('posix-rename@openssh.com'), at, text(`${storage}${base}/moved-by-sftp-${n}`))
  await closed(await ask(3, at, uint32(2 | 8 | 16), noAttributes), handle => ask(6, handle, uint64(0), text('stored')))
  await ask(9, at, uint32(8), uint32(1_000_000_000), uint32(1_000_000_000))
  await ask(13, at)
  await ask(15, at)
}
