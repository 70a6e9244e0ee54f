/** Groups of SCIM (RFC 7643, section 4.2). They are the groups of the workspace; their role and access come from administrators. */
import { allProviders } from '../../../auth/access.ts'
import { isId } from '../../../auth/id.ts'
import { type Change, type Database, isUniqueViolation } from '../../../db/client.ts'
import {
  countGroupMembers,
  countGroups,
  deleteGroup,
  findGroup,
  type GroupRole,
  insertGroup,
  updateGroup,
} from '../../../db/groups.ts'
import {
  addScimGroupMembers,
  findScimGroup,
  findScimUserIds,
  listScimGroupMembers,
  listScimGroups,
  removeScimGroupMembers,
  type ScimGroup,
  type ScimGroupField,
  type ScimGroupMember,
  type ScimTerm,
  setScimCreator,
  setScimGroupId,
} from '../../../db/scim.ts'
import { AppError } from '../../../errors.ts'
import type { Audit, Recording } from '../../audit/index.ts'
import { maxGroupMembers, maxGroups, maxGroupsOfMember, parseGroupName } from '../groups.ts'
import { recordScim, type ScimClient } from './tokens.ts'
import { parseText } from './users.ts'

/** A change of the members of a group. They are ids of users. */
export type MembersChange = { kind: 'add' | 'remove' | 'set'; userIds: readonly string[] }

/** The changes that a client wants. Undefined properties stay. */
export interface ScimGroupChange {
  name?: string | undefined
  externalId?: string | null | undefined
  /** In their order. */
  members: readonly MembersChange[]
}

/** Groups in one page: with their members, and without. */
export const maxGroupsWithMembers = 20
export const maxGroupsWithoutMembers = 200
/** Members in one page of groups: at least those of the largest group. */
const maxMembersInPage = 20_000
/** Ids of members that an event names. */
const maxNamed = 100

