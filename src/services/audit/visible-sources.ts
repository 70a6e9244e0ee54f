import { basePathsIn, includesPath, type ProviderAccess } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import { AppError } from '../../errors.ts'

/** Removes the other sources of a job that a viewer may not access. Only the locations of an event decide who sees it. */
export function withVisibleSources(event: AuditEvent, access: ProviderAccess): AuditEvent {
  const { otherSources, ...details } = event.details
  if (access.all || !Array.isArray(otherSources)) return event
  return { ...event, details: { ...details, otherSources: otherSources.filter(each => isVisible(each, access)) } }
}

function isVisible({ providerId, path }: { providerId: string; path: string }, access: ProviderAccess): boolean {
  if (basePathsIn(access, providerId) === null) return false
  try {
    return includesPath(access, providerId, parsePath(path))
  } catch (error) {
    // A path that was too long for the event was cut, perhaps after a dot.
    if (error instanceof AppError) return false
    throw error
  }
}
