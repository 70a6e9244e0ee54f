/** Reads the directory at an interval: who has gone is deactivated, and names, addresses and groups follow. */
import { randomUUID } from 'node:crypto'
import type { MemberGroup } from '../../../auth/viewer.ts'
import { changeWithOwnEvents } from '../../../db/audit-events.ts'
import { type Change, type Database, isUniqueViolation } from '../../../db/client.ts'
import {
  claimSync,
  findIssuedMembers,
  type IssuedMember,
  isAnySyncDue,
  listActiveSubjects,
  lockUnusedIdentity,
  readTime,
  registerSync,
  renewSync,
  setIssuedEmail,
  settleSync,
  syncClaimSeconds,
} from '../../../db/directories.ts'
import { countGroupMembers, groupKey, listGroups } from '../../../db/groups.ts'
import { deactivateIssuedMember, findMember, reactivateMember } from '../../../db/members.ts'
import { revokeSessionsOf } from '../../../db/sessions.ts'
import { isEmailTaken, setUserEmail, updateUser } from '../../../db/users.ts'
import { findTheWorkspace, lockWorkspace } from '../../../db/workspaces.ts'
import { AppError, toAppError } from '../../../errors.ts'
import { LeaseKeeper } from '../../../lib/lease-keeper.ts'
import { mapAtMost } from '../../../lib/limiter.ts'
import { startClaiming } from '../../../lib/polling.ts'
import { type RetrySchedule, retryDelay } from '../../../lib/retry.ts'
import type { Audit } from '../../audit/index.ts'
import { parseEmail, parseName } from '../../input.ts'
import { maxGroupMembers, maxGroups, maxGroupsOfMember } from '../groups.ts'
import { followIssuedGroups } from '../issued-accounts.ts'
import type { Directory } from './directory.ts'
import type { DirectoryPerson } from './entries.ts'

interface SyncContext {
  db: Database
  audit: Audit
  directory: Directory
}

/** People of a page who are worked on at once. */
const atOnce = 4
/** Subjects in one query. */
const pageSize = 1000
/**
 * Members who may go missing at once: a few, or a part of all. More is taken for a fault, such as a wrong filter or a branch that the
 * bind account cannot read any more.
 */
const mayGo = { least: 2, part: 0.2 }

/**
 * Reads the directory once.
 * @returns the number of its people
 * @throws UNAVAILABLE if it does not respond, or if too many people are missing; nobody is deactivated then
 */
export async function syncDirectory({ db, audit, directory }: SyncContext, signal: AbortSignal): Promise<number> {
  const { source } = directory
  const since = await readTime(db)
  const workspace = await findTheWorkspace(db)
  const groups = workspace ? await listGroups(db, workspace.id, { limit: maxGroups, after: null }) : []
  const byName = new Map(groups.map(group => [groupKey(group.name), group]))
  let sizes = await sizesOf(db, groups)
  const seen = new Set<string>()
  let people = 0
  let hasWritten = false

  /** @param work returns the details of what it has changed; null for nothing, which leaves no event */
  function record(
    action: 'MEMBER_UPDATE' | 'MEMBER_DEACTIVATE' | 'MEMBER_REACTIVATE',
    { member }: IssuedMember,
    work: (change: Change) => Promise<object | null>,
  ): Promise<void> {
    return changeWithOwnEvents(db, async change => {
      await lockWorkspace(change, member.workspaceId)
      const changed = await work(change)
      if (changed === null) return
      const details = { source, email: member.email, name: member.name, ...changed }
      await audit.writeOwn(change, action, { subject: { kind: 'MEMBER', id: member.userId }, details }, 'OK')
    })
  }

  async function follow(known: IssuedMember, person: DirectoryPerson, groups: string[] | null): Promise<void> {
    const { member, identityId, deactivatedBy } = known
    if (member.own.role === 'OWNER') return
    if (deactivatedBy === source) {
      await record('MEMBER_REACTIVATE', known, async change =>
        (await reactivateMember(change, member, source)) ? {} : null,
      )
    }
    const named = groups?.flatMap(each => byName.get(groupKey(each)) ?? []) ?? null
    const name = newName(known, person)
    const email = await newEmail(db, known, person)
    if (name === null && email === null && !haveChanged(known, named, sizes)) return
    hasWritten = true
    await record('MEMBER_UPDATE', known, async change => {
      const now = await findMember(change, member.workspaceId, member.userId)
      if (!now || now.own.role === 'OWNER') return null
      if (name !== null) await updateUser(change, member.userId, { name })
      if (email !== null) {
        await setUserEmail(change, member.userId, email)
        await setIssuedEmail(change, identityId, email)
      }
      // Who has signed in meanwhile has the groups of that time, which can be newer.
      const isUnused = await lockUnusedIdentity(change, identityId, since)
      const issued = { issuer: source, groups: isUnused ? groups : null }
      const { changes } = await followIssuedGroups(change, now, issued)
      if (name === null && email === null && changes === null) return null
      return {
        ...(name !== null && { newName: name }),
        ...(email !== null && { newEmail: email }),
        ...(changes && { groups: changes }),
      }
    })
  }

  const isWanted = (name: string) => byName.has(groupKey(name))
  await directory.readAll(signal, isWanted, async (page, groupsOf) => {
    people += page.length
    if (hasWritten) sizes = await sizesOf(db, groups)
    hasWritten = false
    for (const { subject } of page) seen.add(subject)
    const bySubject = new Map(page.map(person => [person.subject, person]))
    const known = await findIssuedMembers(db, source, [...bySubject.keys()])
    await mapAtMost(atOnce, known, async each => {
      const person = bySubject.get(each.subject)
      if (!person) return
      await follow(each, person, groupsOf?.(person) ?? null).catch(error => {
        // Another account has got the address meanwhile. The next reading follows.
        if (!isUniqueViolation(error)) throw error
      })
    })
  })

  const { gone, active } = await findGone(db, source, { seen, since })
  if (gone.length === 0) return people
  if (people === 0 || gone.length > Math.max(mayGo.least, active * mayGo.part)) {
    const count = `${gone.length} of ${active} members`
    throw new AppError('UNAVAILABLE', `The directory misses ${count}, so nobody was deactivated: check its filter.`)
  }
  for (let first = 0; first < gone.length; first += pageSize) {
    for (const known of await findIssuedMembers(db, source, gone.slice(first, first + pageSize))) {
      signal.throwIfAborted()
      await record('MEMBER_DEACTIVATE', known, async change => {
        if (!(await lockUnusedIdentity(change, known.identityId, since))) return null
        if (!(await deactivateIssuedMember(change, known.member, source))) return null
        await revokeSessionsOf(change, known.member.userId)
        return {}
      })
    }
  }
  return people
}

