/** What an event of the audit log is made of: only what is named here, so that no secret gets into one by accident. */
import { redactTokens } from '../../auth/api-key.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { formatPath, parsePath } from '../../auth/path.ts'
import type { Member, Origin, Viewer } from '../../auth/viewer.ts'
import type { AuditEvent, AuditSubjectKind } from '../../db/audit-events.ts'
import type { AuditAction, AuditResult } from '../../db/schema.ts'
import { AppError, toAppError } from '../../errors.ts'

/** An end of what happened, as the client gave it. */
interface GivenLocation {
  providerId: string
  path?: string | undefined
}

/** What is known of an action beside who does it. */
export interface AuditFacts {
  location?: GivenLocation
  to?: GivenLocation
  /** As it was, where it is gone or changed afterwards. */
  providerName?: string
  subject?: { kind: AuditSubjectKind; id: string }
  bytes?: number | null
  /** Where no credential tells it. */
  user?: Pick<Member, 'userId' | 'workspaceId' | 'email' | 'name'>
  credential?: { kind: Viewer['kind']; id: string }
  details?: Record<string, unknown>
}

/** Somebody without a credential. */
export interface Stranger {
  origin: Origin
}

/** UTF-16 code units of text that somebody has made up. */
const maxText = 1000
/** The same of somebody without a credential: as long as an email. */
const maxStrangerText = 254
/** Characters of the longest IPv6 address; an untrue proxy may send any text. */
const maxAddress = 45

const nextId = timeOrderedIds()

export function createEvent(
  by: Viewer | Stranger,
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
      ...from.invalid('givenProvider', 'givenPath'),
      ...to.invalid('givenToProvider', 'givenToPath'),
    },
  }
}

function shortened(details: Record<string, unknown>): Record<string, unknown> {
  const short = (value: unknown) => (typeof value === 'string' ? value.slice(0, maxStrangerText) : value)
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, short(value)]))
}

/** CUT where it ended since the client went away. */
export function resultOf(error: unknown): AuditResult {
  const isGone = error instanceof Error && (error.name === 'ClientGone' || error.name === 'AbortError')
  return isGone ? 'CUT' : toAppError(error).reason
}

/** What an error says that is no path or id goes to the details, bounded: it is in nobody's location. */
function parseLocation(location: GivenLocation | undefined) {
  const id = location && isId(location.providerId) ? location.providerId : null
  const path = location?.path === undefined ? null : pathOf(location.path)
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

/** Bounds a text from outside, and redacts credentials that were put in the wrong location. */
export function cut(text: string): string {
  return redactTokens(text.slice(0, maxText))
}
