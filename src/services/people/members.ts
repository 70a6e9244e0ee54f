import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireRecent, requireScope, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { includesScope, type Role } from '../../auth/scopes.ts'
import { combine, type Member, memberPermissions, type Permissions, type Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { deleteLinkInvite } from '../../db/link-invites.ts'
import {
  batchedMembers,
  countOwners,
  deactivateMember,
  deleteMember,
  findMember,
  type Joined,
  listMembers,
  type MemberFilter,
  reactivateMember,
  updateMember,
} from '../../db/members.ts'
import { revokeSessionsOf } from '../../db/sessions.ts'
import { deleteUserWithoutMembership } from '../../db/users.ts'
import { lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parsePageSize } from '../input.ts'
import { type AccessInput, given, parseAccess, requireProviders } from './access.ts'
import { endRefusedSessions, requirePasswordOwner } from './password-policy.ts'
import { requireNoOwner } from './service-accounts.ts'

const maxPage = 200

export type Members = ReturnType<typeof createMembers>

export function createMembers({
  db,
  audit,
  sources,
}: {
  db: Database
  audit: Audit
  /** The names in identities of the issuer and the LDAP directory that the operator has set, if any. */
  sources: readonly string[]
}) {
  /** Changes one membership at a time. The viewer must be allowed to assign both the old and the new role. */
  async function change<T>(
    viewer: Viewer | null,
    userId: string,
    recording: Recording,
    work: (trx: Change, admin: Viewer, target: Member) => Promise<T>,
  ): Promise<T> {
    const admin = requireWorkspaceAdmin(viewer)
    requireRecent(admin)
    const { workspaceId } = admin.member
    return recording.commit(async trx => {
      await lockWorkspace(trx, workspaceId)
      const target = isId(userId) ? await findMember(trx, workspaceId, userId) : null
      if (!target) throw new AppError('NOT_FOUND', 'There is no such member.')
      recording.add({ details: { email: target.email, name: target.name, before: given(target.own) } })
      requireMayAssign(admin, target)
      return work(trx, admin, target)
    })
  }

  async function requireOtherOwner(trx: Database, target: Member): Promise<void> {
    if (target.deactivatedAt) return
    if (target.own.role === 'OWNER' && target.own.access.all && (await countOwners(trx, target.workspaceId)) === 1) {
      throw new AppError(
        'LAST_OWNER',
        'The workspace must keep an owner with access to all providers: make somebody else one first.',
      )
    }
  }

  const memberOf = batchedMembers(db)

  /** Finds the member behind an object that the viewer may see; null if they have left. */
  async function find(viewer: Viewer, userId: string): Promise<Member | null> {
    if (userId === viewer.member.userId) return viewer.member
    return memberOf(`${requireScope(viewer, 'admin').member.workspaceId}/${userId}`)
  }

  return {
    /** Returns null for somebody who is no longer a member, or whom the viewer may not see. */
    async findVisible(viewer: Viewer, userId: string): Promise<Member | null> {
      const isVisible = userId === viewer.member.userId || includesScope(viewer.scope, 'admin')
      return isVisible ? find(viewer, userId) : null
    },

    /** Lists members in the order of joining. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, INVALID_CURSOR */
    async list(
      viewer: Viewer | null,
      page: { first: number; after?: string | null | undefined },
      filter: {
        groupId?: string | null | undefined
        isService?: boolean | null | undefined
        isOwner?: boolean | null | undefined
        /** Whether they can use single sign-on. */
        hasIdentity?: boolean | null | undefined
      } = {},
    ) {
      const admin = requireWorkspaceAdmin(viewer)
      const limit = parsePageSize(page.first, maxPage)
      const after = page.after == null ? null : decodeCursor(page.after)
      const { groupId, isService, isOwner, hasIdentity } = filter
      if (groupId != null && !isId(groupId)) return { items: [], hasNext: false }
      const selected: MemberFilter = {
        groupId: groupId ?? undefined,
        isService: isService ?? undefined,
        isOwner: isOwner ?? undefined,
        identities: hasIdentity == null ? undefined : { present: hasIdentity, sources },
      }
      const found = await listMembers(db, admin.member.workspaceId, { limit: limit + 1, after }, selected)
      const items = found.slice(0, limit).map(({ member, joined }) => ({ member, cursor: encodeCursor(joined) }))
      return { items, hasNext: found.length > limit }
    },

    /** Finds a member like `find`. @throws NOT_FOUND */
    async owner(viewer: Viewer, userId: string): Promise<Member> {
      const member = await find(viewer, userId)
      if (!member) throw new AppError('NOT_FOUND', 'There is no such member.')
      return member
    },

    /**
     * Returns a member and what they may do, without any right to act as them. The look is recorded.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND
     */
    async view(viewer: Viewer | null, userId: string): Promise<{ member: Member; permissions: Permissions }> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'MEMBER_VIEW', { subject }, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        const member = isId(userId) ? await find(admin, userId) : null
        if (!member) throw new AppError('NOT_FOUND', 'There is no such member.')
        recording.add({ details: { email: member.email, name: member.name } })
        return { member, permissions: memberPermissions(member) }
      })
    },

    /**
     * Changes what a member has apart from their groups.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP, LAST_OWNER, INVALID_INPUT, NOT_FOUND
     */
    update(
      viewer: Viewer | null,
      input: { userId: string; role?: Role | null | undefined; providerAccess?: AccessInput | null | undefined },
    ): Promise<Member> {
      const subject = { kind: 'MEMBER', id: input.userId } as const
      return audit.recorded(viewer, 'MEMBER_UPDATE', { subject }, async recording => {
        const asked = input.providerAccess ? parseAccess(input.providerAccess) : null
        return change(viewer, input.userId, recording, async (trx, admin, target) => {
          if (target.userId === admin.member.userId) throw new AppError('OWN_MEMBERSHIP')
          const next = { role: input.role ?? target.own.role, access: asked ?? target.own.access }
          recording.add({ details: { after: given(next) } })
          requireMayAssign(admin, next)
          if (target.isService) requireNoOwner(next.role)
          if (asked) await requireProviders(trx, target.workspaceId, asked)
          if (next.role !== 'OWNER' || !next.access.all) await requireOtherOwner(trx, target)
          await updateMember(trx, target.workspaceId, target.userId, next)
          // It was made for a member who could do less or more.
          await deleteLinkInvite(trx, target.userId)
          await requirePasswordOwner(trx, target.workspaceId)
          await endRefusedSessions(trx, target)
          return { ...target, ...combine(next, target.groups), own: next }
        })
      })
    },

    /**
     * Ends the sessions of a member, and refuses their API keys and share links until they are reactivated.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, OWN_MEMBERSHIP, LAST_OWNER, NOT_FOUND
     */
    deactivate(viewer: Viewer | null, userId: string): Promise<Member> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'MEMBER_DEACTIVATE', { subject }, recording =>
        change(viewer, userId, recording, async (trx, admin, target) => {
          if (target.userId === admin.member.userId)
            throw new AppError('OWN_MEMBERSHIP', 'Nobody deactivates themselves.')
          await requireOtherOwner(trx, target)
          await deactivateMember(trx, target)
          await requirePasswordOwner(trx, target.workspaceId)
          await revokeSessionsOf(trx, target.userId)
          return { ...target, deactivatedAt: target.deactivatedAt ?? new Date() }
        }),
      )
    },

    /** @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, NOT_FOUND */
    reactivate(viewer: Viewer | null, userId: string): Promise<Member> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'MEMBER_REACTIVATE', { subject }, recording =>
        change(viewer, userId, recording, async (trx, _admin, target) => {
          await reactivateMember(trx, target)
          return { ...target, deactivatedAt: null }
        }),
      )
    },

    /** Removes a member, with their sessions and keys. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, LAST_OWNER, NOT_FOUND */
    async remove(viewer: Viewer | null, userId: string): Promise<void> {
      const subject = { kind: 'MEMBER', id: userId } as const
      await audit.recorded(viewer, 'MEMBER_REMOVE', { subject }, recording =>
        change(viewer, userId, recording, async (trx, _admin, target) => {
          await requireOtherOwner(trx, target)
          await deleteMember(trx, target.workspaceId, target.userId)
          await requirePasswordOwner(trx, target.workspaceId)
          await deleteUserWithoutMembership(trx, target.userId)
        }),
      )
    },
  }
}

function encodeCursor({ at, userId }: Joined): string {
  return Buffer.from(`${at.getTime()}/${userId}`).toString('base64url')
}

/** @throws INVALID_CURSOR */
function decodeCursor(cursor: string): Joined {
  const [time = '', userId = ''] = Buffer.from(cursor, 'base64url').toString().split('/')
  const joined = { at: new Date(Number(time)), userId }
  if (!/^\d{1,15}$/.test(time) || !isId(userId) || encodeCursor(joined) !== cursor) throw new AppError('INVALID_CURSOR')
  return joined
}
