/** Creates audit events from an explicit list of facts, so that no secret gets into one by accident. */

import { includesPath, type ProviderAccess } from '../../auth/access.ts'
import { redactTokens } from '../../auth/api-key.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { formatPath, parsePath } from '../../auth/path.ts'
import { type Grant, isGrant } from '../../auth/policy.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import type { AuditEvent, AuditSubjectKind } from '../../db/audit-events.ts'
import type { AuditAction, AuditResult } from '../../db/schema.ts'
import { AppError, toAppError } from '../../errors.ts'

/** A location of an action, as the client sent it. */
interface GivenLocation {
  providerId: string
  path?: string | undefined
}

/** The known facts about an action, except who does it. */
export interface AuditFacts {
  location?: GivenLocation | Grant
  to?: GivenLocation | Grant
  /** The provider's name before the action, if that removes or renames it. */
  providerName?: string
  subject?: { kind: AuditSubjectKind; id: string }
  bytes?: number | null
  /** The user, if no viewer identifies them. */
  user?: Pick<Member, 'userId' | 'workspaceId' | 'email' | 'name'>
  credential?: { kind: Viewer['kind'] | 'SCIM_TOKEN'; id: string }
  details?: Record<string, unknown>
}

/** A client without a credential. */
export interface AnonymousClient {
  origin: Origin
}

/** The maximum length of text from a client, in UTF-16 code units. */
const maxText = 1000
/** The maximum length of text from a client without a credential: the length of an email. */
const maxAnonymousText = 254
/** Characters of the longest IPv6 address. A misconfigured proxy may send any text. */
export const maxAddress = 45

const nextId = timeOrderedIds()

export function createEvent(
  by: Viewer | AnonymousClient,
  action: AuditAction,
  facts: AuditFacts,
  result: AuditResult,
): AuditEvent {
  const viewer = 'member' in by ? by : null
  const user = facts.user ?? viewer?.member ?? null
  const at = new Date()
  const [from, to] = [parseLocation(facts.location), parseLocation(facts.to)]
  return {
    id: nextId(at),
    workspaceId: user?.workspaceId ?? null,
    at,
    action,
    result,
    userId: user?.userId ?? null,
    userEmail: user?.email ?? null,
    userName: user?.name ?? null,
    credentialKind: facts.credential?.kind ?? viewer?.kind ?? null,
    credentialId: facts.credential?.id ?? viewer?.credentialId ?? null,
    credentialPrefix: viewer?.displayPrefix ?? null,
    address: by.origin.address.slice(0, maxAddress),
    requestId: by.origin.requestId,
    providerId: from.id,
    providerName: facts.providerName ?? null,
    path: from.path,
    toProviderId: to.id,
    toProviderName: null,
    toPath: to.path,
    subjectKind: facts.subject?.kind ?? null,
    subjectId: facts.subject ? cut(facts.subject.id) : null,
    bytes: facts.bytes ?? null,
    count: 1,
    details: {
      ...(viewer ? facts.details : shortened(facts.details ?? {})),
      ...(viewer?.openedBy && { openedBy: viewer.openedBy.userId }),
      ...from.invalid('givenProvider', 'givenPath'),
      ...to.invalid('givenToProvider', 'givenToPath'),
    },
  }
}

function shortened(details: Record<string, unknown>): Record<string, unknown> {
  const short = (value: unknown) => (typeof value === 'string' ? value.slice(0, maxAnonymousText) : value)
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, short(value)]))
}

/** Returns CUT if the client disconnected. */
export function resultOf(error: unknown): AuditResult {
  const isGone = error instanceof Error && (error.name === 'ClientGone' || error.name === 'AbortError')
  return isGone ? 'CUT' : toAppError(error).reason
}

/** Parses a location. Text that is no valid id or path is cut and goes to the event's details. */
export function parseLocation(location: GivenLocation | Grant | undefined) {
  const id = location && isId(location.providerId) ? location.providerId : null
  const path =
    location?.path === undefined ? null : isGrant(location) ? formatPath(location.path) : pathOf(location.path)
  return {
    id,
    path,
    invalid: (providerName: string, pathName: string) => ({
      ...(location && id === null && { [providerName]: cut(location.providerId) }),
      ...(location?.path !== undefined && path === null && { [pathName]: cut(location.path) }),
    }),
  }
}

function pathOf(text: string): string | null {
  try {
    return formatPath(parsePath(text))
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Bounds a text from a client, and redacts credentials in it. */
export function cut(text: string): string {
  return redactTokens(text.slice(0, maxText))
}

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
  { action, details }: { action: string; details: Record<string, unknown> },
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
