import { includesPath, type ProviderAccess } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import type { AuditAction } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { cut } from './event.ts'

interface NamedSource {
  providerId: string
  path: string
}

/** Characters of the sources that an event names. */
const maxNamed = 10_000

/**
 * Returns how many sources an action has, and all but the first, whose paths have up to `maxNamed` characters together. The
 * first source is the location of the event.
 */
export function namedSources(sources: readonly NamedSource[]): { sources: number; otherSources?: NamedSource[] } {
  const otherSources: NamedSource[] = []
  let length = 0
  for (const { providerId, path } of sources.slice(1)) {
    const named = { providerId: cut(providerId), path: cut(path) }
    length += named.providerId.length + named.path.length
    if (length > maxNamed) break
    otherSources.push(named)
  }
  return { sources: sources.length, ...(otherSources.length > 0 && { otherSources }) }
}

/**
 * Returns whether an event names all of its sources but the first, and all of these are accessible. The counts and bytes of an event
 * cover all sources, so they are for those who may access all of them.
 */
export function hasVisibleSources(
  { action, details }: { action: AuditAction | 'TEST'; details: Record<string, unknown> },
  access: ProviderAccess,
): boolean {
  if (access.all) return true
  // Old events about the end of a job do not name its sources.
  const { sources = action === 'JOB_END' ? null : 1, otherSources = [] } = details
  return (
    Array.isArray(otherSources) &&
    sources === otherSources.length + 1 &&
    otherSources.every(each => isVisible(each, access))
  )
}

function isVisible({ providerId, path }: { providerId: string; path: string }, access: ProviderAccess): boolean {
  try {
    return includesPath(access, providerId, parsePath(path))
  } catch (error) {
    // A path that was too long for the event was cut, perhaps after a dot.
    if (error instanceof AppError) return false
    throw error
  }
}