export function createScimGroups({ db, audit }: { db: Database; audit: Audit }) {
  async function require(trx: Database, { token }: ScimClient, id: string): Promise<ScimGroup> {
    const group = isId(id) ? await findScimGroup(trx, token, id) : null
    if (!group) throw new AppError('NOT_FOUND', 'There is no such group.')
    return group
  }

  async function changeMembers(
    change: Change,
    { token }: ScimClient,
    { id: groupId, role, isIssued }: Pick<ScimGroup, 'id' | 'role' | 'isIssued'>,
    steps: readonly MembersChange[],
    recording: Recording,
  ): Promise<void> {
    if (steps.length === 0) return
    const before = new Set(
      (await listScimGroupMembers(change, token, [groupId], maxMembersInPage)).map(({ userId }) => userId),
    )
    const after = resultOf(before, steps)
    const asked = [...after].filter(id => !before.has(id))
    if (asked.some(id => !isId(id))) throw unknownMembers()
    const known = asked.length === 0 ? [] : await findScimUserIds(change, token, asked)
    if (known.length < asked.length) throw unknownMembers()
    // A directory changes nothing of an owner.
    const joining = known.filter(({ isOwner }) => !isOwner)
    if (joining.some(({ groups }) => groups >= maxGroupsOfMember)) {
      throw new AppError('TOO_MANY_GROUPS', `A member is in at most ${maxGroupsOfMember} groups.`)
    }
    if (joining.length > 0 && role === 'ADMIN' && !isIssued) {
      throw new AppError(
        'EXCEEDS_OWN_REACH',
        'This group makes administrators: only they add members to it, in Stowage.',
      )
    }
    const left = [...before].filter(id => !after.has(id))
    await removeScimGroupMembers(change, token, { groupId, userIds: left })
    const userIds = joining.map(({ id }) => id)
    const joined = await addScimGroupMembers(change, token, { groupId, userIds })
    if (((await countGroupMembers(change, [groupId])).get(groupId) ?? 0) > maxGroupMembers) {
      throw new AppError('TOO_MANY_GROUPS', `A group has at most ${maxGroupMembers} members: create another one.`)
    }
    recording.add({
      details: {
        ...(joined.length > 0 && { joined: joined.slice(0, maxNamed), joinedCount: joined.length }),
        ...(left.length > 0 && { left: left.slice(0, maxNamed), leftCount: left.length }),
      },
    })
  }

  return {
    /** @param page.offset from 0 */
    async list(
      { token }: ScimClient,
      terms: readonly ScimTerm<ScimGroupField>[],
      page: { offset: number; limit: number; withMembers: boolean },
    ): Promise<{ total: number; items: ScimGroup[] }> {
      const most = page.withMembers ? maxGroupsWithMembers : maxGroupsWithoutMembers
      const limit = Math.min(page.limit, most)
      const { total, items } = await listScimGroups(db, token, terms, { ...page, limit })
      if (!page.withMembers || items.length === 0) return { total, items }
      // A page has fewer groups if they are large. Clients continue after the last one of a page.
      const counts = await countGroupMembers(
        db,
        items.map(({ id }) => id),
      )
      let members = 0
      const fitting = items.filter(({ id }) => {
        members += counts.get(id) ?? 0
        return members <= maxMembersInPage
      })
      return { total, items: fitting.length > 0 ? fitting : items.slice(0, 1) }
    },

    /** @throws NOT_FOUND */
    get(client: ScimClient, id: string): Promise<ScimGroup> {
      return require(db, client, id)
    },

    /** Returns the members that the directory has given to some groups. @throws INVALID_INPUT */
    async members({ token }: ScimClient, groups: readonly ScimGroup[]): Promise<ScimGroupMember[]> {
      const ids = groups.map(({ id }) => id)
      const found = await listScimGroupMembers(db, token, ids, maxMembersInPage + 1)
      if (found.length <= maxMembersInPage) return found
      throw new AppError('INVALID_INPUT', 'These groups have too many members: ask for fewer, or without "members".', {
        facts: { scimType: 'tooMany' },
      })
    },

    /**
     * Creates a group with the role NONE, until an administrator gives it another one.
     * @throws ALREADY_EXISTS, INVALID_INPUT, TOO_MANY_GROUPS, INVALID_CREDENTIAL
     */
    create(client: ScimClient, given: ScimGroupChange & { name: string }): Promise<ScimGroup> {
      const name = parseGroupName(given.name)
      const externalId = given.externalId == null ? null : parseText(given.externalId, 'externalId')
      const { workspaceId } = client.token
      return recordScim(audit, client, 'GROUP_CREATE', { details: { name } }, async (change, recording) => {
        if ((await countGroups(change, workspaceId)) >= maxGroups) {
          throw new AppError('TOO_MANY_GROUPS', `A workspace has at most ${maxGroups} groups: delete one first.`)
        }
        const values = { name, role: 'NONE', access: allProviders } as const
        const { id } = await insertGroup(change, workspaceId, values).catch(toTaken)
        recording.add({ subject: { kind: 'GROUP', id } })
        await setScimCreator(change, client.token, id)
        await setScimGroupId(change, client.token, id, externalId)
        await changeMembers(change, client, { id, role: 'NONE', isIssued: true }, given.members, recording)
        return require(change, client, id)
      })
    },

    /**
     * Changes a group. Only groups that the directory has created get another name.
     * @throws NOT_FOUND, ALREADY_EXISTS, INVALID_INPUT, TOO_MANY_GROUPS, INVALID_CREDENTIAL
     */
    async update(client: ScimClient, id: string, wish: ScimGroupChange): Promise<ScimGroup> {
      await require(db, client, id)
      const subject = { kind: 'GROUP', id } as const
      const { workspaceId } = client.token
      return recordScim(audit, client, 'GROUP_UPDATE', { subject }, async (change, recording) => {
        const group = await require(change, client, id)
        recording.add({ details: { name: group.name } })
        if (wish.name !== undefined && wish.name !== group.name) {
          if (!group.isIssued) {
            throw new AppError('INVALID_INPUT', 'This directory has not created this group: rename it in Stowage.')
          }
          const name = parseGroupName(wish.name)
          const stored = await findGroup(change, workspaceId, id)
          if (stored) {
            const role = stored.role as GroupRole
            await updateGroup(change, id, { name, role, access: stored.access }).catch(toTaken)
          }
          recording.add({ details: { newName: name } })
        }
        const externalId = wish.externalId === undefined ? group.externalId : wish.externalId
        const parsed = externalId === null ? null : parseText(externalId, 'externalId')
        await setScimGroupId(change, client.token, id, parsed)
        await changeMembers(change, client, group, wish.members, recording)
        return require(change, client, id)
      })
    },

    /** Deletes a group that the directory has created. Another one only loses the members that it has given to it. @throws NOT_FOUND */
    async remove(client: ScimClient, id: string): Promise<void> {
      const { isIssued } = await require(db, client, id)
      const subject = { kind: 'GROUP', id } as const
      await recordScim(
        audit,
        client,
        isIssued ? 'GROUP_DELETE' : 'GROUP_UPDATE',
        { subject },
        async (change, recording) => {
          const group = await require(change, client, id)
          recording.add({ details: { name: group.name } })
          if (group.isIssued) return deleteGroup(change, id)
          await setScimGroupId(change, client.token, id, null)
          await changeMembers(change, client, group, [{ kind: 'set', userIds: [] }], recording)
        },
      )
    },
  }
}

export type ScimGroups = ReturnType<typeof createScimGroups>

function resultOf(before: ReadonlySet<string>, steps: readonly MembersChange[]): Set<string> {
  let after = new Set(before)
  for (const { kind, userIds } of steps) {
    if (kind === 'set') after = new Set(userIds)
    else if (kind === 'add') for (const id of userIds) after.add(id)
    else for (const id of userIds) after.delete(id)
  }
  return after
}

function unknownMembers(): AppError {
  return new AppError('INVALID_INPUT', 'A member of the group is no user of this directory: create the user first.')
}

function toTaken(error: unknown): never {
  if (!isUniqueViolation(error)) throw error
  throw new AppError('ALREADY_EXISTS', 'A group with this name exists: use that one, or choose another name.')
}
