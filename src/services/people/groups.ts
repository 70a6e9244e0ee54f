/** Groups of members. The role and access of a group add to those of its members. */
import { isId } from '../../auth/id.ts'
import { isUnrestricted, requireMayAssign, requireRecent, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Role } from '../../auth/scopes.ts'
import type { Given, MemberGroup, Viewer } from '../../auth/viewer.ts'
import { type Change, type Database, isUniqueViolation } from '../../db/client.ts'
import { findIssuedGroupIds } from '../../db/directories.ts'
import {
  countGroupMembers,
  countGroups,
  deleteGroup,
  deleteGroupMember,
  findGroup,
  type GroupRole,
  groupKey,
  insertGroup,
  insertGroupMember,
  listGroups,
  updateGroup,
} from '../../db/groups.ts'
import { batched } from '../../db/lookups.ts'
import { confirmMember, findMember } from '../../db/members.ts'
import { lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { parseName, parsePageSize } from '../input.ts'
import { type AccessInput, given, parseAccess, requireProviders } from './access.ts'

export const maxGroupsPage = 100
/** The maximum numbers of groups in a workspace, of members in a group, and of groups of a member. */
export const maxGroups = 500
export const maxGroupMembers = 10_000
export const maxGroupsOfMember = 50
/** Each request of a member reads the access of all of their groups. */
export const maxGroupRestrictions = 100
/** Bytes of UTF-8, as the database holds it: a compatibility form can be many times as long as the text. */
const maxKeyBytes = 1024

export interface GroupInput {
  name: string
  role: Role
  providerAccess?: AccessInput | null | undefined
}

export function createGroups({
  db,
  audit,
  sources,
}: {
  db: Database
  audit: Audit
  /** The issuer that the operator has set, if it names groups, and the LDAP directory. */
  sources: readonly string[]
}) {
  const memberCounts = batched((ids: readonly string[]) => countGroupMembers(db, ids))

  /** Changes one group at a time. The viewer must be allowed to assign its role. */
  function change<T>(
    viewer: Viewer | null,
    id: string,
    recording: Recording,
    work: (trx: Change, admin: Viewer, group: MemberGroup) => Promise<T>,
  ): Promise<T> {
    const admin = requireWorkspaceAdmin(viewer)
    requireRecent(admin)
    const { workspaceId } = admin.member
    return recording.commit(async trx => {
      await lockWorkspace(trx, workspaceId)
      const group = isId(id) ? await findGroup(trx, workspaceId, id) : null
      if (!group) throw new AppError('NOT_FOUND', 'There is no such group.')
      requireMayAssign(admin, group)
      return work(trx, admin, group)
    })
  }

  return {
    /** Lists groups in the order of their names. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, INVALID_CURSOR */
    async list(viewer: Viewer | null, page: { first: number; after?: string | null | undefined }) {
      const admin = requireWorkspaceAdmin(viewer)
      const limit = parsePageSize(page.first, maxGroupsPage)
      const after = page.after == null ? null : decodeCursor(page.after)
      const found = await listGroups(db, admin.member.workspaceId, { limit: limit + 1, after })
      const items = found.slice(0, limit).map(group => ({ group, cursor: encodeCursor(groupKey(group.name)) }))
      return { items, hasNext: found.length > limit }
    },

    /** Returns the number of members; null for a viewer who does not administer the whole workspace. */
    async memberCount(viewer: Viewer | null, { id }: MemberGroup): Promise<number | null> {
      if (!viewer || !isUnrestricted(viewer)) return null
      return (await memberCounts(id)) ?? 0
    },

    /**
     * Creates a group without members.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS, TOO_MANY_GROUPS
     */
    create(viewer: Viewer | null, input: GroupInput): Promise<MemberGroup> {
      return audit.recorded(viewer, 'GROUP_CREATE', {}, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        requireRecent(admin)
        requireMayAssign(admin, input)
        const name = parseGroupName(input.name)
        const role = parseGroupRole(input.role)
        const access = parseGroupAccess(input.providerAccess)
        recording.add({ details: { name, gives: given({ role, access }) } })
        const { workspaceId } = admin.member
        return recording.commit(async trx => {
          await lockWorkspace(trx, workspaceId)
          await requireProviders(trx, workspaceId, access)
          if ((await countGroups(trx, workspaceId)) >= maxGroups) {
            throw new AppError('TOO_MANY_GROUPS', `A workspace has at most ${maxGroups} groups: delete one first.`)
          }
          const group = await insertGroup(trx, workspaceId, { name, role, access }).catch(toTaken)
          recording.add({ subject: { kind: 'GROUP', id: group.id } })
          return group
        })
      })
    },

    /**
     * Changes a group, and thereby the rights of its members.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS
     */
    update(
      viewer: Viewer | null,
      input: { id: string } & { [Key in keyof GroupInput]?: GroupInput[Key] | null | undefined },
    ): Promise<MemberGroup> {
      const subject = { kind: 'GROUP', id: input.id } as const
      return audit.recorded(viewer, 'GROUP_UPDATE', { subject }, async recording => {
        const name = input.name == null ? null : parseGroupName(input.name)
        const access = input.providerAccess ? parseGroupAccess(input.providerAccess) : null
        return change(viewer, input.id, recording, async (trx, admin, group) => {
          if (input.role) requireMayAssign(admin, { role: input.role })
          const next = {
            name: name ?? group.name,
            role: parseGroupRole(input.role ?? group.role),
            access: access ?? group.access,
          }
          recording.add({ details: { name: group.name, newName: next.name, before: given(group), after: given(next) } })
          if (access) await requireProviders(trx, admin.member.workspaceId, access)
          await updateGroup(trx, group.id, next).catch(toTaken)
          return { id: group.id, ...next }
        })
      })
    },

    /** Deletes a group. Its members lose what only it gave them. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND */
    delete(viewer: Viewer | null, id: string): Promise<MemberGroup> {
      return audit.recorded(viewer, 'GROUP_DELETE', { subject: { kind: 'GROUP', id } }, recording =>
        change(viewer, id, recording, async (trx, _admin, group) => {
          recording.add({ details: { name: group.name, gives: given(group) } })
          await deleteGroup(trx, group.id)
          return group
        }),
      )
    },

    /**
     * Adds a member, who thereby counts as confirmed. Nothing changes if they are in the group already.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, NOT_FOUND, TOO_MANY_GROUPS
     */
    addMember(viewer: Viewer | null, groupId: string, userId: string): Promise<MemberGroup> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'GROUP_MEMBER_ADD', { subject }, recording =>
        change(viewer, groupId, recording, async (trx, admin, group) => {
          const { workspaceId } = admin.member
          const target = isId(userId) ? await findMember(trx, workspaceId, userId) : null
          if (!target) throw new AppError('NOT_FOUND', 'There is no such member.')
          recording.add({ details: membership(group, target) })
          requireMayAssign(admin, target)
          if (target.groups.some(each => each.id === group.id)) return group
          const members = (await countGroupMembers(trx, [group.id])).get(group.id) ?? 0
          if (members >= maxGroupMembers) {
            throw new AppError('TOO_MANY_GROUPS', `A group has at most ${maxGroupMembers} members: create another one.`)
          }
          if (target.groups.length >= maxGroupsOfMember) {
            throw new AppError('TOO_MANY_GROUPS', `A member is in at most ${maxGroupsOfMember} groups.`)
          }
          await insertGroupMember(trx, { workspaceId, groupId: group.id, userId })
          await confirmMember(trx, workspaceId, userId)
          return group
        }),
      )
    },

    /**
     * Removes a member, unless an issuer or a directory has named them and still names members of groups.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND
     */
    removeMember(viewer: Viewer | null, groupId: string, userId: string): Promise<MemberGroup> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'GROUP_MEMBER_REMOVE', { subject }, recording =>
        change(viewer, groupId, recording, async (trx, admin, group) => {
          const { workspaceId } = admin.member
          const target = isId(userId) ? await findMember(trx, workspaceId, userId) : null
          if (target) {
            recording.add({ details: membership(group, target) })
            requireMayAssign(admin, target)
          }
          const issued = await findIssuedGroupIds(trx, target ? [userId] : [], sources)
          if (issued.get(userId)?.includes(group.id)) {
            throw new AppError('INVALID_INPUT', 'An issuer or a directory names this member: remove them there.')
          }
          if (!target || !(await deleteGroupMember(trx, { workspaceId, groupId: group.id, userId }))) {
            throw new AppError('NOT_FOUND', 'The group has no such member.')
          }
          return group
        }),
      )
    },
  }
}

