/** The commands for schedules that keep copies of a folder in other storages. */
import type { KeptCopies } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { CommandError, exitCodes, usageError } from '../errors.ts'
import { findJob, followJob, jobFields, jobRecord, jobText, requireSuccess } from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { detachOption } from '../options.ts'
import type { Server, Storage } from '../server.ts'

const copyFields = [
  'id',
  'name',
  'folder',
  'copies',
  'cron',
  'timeZone',
  'enabled',
  'nextRunAt',
  'repair',
  'recheckDays',
  'lastJobId',
  'lastState',
  'lastCheckedAt',
  'damaged',
  'missing',
  'changed',
  'restored',
] as const

export const copiesLs = command({
  name: 'copies ls',
  operands: '',
  help: 'List the schedules that keep copies of a folder in other storages, each with its latest check.',
  options: {},
  json: { copies: copyFields },
  async run({ output, connect, signal }) {
    const server = await connect()
    const storages = await server.storages()
    for await (const kept of server.stowage.copies.list({ signal })) {
      await output.result(copiesRecord(kept, storages), copiesText(kept, storages))
    }
  },
})

export const copiesCreate = command({
  name: 'copies create',
  operands: '<folder> <copy>...',
  help: 'Keep 1 to 4 copies of a folder, each in another storage, on a schedule.',
  options: {
    name: { value: 'name', help: 'The name of the schedule. The default is the folder.' },
    cron: { value: 'pattern', help: 'The times of the checks, as a cron pattern. The default is "0 3 * * *".' },
    zone: { value: 'zone', help: 'The time zone of the pattern, such as Europe/Berlin. The default is UTC.' },
    repair: { help: 'Restore damaged and missing files from a good copy.' },
    'recheck-days': { value: 'days', help: 'The days after which each file is read again. The default is 30.' },
    delete: { help: 'Also delete the copies of files that were deleted through the server.' },
  },
  json: { schedule: ['id', 'name', 'nextRunAt'] },
  async run({ output, connect }, { operands, options }) {
    const remotes = operands.map(parseRemote)
    if (remotes.length < 2) throw usageError('Give the folder, and then the folders for its copies.')
    const days = options['recheck-days']
    if (days !== undefined && !/^\d{1,4}$/.test(days)) throw usageError('--recheck-days must be a whole number.')
    const server = await connect()
    const sources = await Promise.all(remotes.map(operand => server.locate(operand)))
    const { cron, zone, name = operands[0] ?? '' } = options
    const created = await server.stowage.copies.create({
      name,
      folders: sources.map(({ providerId, path }) => ({ providerId, path })),
      repair: options.repair,
      deleteExtra: options.delete,
      ...(cron !== undefined && { cron }),
      ...(zone !== undefined && { timeZone: zone }),
      ...(days !== undefined && { recheckDays: Number(days) }),
    })
    const { id, name: given, nextRunAt } = created
    await output.summary({ id, name: given, nextRunAt }, `${given} is checked first at ${nextRunAt}: ${id}`)
  },
})

export const copiesCheck = command({
  name: 'copies check',
  operands: '<name>',
  help: 'Check kept copies now, and copy what is new. Takes the name or the ID of the schedule.',
  options: { ...detachOption },
  json: { job: jobFields },
  async run(context, { operands: [name = ''], options: { detach } }) {
    const { output, connect } = context
    const server = await connect()
    const { id } = await find(server, name)
    const jobId = await server.stowage.copies.check(id)
    const job = detach
      ? await findJob(server, jobId, { first: 1, after: null })
      : await followJob({ ...context, server }, jobId)
    await output.result(jobRecord(job), jobText(job))
    if (!detach) requireSuccess(job, output)
  },
})

export const copiesReport = command({
  name: 'copies report',
  operands: '<name>',
  help: 'Print the report of the latest check. Takes the name or the ID of the schedule, or the ID of a job.',
  options: {
    format: { value: 'format', choices: ['text', 'csv', 'json'], help: 'The format. The default is text.' },
  },
  async run({ output, connect, signal }, { operands: [name = ''], options }) {
    const server = await connect()
    const kept = await findIfThere(server, name)
    if (kept && !kept.lastJob) throw new CommandError('There was no check yet.', 'NOT_FOUND', exitCodes.notFound.code)
    const { body } = await server.stowage.copies.report(kept?.lastJob?.id ?? name, options.format ?? 'text', { signal })
    for await (const chunk of body ?? []) await output.content(chunk)
  },
})

/** Finds a schedule by its ID or its name. @throws CommandError */
async function find(server: Server, name: string): Promise<KeptCopies> {
  const found = await findIfThere(server, name)
  if (found) return found
  throw new CommandError(`No schedule "${name}" keeps copies.`, 'NOT_FOUND', exitCodes.notFound.code)
}

/** Returns null if no schedule has the ID or the name. @throws CommandError if several have the name, StowageError */
async function findIfThere(server: Server, name: string): Promise<KeptCopies | null> {
  const found: KeptCopies[] = []
  for await (const kept of server.stowage.copies.list()) if (kept.id === name || kept.name === name) found.push(kept)
  const [first = null, second] = found
  if (!second) return first
  throw new CommandError(`Several schedules are named "${name}": give the ID.`, 'NOT_FOUND', exitCodes.notFound.code)
}

function copiesRecord(kept: KeptCopies, storages: readonly Storage[]) {
  const { id, name, cron, timeZone, enabled, nextRunAt, folders, repair, recheckDays, lastJob, checked } = kept
  const shown = folders.map(({ providerId, path }) => {
    const storage = storages.find(each => each.id === providerId)?.name ?? providerId
    return `${storage}:${path}`
  })
  const sum = (count: 'damaged' | 'missing' | 'changed' | 'restored') =>
    checked.reduce((total, location) => total + location[count], 0)
  return {
    id,
    name,
    folder: shown[0] ?? null,
    copies: shown.slice(1),
    cron,
    timeZone,
    enabled,
    nextRunAt,
    repair,
    recheckDays,
    lastJobId: lastJob?.id ?? null,
    lastState: lastJob?.state ?? null,
    lastCheckedAt: lastJob?.endedAt ?? null,
    damaged: sum('damaged'),
    missing: sum('missing'),
    changed: sum('changed'),
    restored: sum('restored'),
  } satisfies Record<(typeof copyFields)[number], unknown>
}

function copiesText(kept: KeptCopies, storages: readonly Storage[]): string {
  const record = copiesRecord(kept, storages)
  const { id, name, folder, copies, lastState, lastCheckedAt, damaged, missing, changed, restored } = record
  const last = lastState === null ? 'not checked yet' : `${lastState} ${lastCheckedAt ?? ''}`.trim()
  const counts = { damaged, missing, changed, restored }
  const found = Object.entries(counts).flatMap(([word, count]) => (count > 0 ? [`${count} ${word}`] : []))
  return `${id}  ${name}  ${folder} -> ${copies.join(', ')}  ${[last, ...found].join(', ')}`
}
