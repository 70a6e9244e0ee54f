import { access, constants, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { deriveSecrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { migrationState } from '../../db/migrate.ts'
import { countSealedOtherwise } from '../../db/sealed.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { Services } from '../../services/index.ts'
import { definitions } from '../../settings/definitions.ts'
import type { Settings } from '../../settings/index.ts'
import { isFileSetting } from '../../settings/values.ts'
import { isOpenToOthers, secretFile } from '../data-folder.ts'

/** The result of one check. */
export interface Finding {
  /** OK; WARNING: works, but may fail or be unsafe later; PROBLEM: does not work. */
  level: 'OK' | 'WARNING' | 'PROBLEM'
  /** The subject of the check, such as "Database". */
  subject: string
  /** A sentence with what was found and, for a warning or a problem, what to change. */
  text: string
}

function ok(subject: string, text: string): Finding {
  return { level: 'OK', subject, text }
}

export function warning(subject: string, text: string): Finding {
  return { level: 'WARNING', subject, text }
}

export function problem(subject: string, text: string): Finding {
  return { level: 'PROBLEM', subject, text }
}

export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.endsWith('.') ? message : `${message}.`
}

const subject = 'Settings'
/** The command line reads these. */
const ofClients = ['STOWAGE_URL', 'STOWAGE_API_KEY']

export function checkSettings(settings: Settings, environment: Record<string, string | undefined>): Finding[] {
  const { publicUrl, trustedProxies, setupCode, host } = settings
  const isPublic = !isLoopback(host)
  const found = [
    ...unknownNames(environment).map(name =>
      warning(subject, `${name} is not a setting: correct its name, or remove it.`),
    ),
    ...(publicUrl?.startsWith('http://') && !isLoopback(new URL(publicUrl).hostname)
      ? [
          warning(
            subject,
            'STOWAGE_PUBLIC_URL begins with "http://": use a proxy with HTTPS, or passwords can be read.',
          ),
        ]
      : []),
    ...(publicUrl?.startsWith('https://') && trustedProxies.length === 0
      ? [
          warning(
            subject,
            'STOWAGE_TRUST_PROXY is not set: set it to the address of the proxy, or limits count all clients as one.',
          ),
        ]
      : []),
    ...(isPublic && setupCode === null
      ? [warning(subject, 'STOWAGE_SETUP_CODE is not set: until the workspace has an owner, anyone can become it.')]
      : []),
  ]
  return found.length > 0 ? found : [ok(subject, 'All settings are valid.')]
}

function unknownNames(environment: Record<string, string | undefined>): string[] {
  return Object.keys(environment).filter(name => {
    const setting = name.replace(/_FILE$/, '')
    const isKnown = name in definitions || (setting !== name && isFileSetting(setting)) || ofClients.includes(name)
    return name.startsWith('STOWAGE_') && !isKnown
  })
}

/** Milliseconds. */
const timeout = 5000

/** Checks that the address that clients use leads to a server. */
export async function checkPublicUrl(publicUrl: string): Promise<Finding> {
  const subject = 'Public address'
  try {
    const { status } = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(timeout) })
    if (status === 200) return ok(subject, `${publicUrl} leads to a server.`)
    return warning(subject, `${publicUrl}/healthz responds with ${status}: start the server, or correct the proxy.`)
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error
    return warning(subject, `${publicUrl} cannot be reached from here: ${messageOf(cause)}`)
  }
}

/** Checks that the secret is the one that the stored credentials were encrypted with. */
export async function checkSecret(
  db: Database,
  { secret, previous }: { secret: string; previous: string | null },
): Promise<Finding> {
  const keyIds = [secret, ...(previous === null ? [] : [previous])].map(each => deriveSecrets(each).currentKeyId)
  const [others, unreadable] = await Promise.all([
    countSealedOtherwise(db, keyIds.slice(0, 1)),
    countSealedOtherwise(db, keyIds),
  ])
  if (unreadable > 0) {
    const text = `${unreadable} stored credentials were encrypted with another secret: set that one, or enter them again.`
    return problem('Secret', text)
  }
  if (others > 0) return warning('Secret', `${others} values are still encrypted with the previous secret: keep it.`)
  return ok('Secret', 'It decrypts all stored credentials.')
}

/** Connections of each server process. */
const connectionsOfProcess = 10
/** Milliseconds. */
const slowQuery = 20
/** Milliseconds. Sessions, leases and signed requests to back ends need clocks that agree. */
const maxClockDifference = 5000

/** @returns what was found, and whether the tables can be read */
export async function checkDatabase(
  db: Database,
  settings: Settings,
): Promise<{ findings: Finding[]; isUsable: boolean }> {
  const { version, maxConnections } = await serverFacts(db)
  const times = [await queryTime(db), await queryTime(db), await queryTime(db)]
  const [, median = 0] = times.toSorted((a, b) => a - b)
  const { pending, unknown } = await migrationState(db)
  const needed = settings.processes * connectionsOfProcess
  const findings = [
    ok('Database', `PostgreSQL ${version} responds in ${median.toFixed(1)} ms.`),
    ...(median > slowQuery ? [warning('Database', 'It is far away: each request waits for it at least once.')] : []),
    ...(needed > maxConnections / 2
      ? [
          warning(
            'Database',
            `Each server uses up to ${needed} of its ${maxConnections} connections: raise max_connections, or lower STOWAGE_PROCESSES.`,
          ),
        ]
      : []),
    ...(unknown.length > 0
      ? [problem('Database', `A newer Stowage has changed it (${unknown.join(', ')}): run that version.`)]
      : []),
    ...(pending.length > 0
      ? [warning('Database', `The next start of the server changes it (${pending.length} steps): back it up first.`)]
      : []),
    await checkClock(db),
  ]
  return { findings, isUsable: pending.length === 0 && unknown.length === 0 }
}