function membership({ id, name }: MemberGroup, target: { email: string; name: string | null }) {
  return { email: target.email, name: target.name, group: { id, name } }
}

/** @throws INVALID_INPUT */
export function parseGroupName(text: string): string {
  const name = parseName(text, 'The name of a group')
  if (Buffer.byteLength(groupKey(name)) > maxKeyBytes) {
    throw new AppError('INVALID_INPUT', 'The name of a group is too long in its Unicode normal form.')
  }
  return name
}

/** Only a member can be an owner, so that the last owner cannot be lost with a group. @throws INVALID_INPUT */
function parseGroupRole(role: Given['role']): GroupRole {
  if (role === 'OWNER') {
    throw new AppError(
      'INVALID_INPUT',
      'A group cannot have the role OWNER: give it to each owner with "updateMember".',
    )
  }
  return role
}

/** @throws INVALID_INPUT, INVALID_PATH */
function parseGroupAccess(input: AccessInput | null | undefined) {
  if ((input?.restrictions?.length ?? 0) > maxGroupRestrictions) {
    throw new AppError('INVALID_INPUT', `A group has at most ${maxGroupRestrictions} restrictions.`)
  }
  return parseAccess(input)
}

function toTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error
  throw new AppError('ALREADY_EXISTS', 'A group with this name exists: choose another name.')
}

function encodeCursor(key: string): string {
  return Buffer.from(key).toString('base64url')
}

/** @throws INVALID_CURSOR */
function decodeCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (key.includes('\0') || encodeCursor(key) !== cursor) throw new AppError('INVALID_CURSOR')
  return key
}