/** Returns the subjects of active members who were not seen and have not signed in since the reading began, and the number of active members. */
async function findGone(db: Database, source: string, { seen, since }: { seen: ReadonlySet<string>; since: Date }) {
  const gone: string[] = []
  let active = 0
  let after = ''
  for (;;) {
    const subjects = await listActiveSubjects(db, source, { unusedSince: since, after, limit: pageSize })
    active += subjects.length
    gone.push(...subjects.filter(subject => !seen.has(subject)))
    const last = subjects.at(-1)
    if (last === undefined || subjects.length < pageSize) return { gone, active }
    after = last
  }
}

/** Returns the name that a member gets; null for the same one, and for one that is invalid. */
function newName({ member }: IssuedMember, { name }: DirectoryPerson): string | null {
  const parsed = name === null ? null : valid(() => parseName(name, 'A name'))
  return parsed === member.name ? null : parsed
}

/** Returns the address that a member gets; null for the same one, and for one that is invalid or belongs to another account. */
async function newEmail(db: Database, { member }: IssuedMember, { email }: DirectoryPerson): Promise<string | null> {
  const parsed = email === null ? null : valid(() => parseEmail(email))
  if (parsed === null || parsed === member.email) return null
  const isOther = parsed.toLowerCase() !== member.email.toLowerCase()
  return isOther && (await isEmailTaken(db, parsed)) ? null : parsed
}

function valid(parse: () => string): string | null {
  try {
    return parse()
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Returns the numbers of members of groups. */
async function sizesOf(db: Database, groups: readonly MemberGroup[]): Promise<ReadonlyMap<string, number>> {
  if (groups.length === 0) return new Map()
  return countGroupMembers(
    db,
    groups.map(({ id }) => id),
  )
}

/** A group that is full takes nobody, so that those who are missing in it have not changed. */
function haveChanged(
  { member, issuedGroups }: IssuedMember,
  named: readonly MemberGroup[] | null,
  sizes: ReadonlyMap<string, number>,
): boolean {
  if (named === null) return false
  const present = new Set(member.groups.map(({ id }) => id))
  const ids = new Set(named.map(({ id }) => id))
  const isOpen = ({ id }: MemberGroup) => !present.has(id) && (sizes.get(id) ?? 0) < maxGroupMembers
  const mayJoin = member.groups.length < maxGroupsOfMember && named.some(isOpen)
  return mayJoin || issuedGroups.some(id => !ids.has(id))
}

/** In seconds, until a reading that failed is tried again. */
const failureSchedule: RetrySchedule = { delays: [60, 5 * 60, 15 * 60, 60 * 60], isEndless: true, jitter: 0.1 }
/** Milliseconds between two looks at the time of the next run. */
const pollInterval = 15_000

/** Reads the directory at an interval, on one of the servers at a time. Returns a function that ends it. */
export function startDirectorySync(
  context: SyncContext & { minutes: number; onError: (error: unknown) => void },
): () => Promise<void> {
  const { db, directory, minutes, onError } = context
  const { source } = directory
  let isRegistered = false
  let failures = 0

  async function isDue(): Promise<boolean> {
    if (!isRegistered) await registerSync(db, source)
    isRegistered = true
    return isAnySyncDue(db, source)
  }

  async function run(claimId: string, signal: AbortSignal): Promise<void> {
    const lost = new AbortController()
    using _lease = new LeaseKeeper({
      interval: (syncClaimSeconds * 1000) / 4,
      timeout: (syncClaimSeconds * 1000) / 2,
      isExact: true,
      renew: () => renewSync(db, source, claimId),
      onLost: () => lost.abort(new Error('Another server reads the directory.')),
      onError,
    })
    const settle = (seconds: number, people: number | null, error: string | null) =>
      settleSync(db, { source, claimId }, { seconds, people, error })
    try {
      const people = await syncDirectory(context, AbortSignal.any([signal, lost.signal]))
      failures = 0
      await settle(minutes * 60, people, null)
    } catch (error) {
      if (signal.aborted || lost.signal.aborted) return
      failures += 1
      await settle(Math.min(retryDelay(failureSchedule, failures) ?? 0, minutes * 60), null, toAppError(error).message)
      throw error
    }
  }

  const polling = startClaiming({
    interval: pollInterval,
    atOnce: 1,
    isAnyDue: isDue,
    async claim() {
      const claimId = randomUUID()
      return (await claimSync(db, source, claimId)) ? claimId : null
    },
    work: run,
    onError,
  })
  return polling.stop
}