async function serverFacts(db: Database): Promise<{ version: string; maxConnections: number }> {
  const { rows } = await sql<{ version: string; connections: number }>`
    select current_setting('server_version') as version, current_setting('max_connections')::int as connections`.execute(
    db,
  )
  return { version: rows[0]?.version ?? '', maxConnections: rows[0]?.connections ?? 0 }
}

async function queryTime(db: Database): Promise<number> {
  const begin = performance.now()
  await sql`select 1`.execute(db)
  return performance.now() - begin
}

async function checkClock(db: Database): Promise<Finding> {
  const begin = Date.now()
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  const difference = Math.abs((rows[0]?.now.getTime() ?? 0) - (begin + Date.now()) / 2)
  return difference > maxClockDifference
    ? problem('Clock', `It differs from that of the database by ${Math.round(difference / 1000)} s: use NTP on both.`)
    : ok('Clock', 'It agrees with that of the database.')
}

const gib = 1024 ** 3
/** Bytes and part of the disk below which its space is short. */
const least = { bytes: gib, part: 0.05 }

/** Checks the folders that the server writes to. */
export async function checkDisks({ dataFolder, localRoots, databaseUrl, secret }: Settings): Promise<Finding[]> {
  const needsData = databaseUrl === null || secret === null
  const folders = await Promise.all([
    ...(needsData ? [checkFolder('Data folder', dataFolder)] : []),
    ...localRoots.map(root => checkFolder('Local files', root)),
  ])
  return [...folders, ...(needsData ? await checkModes(dataFolder) : [])]
}

async function checkFolder(subject: string, folder: string): Promise<Finding> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bsize, blocks, bavail } = await statfs(folder)
    const [free, size] = [bavail * bsize, blocks * bsize]
    const text = `${folder} has ${(free / gib).toFixed(1)} GiB free.`
    return free < least.bytes || free < size * least.part
      ? warning(subject, `${text} Free some space, or uploads and the database will fail.`)
      : ok(subject, text)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT') return warning(subject, `${folder} does not exist: create it, or start the server once.`)
    return problem(subject, `${messageOf(error)} Let the user of the server read and write this folder.`)
  }
}

async function checkModes(dataFolder: string): Promise<Finding[]> {
  const file = join(dataFolder, secretFile)
  const mode = (await stat(file).catch(() => null))?.mode ?? 0
  return [
    ...((await isOpenToOthers(dataFolder))
      ? [warning('Data folder', `Other users can read the files in ${dataFolder}: run "chmod 700 ${dataFolder}".`)]
      : []),
    ...((mode & 0o077) !== 0 ? [problem('Secret', `Other users can read ${file}: run "chmod 600 ${file}".`)] : []),
  ]
}

/** Signs in to the LDAP directory, if there is one, and looks for people. */
export async function checkDirectory({ directory }: Pick<Services, 'directory'>): Promise<Finding[]> {
  if (!directory) return []
  const subject = 'Directory'
  try {
    if (await directory.check()) return [ok(subject, 'It responds, and STOWAGE_LDAP_FILTER finds people.')]
    return [problem(subject, 'STOWAGE_LDAP_FILTER finds nobody: check it, STOWAGE_LDAP_BASE, and the bind account.')]
  } catch (error) {
    return [problem(subject, `${messageOf(error)} Check the settings that begin with STOWAGE_LDAP_.`)]
  }
}

/** Returns what clients of SFTP show of this server, so that people can compare it. */
export async function checkSftp(
  { hostKeys }: Pick<Services, 'hostKeys'>,
  { sftpAddress }: Settings,
): Promise<Finding[]> {
  if (!sftpAddress) return []
  const found = await hostKeys.fingerprints()
  if (found.length === 0) return [ok('SFTP', 'The next start of the server makes its host keys.')]
  return [
    ok('SFTP', `The host keys are ${found.map(({ type, fingerprint }) => `${fingerprint} (${type})`).join(' and ')}.`),
  ]
}

/** Days after which the signatures of the virus scanner are out of date. New ones appear every day. */
const freshDays = 7

/** Asks the virus scanner for its version, if there is one. */
export async function checkScanner({ scans }: Pick<Services, 'scans'>): Promise<Finding[]> {
  if (!scans.isAvailable) return []
  const subject = 'Virus scanner'
  try {
    const version = (await scans.version()) ?? ''
    // "ClamAV 1.4.3/27822/Tue Nov 24 09:26:02 2026"; without the last two parts, if all signatures are the operator's own.
    const updatedAt = Date.parse(version.split('/')[2] ?? '')
    const days = Math.floor((Date.now() - updatedAt) / (24 * 60 * 60 * 1000))
    return days > freshDays
      ? [warning(subject, `Its signatures are ${days} days old (${version}): check freshclam.`)]
      : [ok(subject, `${version} responds.`)]
  } catch (error) {
    return [problem(subject, `${messageOf(error)} Start clamd, or correct STOWAGE_CLAMD_URL.`)]
  }
}

/** Tests the back end of every provider. */
export async function checkBackEnds({ providers }: Pick<Services, 'providers'>): Promise<Finding[]> {
  const tested = await providers.testAll()
  return tested.map(({ record: { name, type, status }, error }) => {
    const subject = `Storage "${name}"`
    if (error === null) return ok(subject, `Its back end (${type}) responds.`)
    if (status === 'NEEDS_AUTHORIZATION') return warning(subject, 'Somebody has to give consent in the console.')
    return problem(subject, messageOf(error))
  })
}
