/** Slugs: the names of providers in the addresses of WebDAV and S3, where they are the names of buckets. */
import type { Change } from '../../db/client.ts'
import { insertProvider, listSlugs, type NewProvider, type ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'

/** A DNS label of at least three characters, so that it is also a valid name of a bucket. */
const pattern = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/
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
  if (pattern.test(text)) return text
  throw new AppError('INVALID_INPUT', `The slug of a provider has ${slugRule}.`)
}

/** Returns whether a provider could have this slug. */
export function isSlug(text: string): boolean {
  return pattern.test(text)
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
