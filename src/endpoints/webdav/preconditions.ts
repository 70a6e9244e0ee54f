/** The conditions of every change: the If header, the locks, and the folder of a new entry. */
import { formatPath, parentOf, parsePath, root } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { escapeXml } from '../../http/xml.ts'
import type { LockedChange } from '../../services/entry-metadata/locks.ts'
import { nullIfNoEntry } from '../../services/files/entry.ts'
import { davError } from './errors.ts'
import { headerText, parseToken } from './headers.ts'
import { type DavRequest, type DavTarget, hrefOf, referencedTarget } from './request.ts'

type DavChange = Omit<LockedChange, 'location'> & { location: DavTarget }

/**
 * A condition that fails for a locked resource is reported as the lock if the client sent a lock token, which must then be wrong.
 * @throws LOCKED, PRECONDITION_FAILED, INVALID_INPUT
 */
export async function requirePreconditions(dav: DavRequest, changes: readonly DavChange[]): Promise<void> {
  const lists = ifLists(dav)
  const tokens = new Set(lockTokensIn(lists))
  const failed = (await holdsAny(dav, lists))
    ? null
    : new AppError('PRECONDITION_FAILED', 'No list of the If header holds.')
  if (failed && tokens.size === 0) throw failed
  for (const change of changes) {
    await dav.options.services.entryLocks
      .requireUnlocked(dav.viewer, change, tokens)
      .catch(error => failLocked(error, dav, change.location, 'lock-token-submitted'))
  }
  if (failed) throw failed
}

async function holdsAny(dav: DavRequest, lists: readonly IfList[]): Promise<boolean> {
  for (const list of lists) if (await holds(dav, list)) return true
  return lists.length === 0
}

async function holds(dav: DavRequest, { resource, conditions }: IfList): Promise<boolean> {
  const { viewer, options, signal } = dav
  const { files, entryLocks } = options.services
  // A resource that the client cannot see has no state that the client could know.
  const target = resource === null ? dav.target : await referencedTarget(dav, resource).catch(toNull)
  if (!target) return conditions.every(({ isNegated }) => isNegated)
  const needsEtag = conditions.some(({ kind }) => kind === 'etag')
  const etag = needsEtag ? ((await files.stat(viewer, target, signal).catch(toNull))?.etag ?? null) : null
  const locks = await entryLocks.covering(viewer, target).catch(toNull)
  const tokens = new Set(locks?.map(lock => lock.token))
  return conditions.every(({ isNegated, kind, value }) => {
    const isTrue = kind === 'etag' ? etag !== null && value === formatTag(etag) : tokens.has(parseToken(value) ?? '')
    return isTrue !== isNegated
  })
}

function toNull(error: unknown): null {
  if (error instanceof AppError && (error.status < 500 || error.reason === 'INVALID_INPUT')) return null
  throw error
}

/** Names the locked resource in the error. */
export function failLocked(
  error: unknown,
  { options }: DavRequest,
  { slug }: DavTarget,
  precondition: 'lock-token-submitted' | 'no-conflicting-lock',
): never {
  if (!(error instanceof AppError) || error.reason !== 'LOCKED' || !error.facts) throw error
  const href = escapeXml(hrefOf(options, { slug, path: String(error.facts.lockedPath) }, false))
  const xml = `<D:${precondition}><D:href>${href}</D:href></D:${precondition}>`
  throw davError(423, 'LOCKED', error.message, { precondition: xml, cause: error })
}

/**
 * Requires the folder that a new entry goes into. WebDAV creates no missing folders: RFC 4918, sections 9.3.1 and 9.7.1.
 * @throws INVALID_PATH; with the status 409, if the folder is missing or a file
 */
export async function requireParent({ viewer, options, signal }: DavRequest, target: DavTarget): Promise<void> {
  const path = parsePath(target.path)
  if (path === root || parentOf(path) === root) return
  const parent = { ...target, path: formatPath(parentOf(path)) }
  const kind = await options.services.files.stat(viewer, parent, signal).then(
    entry => entry.kind,
    error => {
      // The base path of the credential may be missing itself. Nothing above it can be seen.
      if (error instanceof AppError && error.reason === 'OUTSIDE_BASE_PATH') return 'directory'
      return nullIfNoEntry(error)
    },
  )
  if (kind !== 'directory') throw davError(409, 'NOT_FOUND', `There is no folder "${parent.path}": create it first.`)
}

/** Returns the entry at a target, or null. */
export async function entryOrNull({ viewer, options, signal }: DavRequest, target: DavTarget) {
  return options.services.files.stat(viewer, target, signal).catch(nullIfNoEntry)
}

/** The If header: RFC 4918, section 10.4. */
interface IfCondition {
  isNegated: boolean
  /** A URI such as a lock token, or an entity tag with its quotes. */
  kind: 'token' | 'etag'
  value: string
}

/** Conditions that must all hold for one resource. */
interface IfList {
  /** The URL of the resource; null for that of the request. */
  resource: string | null
  conditions: IfCondition[]
}

function ifLists({ request }: DavRequest): IfList[] {
  const header = headerText(request.headers, 'if')
  return header === undefined ? [] : parseIf(header)
}

/** Returns the tokens of locks of this server in the If header. @throws INVALID_INPUT */
export function submittedTokens(dav: DavRequest): string[] {
  return lockTokensIn(ifLists(dav))
}

function lockTokensIn(lists: readonly IfList[]): string[] {
  const conditions = lists.flatMap(list => list.conditions)
  return conditions.flatMap(({ kind, value }) => (kind === 'token' ? (parseToken(value) ?? []) : []))
}

/** The maximum number of conditions, each of which can cause a lookup. */
const maxConditions = 100
const token = /(?:(\()|(\))|<([^<>\s]*)>|\[((?:W\/)?"[^"]*")\]|(Not)(?=[\s<[]))[ \t]*/iy

/** @throws INVALID_INPUT */
function parseIf(text: string): IfList[] {
  const header = text.trim()
  const lists: IfList[] = []
  let resource: string | null = null
  let open: IfCondition[] | null = null
  let isNegated = false
  let isTagPending = false
  let count = 0
  token.lastIndex = 0
  while (token.lastIndex < header.length) {
    const match = token.exec(header)
    if (!match) throw malformed()
    const [, opens, closes, uri, etag] = match
    if (!open) {
      if (opens) {
        open = []
        isTagPending = false
        continue
      }
      // Tagged and untagged lists cannot be mixed.
      const mayBeTag = uri !== undefined && !isTagPending && (lists.length === 0 || resource !== null)
      if (!mayBeTag) throw malformed()
      resource = uri
      isTagPending = true
    } else if (closes) {
      if (isNegated || open.length === 0) throw malformed()
      lists.push({ resource, conditions: open })
      open = null
    } else if (uri !== undefined || etag !== undefined) {
      count += 1
      open.push({ isNegated, kind: uri === undefined ? 'etag' : 'token', value: uri ?? etag ?? '' })
      isNegated = false
    } else if (opens || isNegated) throw malformed()
    else isNegated = true
  }
  if (open || lists.length === 0 || count > maxConditions) throw malformed()
  return lists
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'The If header is malformed: see RFC 4918, section 10.4.')
}
