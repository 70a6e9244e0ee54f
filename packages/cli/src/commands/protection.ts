/** The commands for holds and locks, which prevent changes of files and folders. */
import type { EntryLock, Hold } from '../../../client/src/index.ts'
import { attempt, command } from '../command.ts'
import { CommandError, exitCodes, notFound, usageError } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { parseExpiry } from '../options.ts'
import { display, type Storage } from '../server.ts'
import { confirm } from '../terminal/prompt.ts'

/** The fields of a hold that the command line prints. */
const holdFields = [
  'id',
  'storage',
  'path',
  'reason',
  'until',
  'createdAt',
  'createdBy',
  'releasedAt',
  'isObjectLock',
] as const

export const holdLs = command({
  name: 'hold ls',
  operands: '[storage]',
  help: 'List the holds that have not ended, of all storages or of one storage, newest first, also those of S3 Object Lock. Needs an admin key.',
  options: {},
  json: { hold: holdFields },
  async run({ output, connect, signal }, { operands: [text] }) {
    const operand = text === undefined ? null : parseRemote(text)
    const server = await connect()
    const at = operand && (await server.locate(operand))
    const storages = await server.storages()
    for await (const hold of server.stowage.holds.list({ ...(at && { providerId: at.providerId }), signal })) {
      const record = holdRecord(hold, storages)
      await output.result(record, holdText(record))
    }
  },
})

export const holdCreate = command({
  name: 'hold create',
  operands: '<path>...',
  help: 'Hold files, and folders with everything in them: nobody changes, moves or deletes anything there through the server. Prints each hold with its ID. Needs an admin key.',
  options: {
    reason: { value: 'text', help: 'The reason, which is required. Everybody who may read the files sees it.' },
    until: {
      value: 'time',
      help: 'When the hold ends, such as 12h, 30d, 4w or 2030-01-01. Nobody can end it earlier. Without it, the hold lasts until an owner releases it.',
    },
  },
  json: { hold: holdFields },
  async run(context, { operands, options }) {
    const { output, connect, signal } = context
    const { reason } = options
    if (reason === undefined) throw usageError('Give --reason: a text that tells why the files are on hold.')
    const until = options.until === undefined ? null : parseExpiry(options.until, new Date(), 'until')
    const remotes = operands.map(parseRemote)
    const server = await connect()
    const storages = await server.storages()
    for (const remote of remotes) {
      const at = await server.locate(remote)
      await attempt(context, display(at), async () => {
        const { providerId, path } = at
        const hold = await server.stowage.holds.create({ providerId, path, reason, until }, { signal })
        const record = holdRecord(hold, storages)
        await output.result(record, holdText(record))
      })
    }
  },
})

export const holdRelease = command({
  name: 'hold release',
  operands: '<id>...',
  help: 'End holds that have no date, given by their IDs. Needs an admin key of an owner without restrictions.',
  options: {},
  json: { hold: holdFields },
  async run(context, { operands }) {
    const { output, connect, signal } = context
    const server = await connect()
    const storages = await server.storages()
    for (const id of operands) {
      await attempt(context, id, async () => {
        const record = holdRecord(await server.stowage.holds.release(id, { signal }), storages)
        await output.summary(record, `${id} (${record.storage}:${record.path}) released`)
      })
    }
  },
})

function holdRecord(
  { id, providerId, path, reason, until, createdAt, createdBy, releasedAt, isObjectLock }: Hold,
  storages: readonly Storage[],
) {
  return {
    id,
    storage: storages.find(storage => storage.id === providerId)?.name ?? providerId,
    path,
    reason,
    until: until?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
    createdBy,
    releasedAt: releasedAt?.toISOString() ?? null,
    isObjectLock,
  } satisfies Record<(typeof holdFields)[number], unknown>
}

/** The ID, the end, what is on hold, and why. */
function holdText({ id, until, storage, path, reason }: ReturnType<typeof holdRecord>): string {
  return `${id}  ${(until ?? 'until released').padEnd(24)}  ${storage}:${path}  ${reason}`
}

export const lockEnd = command({
  name: 'lock end',
  operands: '<path>...',
  help: 'End the locks of files and folders: your own or, with an admin key without restrictions, those of others, whose programs may lose changes that are not saved. Asks before, and without a terminal needs --yes.',
  options: { yes: { short: 'y', help: 'End the locks without a question.' } },
  json: { lock: ['path', 'lockedPath', 'holderName', 'expiresAt'] },
  async run(context, { operands, options: { yes } }) {
    const { output, connect, signal } = context
    const remotes = operands.map(parseRemote)
    const server = await connect()
    const paths = await Promise.all(remotes.map(remote => server.locate(remote)))
    const names = paths.map(display).join(', ')
    const isConfirmed =
      yes || (await confirm(output, `End the locks of ${names}? Changes that are not saved may be lost.`))
    if (!isConfirmed) throw new CommandError('No lock was ended.', 'NOT_CONFIRMED', exitCodes.usage.code)
    for (const path of paths) {
      const shown = display(path)
      await attempt(context, shown, async () => {
        const first = await server.stowage.locks.find(path, { signal })
        if (!first) throw notFound(`${shown} is not locked.`)
        // An entry can have several shared locks.
        for (let lock: EntryLock | null = first; lock; ) {
          const { id, path: lockedPath, holderName, expiresAt }: EntryLock = lock
          lock = await server.stowage.locks.end(path, id, { signal })
          const record = { path: shown, lockedPath, holderName, expiresAt: expiresAt.toISOString() }
          await output.summary(record, `${shown}: the lock of ${holderName ?? 'a member'} is ended`)
        }
      })
    }
  },
})
