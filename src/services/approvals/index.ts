/**
 * Approvals: a workspace can require that a person approves what agents delete or overwrite through MCP. The call waits, and is then
 * decided again with the rights that the agent has at that time.
 */
import { hash } from 'node:crypto'
import { includesPath } from '../../auth/access.ts'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { formatPath, parsePath } from '../../auth/path.ts'
import { isUnrestricted, requireAccount, requireSession } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import {
  type ApprovalRecord,
  decideApproval,
  deleteOldApprovals,
  findApprovalOf,
  findApprovals,
  insertApproval,
  listPendingApprovals,
  useApproval,
} from '../../db/approvals.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import type { ApprovalKind } from '../../db/schema.ts'
import { findWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'
import { createWaits } from '../../lib/waits.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import type { Audit } from '../audit/index.ts'
import type { FileEntry } from '../files/index.ts'
import type { Credentials } from '../people/credentials.ts'
import { createApprovalFeed } from './feed.ts'

/** The maximum number of pending approvals per member. */
export const maxPendingApprovals = 20
/** Approvals that a person sees at once. */
export const maxShownApprovals = 200
/** Milliseconds that a call waits. Most clients give a call up after a minute. */
const maxWait = 45_000
/** Milliseconds between two queries for the decisions of other servers. One on this server is known at once. */
const waitInterval = 1000
/** Calls that wait at once on one server. Others fail at once, so that they do not take the turns of the console of the person. */
const maxWaits = { member: 20, all: 100 }
/** Seconds that a person has to decide. */
const lifetime = 60 * 60
/** Seconds in which the agent has to call again after the decision. */
const decidedLifetime = 10 * 60

/** A call that removes or replaces an entry. */
export interface ApprovalCall {
  kind: ApprovalKind
  tool: string
  args: object
  /** The entry that is there now. */
  entry: FileEntry
}

export function createApprovals(options: {
  db: Database
  audit: Audit
  credentials: Pick<Credentials, 'recallViewer'>
  activeGrants: ActiveGrants
  onError: (error: unknown) => void
}) {
  const { db, audit, credentials } = options
  const waits = createWaits<ApprovalRecord>({
    interval: waitInterval,
    async search(ids, resolve) {
      for (const each of await findApprovals(db, ids)) if (each.state !== 'PENDING') resolve(each.id, each)
    },
    stopping,
    onError: options.onError,
  })
  const slots = new Slots<'member'>(maxWaits)
  const feed = createApprovalFeed({ ...options, list })
  const nextId = timeOrderedIds()

  async function list(viewer: Viewer | null): Promise<ApprovalRecord[]> {
    const present = requireSession(viewer)
    const { workspaceId, userId } = present.member
    const ofServices = isUnrestricted(present)
    const found = await listPendingApprovals(db, { workspaceId, userId, ofServices, limit: maxShownApprovals })
    return found.filter(each => isShown(present, each))
  }

  /** Finds the approval of a call, or asks for one. */
  async function ask(viewer: Viewer, call: ApprovalCall): Promise<ApprovalRecord> {
    const { kind, tool, entry } = call
    const { member, credentialId } = viewer
    const of = { credentialId, callHash: hashOf(call) }
    const known = await findApprovalOf(db, of)
    if (known) return known
    const { providerId, size, modifiedAt } = entry
    const path = formatPath(entry.path)
    const facts = { location: { providerId, path }, details: { tool, kind } }
    await audit.recorded(viewer, 'APPROVAL_REQUEST', facts, recording =>
      recording.commit(async change => {
        const { workspaceId, userId } = member
        const details = {
          entryKind: entry.kind === 'file' ? ('FILE' as const) : ('FOLDER' as const),
          size,
          modifiedAt: modifiedAt?.toISOString() ?? null,
          ...shownArguments(call.args),
        }
        const asked = {
          id: nextId(new Date()),
          workspaceId,
          userId,
          ...of,
          kind,
          tool,
          providerId,
          path,
          details,
          lifetime,
        }
        const credentialKind = requireAccount(viewer)
        if (await insertApproval(change, { ...asked, credentialKind }, maxPendingApprovals)) return
        throw new AppError(
          'TOO_MANY_APPROVALS',
          `${maxPendingApprovals} calls wait for approval, which is the limit: wait until a person has decided about some.`,
        )
      }),
    )
    const asked = await findApprovalOf(db, of)
    if (!asked) throw pending()
    return asked
  }

  async function decisionAbout({ id, workspaceId, userId }: ApprovalRecord, signal: AbortSignal) {
    using slot = slots.tryTake({ member: `${workspaceId} ${userId}` })
    if (!slot) return null
    const end = AbortSignal.timeout(maxWait)
    return await waits.wait(id, AbortSignal.any([signal, end])).catch(error => {
      if (error === end.reason) return null
      throw error
    })
  }

  return {
    /** Returns what needs approval in the workspace of the viewer. */
    async required(viewer: Viewer): Promise<readonly ApprovalKind[]> {
      return (await findWorkspace(db, viewer.member.workspaceId))?.approvals ?? []
    },

    /**
     * Waits until a person has approved a call. The approval permits one call.
     * @param find finds the entry again, which must be the version that the person has seen
     * @returns the viewer with its present rights, with which the caller has to decide again
     * @throws APPROVAL_PENDING if nobody decides in time, APPROVAL_REFUSED, TOO_MANY_APPROVALS; as `Credentials.recall` and `find`
     */
    async wait(
      viewer: Viewer,
      call: ApprovalCall,
      find: (viewer: Viewer) => Promise<FileEntry>,
      signal: AbortSignal,
    ): Promise<Viewer> {
      const asked = await ask(viewer, call)
      const decided = asked.state === 'PENDING' ? await decisionAbout(asked, signal) : asked
      if (!decided) throw pending()
      if (decided.state === 'REFUSED') throw new AppError('APPROVAL_REFUSED')
      const present = await credentials.recallViewer(viewer)
      if (!(await useApproval(db, asked.id))) throw pending()
      const entry = await find(present)
      if (!hashOf({ ...call, entry }).equals(hashOf(call))) throw pending()
      return present
    },

    /** Returns the pending approvals that the viewer can decide about, the oldest first. @throws SESSION_REQUIRED */
    list,

    /** Follows what `list` returns. @throws SESSION_REQUIRED, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE */
    follow: feed.open,

    /**
     * Approves or refuses a call. Only the session of the member can, or of an administrator for a service account.
     * @throws SESSION_REQUIRED, NOT_FOUND, PRECONDITION_FAILED
     */
    decide(viewer: Viewer | null, id: string, isApproved: boolean): Promise<ApprovalRecord> {
      return audit.recorded(viewer, 'APPROVAL_DECIDE', { details: { isApproved } }, async recording => {
        const present = requireSession(viewer)
        const [approval] = isId(id) ? await findApprovals(db, [id]) : []
        if (!approval || !(await mayDecide(present, approval)))
          throw new AppError('NOT_FOUND', 'There is no such call.')
        const { providerId, path, tool, credentialName, credentialId } = approval
        recording.add({ location: { providerId, path }, details: { tool, credentialName, credentialId } })
        const state = isApproved ? 'APPROVED' : 'REFUSED'
        await recording.commit(async change => {
          const decision = { id, state, userId: present.member.userId, lifetime: decidedLifetime } as const
          if (await decideApproval(change, decision)) return
          throw new AppError('PRECONDITION_FAILED', 'The call does not wait any more.')
        })
        waits.check()
        return { ...approval, state }
      })
    },

    /** Deletes approvals that have ended. */
    sweep: () => deleteOldApprovals(db),

    async close(): Promise<void> {
      await Promise.all([waits.close(), feed.close()])
    },
  }

  async function mayDecide(viewer: Viewer, approval: ApprovalRecord): Promise<boolean> {
    if (approval.workspaceId !== viewer.member.workspaceId || !isShown(viewer, approval)) return false
    if (approval.userId === viewer.member.userId) return true
    const owner = isUnrestricted(viewer) ? await findMember(db, approval.workspaceId, approval.userId) : null
    return owner?.isService === true
  }
}

/** Returns whether the viewer still may see what the call is about. */
function isShown({ access }: Viewer, { providerId, path }: ApprovalRecord): boolean {
  return includesPath(access, providerId, parsePath(path))
}

/** Names a call together with the version of the entry that the person sees: another version needs another approval. */
function hashOf({ tool, args, entry }: ApprovalCall): Buffer {
  const { providerId, kind, etag, size, modifiedAt } = entry
  // The time of a folder changes with each entry in it.
  const version = kind === 'file' ? [etag, size, modifiedAt] : []
  const sorted = Object.entries(args).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify([tool, sorted, providerId, entry.path, kind, version]), 'buffer')
}

/** Returns the arguments that tell a person what would happen. Content is not one of them. */
function shownArguments(args: object) {
  const { path, toPath, permanent, recursive, content } = args as Record<string, unknown>
  return {
    from: typeof toPath === 'string' && typeof path === 'string' ? path : null,
    isPermanent: permanent === true,
    isRecursive: recursive === true,
    newLength: typeof content === 'string' ? content.length : null,
  }
}

function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The server is stopping: call again.', { retryAfterMs: 1000 })
}

function pending(): AppError {
  return new AppError('APPROVAL_PENDING', undefined, { retryAfterMs: 5000 })
}
