/** The command that shows administrators what runs, what grows and what has failed. */
import type { Overview } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { count, formatBytes } from '../terminal/bar.ts'

type Failure = Overview['failures'][number]
type ListedStorage = Overview['storages'][number]

/** The texts of the kinds of failures. */
const failureTexts: Record<Failure['kind'], (failures: number) => string> = {
  STORAGES: failures => `${count(failures, 'storage')} not working`,
  JOBS: failures => `${count(failures, 'job')} failed`,
  DAMAGE: failures => `${count(failures, 'check')} found damaged or missing files`,
  SCHEDULES: failures => `${count(failures, 'schedule')} disabled by the server`,
  WEBHOOKS: failures => `${count(failures, 'webhook')} disabled by the server`,
  DELIVERIES: failures => `${count(failures, 'message')} of webhooks given up`,
  EMAILS: failures => `${count(failures, 'email')} given up or waiting for another attempt`,
  DIRECTORY: () => 'The LDAP directory could not be read',
  SIGN_INS: failures => `${count(failures, 'sign-in')} refused`,
}

export const overview = command({
  name: 'overview',
  operands: '',
  help: 'Show the members, the storages, what has failed in the last seven days, and what runs. Needs an admin key without restrictions.',
  options: {},
  json: { overview: ['people', 'storages', 'failures', 'server'] },
  async run({ output, connect, signal }) {
    const { stowage } = await connect()
    const read = await stowage.overview.read({ signal })
    await output.result(read, ...linesOf(read))
  },
})

function linesOf({ people, storages, failures, server }: Overview): string[] {
  const { version, postgresVersion, databaseBytes, migration, processes, hasMixedVersions } = server
  const members = people.roles.reduce((sum, { members }) => sum + members, 0)
  const roles = people.roles.map(({ role, members }) => `${members} ${role}`).join(', ')
  const section = (title: string, lines: readonly string[]) => ['', title, ...lines.map(line => `  ${line}`)]
  return [
    `Stowage ${version}, PostgreSQL ${postgresVersion} with ${formatBytes(databaseBytes)} (${migration})`,
    ...section(`Processes${hasMixedVersions ? ' (of several versions)' : ''}`, processes.map(processText)),
    ...section(`Members: ${members}`, [
      roles,
      `${people.activeIn7Days} active in the last 7 days, ${people.activeIn30Days} in the last 30`,
      `${people.withoutSecondFactor} without a second factor`,
      `${count(people.invites, 'open invite')}, ${people.deactivated} deactivated, ${count(people.serviceAccounts, 'service account')}`,
    ]),
    ...section('Storages', storages.length === 0 ? ['none'] : storages.map(storageText)),
    ...section('Failures', failures.length === 0 ? ['none'] : failures.map(failureText)),
  ]
}

function processText({
  host,
  version,
  nodeVersion,
  startedAt,
  seenAt,
  isAlive,
}: Overview['server']['processes'][number]) {
  const state = isAlive ? `since ${startedAt}` : `not seen since ${seenAt}`
  return `${host}  Stowage ${version}, Node.js ${nodeVersion}, ${state}`
}

function storageText({ provider, files, bytes, addedBytes }: ListedStorage): string {
  const size = bytes === null ? '-' : formatBytes(bytes)
  const growth =
    addedBytes === null ? '' : `  (${addedBytes < 0 ? '-' : '+'}${formatBytes(Math.abs(addedBytes))} in 30 days)`
  return `${provider.status.padEnd(19)}  ${size.padStart(8)}  ${String(files ?? '-').padStart(9)} files  ${provider.name}${growth}`
}

function failureText({ kind, count, latestAt }: Failure): string {
  return `${failureTexts[kind](count)}${latestAt === null ? '' : `, last at ${latestAt}`}`
}
