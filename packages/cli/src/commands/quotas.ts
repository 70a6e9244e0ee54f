/** The commands for quotas. */
import type { Connection, Quota } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { CommandError, exitCodes, usageError } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { parseSize } from '../options.ts'
import type { Server, Storage } from '../server.ts'

/** The fields of a quota that the command line prints. */
const quotaFields = [
  'storage',
  'path',
  'member',
  'bytes',
  'files',
  'usedBytes',
  'usedFiles',
  'reservedBytes',
  'reservedFiles',
  'isExact',
] as const

export const quotaLs = command({
  name: 'quota ls',
  operands: '[storage]',
  help: 'List the quotas that you may see, of all storages and members or of one storage, newest first.',
  options: {},
  json: { quota: quotaFields },
  async run({ output, connect, signal }, { operands: [text] }) {
    const operand = text === undefined ? null : parseRemote(text)
    const server = await connect()
    const at = operand && (await server.locate(operand))
    const storages = await server.storages()
    for await (const quota of server.stowage.quotas.list({ ...(at && { providerId: at.providerId }), signal })) {
      await output.result(quotaRecord(quota, storages), quotaText(quota, storages))
    }
  },
})

export const quotaSet = command({
  name: 'quota set',
  operands: '[path]',
  help: 'Limit the bytes, the files or both in a storage or a folder, or of a member. A limit that is not given ends. Needs an admin key without restrictions.',
  options: {
    member: { value: 'email', help: 'Limit what this member is charged for, instead of a path.' },
    bytes: { value: 'size', help: 'The maximum size, such as 500MB, 50GB or 1000000.' },
    files: { value: 'number', help: 'The maximum number of files.' },
    remove: { help: 'Remove the quota.' },
  },
  json: { quota: quotaFields },
  async run({ output, connect, signal }, { operands: [text], options }) {
    const { member, remove } = options
    const bytes = options.bytes === undefined ? null : parseSize(options.bytes, 'bytes')
    const files = options.files === undefined ? null : parseCount(options.files)
    if ((text === undefined) === (member === undefined)) throw usageError('Give a path, or --member.')
    if (remove !== (bytes === null && files === null)) throw usageError('Give --bytes or --files, or else --remove.')
    const operand = text === undefined ? null : parseRemote(text)
    const server = await connect()
    const at = operand && (await server.locate(operand))
    const subject = at
      ? { providerId: at.providerId, path: at.path }
      : { userId: await idOfMember(server, member ?? '') }
    const quota = await server.stowage.quotas.set({ ...subject, bytes, files }, { signal })
    const storages = await server.storages()
    await output.summary(quotaRecord(quota, storages), remove ? 'The quota is removed.' : quotaText(quota, storages))
  },
})

/** @throws CommandError */
function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(count)) return count
  throw usageError(`--files must be a whole number from 0, not "${text}".`)
}

const membersQuery = `query Members($after: String) {
  users(first: 100, after: $after) {
    nodes { id name email isServiceAccount }
    pageInfo { hasNextPage endCursor }
  }
}`

type QuotaMember = NonNullable<Quota['member']>

/** Finds a member by the email, or a service account by its name. @throws CommandError */
async function idOfMember(server: Server, who: string): Promise<string> {
  const all = server.nodes(membersQuery, {}, ({ users }: { users: Connection<QuotaMember> }) => users)
  for await (const member of all) {
    if (nameOf(member).toLowerCase() === who.toLowerCase()) return member.id
  }
  throw new CommandError(`There is no member "${who}".`, 'NOT_FOUND', exitCodes.notFound.code)
}

/** A service account has no address of its own. */
function nameOf({ email, name, isServiceAccount }: QuotaMember): string {
  return isServiceAccount ? (name ?? email) : email
}

function quotaRecord(quota: Quota, storages: readonly Storage[]) {
  const { path, bytes, files, usedBytes, usedFiles, reservedBytes, reservedFiles, isExact } = quota
  const storage = storages.find(({ id }) => id === quota.providerId)?.name ?? quota.providerId
  const member = quota.member && nameOf(quota.member)
  return {
    storage,
    path,
    member,
    bytes,
    files,
    usedBytes,
    usedFiles,
    reservedBytes,
    reservedFiles,
    isExact,
  } satisfies Record<(typeof quotaFields)[number], unknown>
}

/** The bytes and files that are used of each limit, and what the quota is of. */
function quotaText(quota: Quota, storages: readonly Storage[]): string {
  const { storage, path, member, bytes, files, usedBytes, usedFiles, isExact } = quotaRecord(quota, storages)
  const used = (count: number, limit: number | null) => `${count}/${limit ?? '-'}`.padStart(28)
  const subject = storage === null ? (member ?? 'a member') : `${storage}:${path}`
  return `${used(usedBytes, bytes)}  ${used(usedFiles, files)}  ${subject}${isExact ? '' : ' (still counting)'}`
}
