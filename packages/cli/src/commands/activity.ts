import type { Activity } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { parseNumber } from '../options.ts'
import { count } from '../terminal/bar.ts'

/** The fields of a change that the command prints. */
const activityFields = [
  'at',
  'action',
  'user',
  'isByShareLink',
  'isByJob',
  'files',
  'storage',
  'path',
  'toStorage',
  'toPath',
] as const

const defaultLimit = 50

export const activity = command({
  name: 'activity',
  operands: '[path]...',
  help: 'List what has changed in the last 90 days, everywhere or below some paths, the newest first.',
  options: {
    limit: { short: 'n', value: 'number', help: `Print at most this number of changes. Default: ${defaultLimit}.` },
  },
  json: { activity: activityFields },
  async run({ output, connect, signal }, { operands: paths, options }) {
    const limit = options.limit === undefined ? defaultLimit : parseNumber(options.limit, 'limit')
    const operands = paths.map(parseRemote)
    const server = await connect()
    const within = await Promise.all(operands.map(operand => server.locate(operand)))
    let printed = 0
    for await (const change of server.stowage.activity({ ...(within.length > 0 && { within }), signal })) {
      await output.result(recordOf(change), textOf(change))
      printed += 1
      if (printed === limit) return
    }
  },
})

function recordOf({ at, action, userName, isByShareLink, isByJob, fileCount, location, destination }: Activity) {
  return {
    at: at.toISOString(),
    action,
    user: userName,
    isByShareLink,
    isByJob,
    files: fileCount,
    storage: location?.providerName ?? null,
    path: location?.path ?? null,
    toStorage: destination?.providerName ?? null,
    toPath: destination?.path ?? null,
  } satisfies Record<(typeof activityFields)[number], unknown>
}

/** The time in UTC, who did it, what, and where. */
function textOf({ at, action, userName, isByShareLink, fileCount, location, destination }: Activity): string {
  const time = `${at.toISOString().slice(0, 19)}Z`
  const who = isByShareLink ? '(share link)' : (userName ?? '(server)')
  const amount = fileCount === null ? [] : [count(fileCount, 'file')]
  const placeOf = (place: Activity['location']) =>
    place ? [`${place.providerName ?? place.providerId}:${place.path}`] : []
  const where = [...placeOf(location), ...(destination ? ['->', ...placeOf(destination)] : [])].join(' ')
  return [time, who, action.toLowerCase().replaceAll('_', ' '), ...amount, where].join('  ')
}
