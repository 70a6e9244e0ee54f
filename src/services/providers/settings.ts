/** The settings of a provider that clients send, and how they change its configuration. */
import type { JobLimits } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import type { Config } from '../../storage/config.ts'

/** The maximum number of changed properties that an audit event names. */
const maxProperties = 50

/** Returns the names of the changed properties for the audit log. Values can be secrets. */
export function propertiesOf(config: unknown): string[] {
  return Object.keys(config ?? {}).slice(0, maxProperties)
}

/** @throws INVALID_CONFIG */
export function parseChanges(config: unknown): Config {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new AppError('INVALID_CONFIG', 'The configuration is a JSON object.')
  }
  return { ...config }
}

export function mergeConfig(stored: Config, changes: Config): Config {
  return Object.fromEntries(Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== null))
}

/**
 * @param moved see `ConfigRules.movedBy`
 * @throws INVALID_CONFIG naming each secret that must be entered again
 */
export function requireSecretsAgain(moved: readonly string[], secrets: readonly string[], changes: Config): void {
  const missing = secrets.filter(name => !Object.hasOwn(changes, name))
  if (moved.length === 0 || missing.length === 0) return
  const because = moved.map(name => `"${name}"`).join(', ')
  const problems = missing.map(name => `"${name}" must be entered again, as ${because} changed`)
  throw new AppError('INVALID_CONFIG', `Stored secrets are not sent elsewhere: ${problems.join('; ')}.`, {
    facts: { properties: missing },
  })
}

export const defaultFilesAtOnce = 16
export const maxFilesAtOnce = 128
/** At a lower rate, connections to back ends would be idle so long that they close. */
export const minBytesPerSecond = 65_536

/** @throws INVALID_INPUT */
export function parseJobLimits({ filesAtOnce, bytesPerSecond }: JobLimits): JobLimits {
  if (filesAtOnce < 1 || filesAtOnce > maxFilesAtOnce) {
    throw new AppError('INVALID_INPUT', `"filesAtOnce" is 1 to ${maxFilesAtOnce}.`)
  }
  if (bytesPerSecond !== null && bytesPerSecond < minBytesPerSecond) {
    throw new AppError('INVALID_INPUT', `"bytesPerSecond" is at least ${minBytesPerSecond}, or null for no limit.`)
  }
  return { filesAtOnce, bytesPerSecond }
}

export const maxTrashDays = 3650

/** @throws INVALID_INPUT */
export function parseTrashDays(days: number | null): number | null {
  if (days === null || (days >= 0 && days <= maxTrashDays)) return days
  throw new AppError('INVALID_INPUT', `"trashDays" is 0 to ${maxTrashDays}, or null for the setting of the server.`)
}
