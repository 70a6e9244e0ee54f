/** The settings of a provider that clients send, how they change its configuration, and its slug. */

import type { Change } from '../../db/client.ts'
import { insertProvider, type JobLimits, listSlugs, type NewProvider, type ProviderRecord } from '../../db/providers.ts'
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

export const maxVersionCount = 1000
export const maxVersionDays = 3650

/** The settings of versions, each null for its default. */
export interface VersionInput {
  versionCount?: number | null | undefined
  versionDays?: number | null | undefined
}

/** Returns the settings that are given. @throws INVALID_INPUT */
export function parseVersionSettings({ versionCount, versionDays }: VersionInput) {
  if (versionCount != null && (versionCount < 0 || versionCount > maxVersionCount)) {
    throw new AppError('INVALID_INPUT', `"versionCount" is 0 to ${maxVersionCount}, or null for the default.`)
  }
  if (versionDays != null && (versionDays < 1 || versionDays > maxVersionDays)) {
    throw new AppError(
      'INVALID_INPUT',
      `"versionDays" is 1 to ${maxVersionDays}, or null for the setting of the server.`,
    )
  }
  return { ...(versionCount !== undefined && { versionCount }), ...(versionDays !== undefined && { versionDays }) }
}

// Slugs: the names of providers in the addresses of WebDAV and S3, where they are the names of buckets.

/** A DNS label of at least three characters, so that it is also a valid name of a bucket. */
const slugPattern = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/
/** The length of a slug that is made from a name, so that a number fits after it. */
const maxMadeLength = 50

/** Letters that Unicode does not decompose. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

export const slugRule = '3 to 63 characters: lowercase ASCII letters, digits, and hyphens between them'

/** @throws INVALID_INPUT */
export function parseSlug(text: string): string {
  if (slugPattern.test(text)) return text
  throw new AppError('INVALID_INPUT', `The slug of a provider has ${slugRule}.`)
}

/** Returns whether a provider could have this slug. */
export function isSlug(text: string): boolean {
  return slugPattern.test(text)
}

/** Makes a slug from a name. A name without any ASCII letters or digits becomes "storage". */
export function slugOf(name: string): string {
  const folded = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const ascii = folded.replace(/[ßæœøłđðþı]/g, letter => letters[letter] ?? letter)
  const words = ascii.split(/[^a-z0-9]+/).filter(word => word !== '')
  const slug = words.join('-').slice(0, maxMadeLength).replace(/-$/, '')
  if (slug === '') return 'storage'
  return slug.length < 3 ? `storage-${slug}` : slug
}

/** Returns the slug itself or, if it is taken, with the smallest free number. */
export function freeSlug(slug: string, taken: readonly string[]): string {
  const names = new Set(taken)
  let free = slug
  for (let number = 2; names.has(free); number++) free = `${slug}-${number}`
  return free
}

export function slugTaken(slug: string): AppError {
  return new AppError('ALREADY_EXISTS', `Another provider of the workspace has the slug "${slug}": choose another one.`)
}

/**
 * Stores a new provider.
 * @param slug null makes one from the name
 * @throws ALREADY_EXISTS
 */
export async function insertWithSlug(
  change: Change,
  values: Omit<NewProvider, 'slug'>,
  slug: string | null,
): Promise<ProviderRecord> {
  const start = slug ?? slugOf(values.name)
  for (;;) {
    const free = slug ?? freeSlug(start, await listSlugs(change, values.workspaceId, start))
    const inserted = await insertProvider(change, { ...values, slug: free })
    if (inserted) return inserted
    if (slug !== null) throw slugTaken(slug)
    // Another transaction took the free slug meanwhile.
  }
}

export interface Capabilities {
  serverSideCopy: boolean
  serverSideMove: boolean
  emptyFolders: boolean
  resumableUpload: boolean
  /** Bytes; null is no limit. */
  maxFileSize: number | null
}

/** The status of a provider that nobody has authorized yet. */
export const awaitingConsent = {
  status: 'NEEDS_AUTHORIZATION',
  statusReason: 'Somebody has to give consent: use the authorization address.',
} as const
