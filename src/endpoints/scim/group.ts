/** Groups in the form of SCIM (RFC 7643, section 4.2). */
import type { ScimGroup, ScimGroupField, ScimGroupMember } from '../../db/scim.ts'
import type { MembersChange, ScimGroupChange } from '../../services/people/scim/groups.ts'
import { attributesOf, invalidValue, listOf, type PatchOperation, textOrNull } from './body.ts'
import { invalidPath, parsePath, type ScimPath } from './filter.ts'

export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'

/** The attributes of filters, in lower case. */
export const groupFields: Readonly<Record<string, ScimGroupField>> = {
  id: 'id',
  displayname: 'displayName',
  externalid: 'externalId',
  members: 'member',
  'members.value': 'member',
}

/** @param members null to leave them out @param location the address of the group */
export function groupResource(group: ScimGroup, members: readonly ScimGroupMember[] | null, location: string) {
  return {
    schemas: [groupSchema],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.name,
    ...(members && {
      members: members.map(({ userId, name, email }) => ({ value: userId, display: name ?? email, type: 'User' })),
    }),
    meta: {
      resourceType: 'Group',
      created: group.createdAt.toISOString(),
      lastModified: group.updatedAt.toISOString(),
      location,
    },
  }
}

/** Reads a group of POST and PUT. @throws INVALID_INPUT */
export function readGroup(body: unknown): ScimGroupChange & { name: string } {
  const attributes = attributesOf(body)
  const name = textOrNull(attributes.get('displayname'), 'displayName')
  if (name === null) throw invalidValue('A group needs a displayName.')
  return {
    name,
    externalId: textOrNull(attributes.get('externalid'), 'externalId'),
    // A client that leaves the members out does not mean that there are none.
    members: attributes.has('members') ? [{ kind: 'set', userIds: idsIn(attributes.get('members')) }] : [],
  }
}

/** @throws INVALID_INPUT */
function idsIn(value: unknown): string[] {
  return listOf(value).map(each => {
    const id = typeof each === 'string' ? each : textOrNull(attributesOf(each).get('value'), 'The value of a member')
    if (id === null) throw invalidValue('A member needs a value, which is the id of a user.')
    return id.toLowerCase()
  })
}

/** Returns what operations change together. Attributes that nothing here has are ignored. @throws INVALID_INPUT */
export function patchGroup(operations: readonly PatchOperation[]): ScimGroupChange {
  let name: string | undefined
  let externalId: string | null | undefined
  const members: MembersChange[] = []
  const apply = (path: ScimPath, { kind, value }: Pick<PatchOperation, 'kind' | 'value'>) => {
    const { attribute } = path
    if (attribute === 'displayname' && kind !== 'remove') name = textOrNull(value, 'displayName') ?? name
    if (attribute === 'externalid') externalId = kind === 'remove' ? null : textOrNull(value, 'externalId')
    if (attribute === 'members') members.push(changeOf(path, kind, value))
  }
  for (const { path, value, kind } of operations) {
    if (path) apply(path, { kind, value })
    else for (const [name, each] of attributesOf(value)) apply(parsePath(name), { kind, value: each })
  }
  return { name, externalId, members }
}

/** Returns what an operation changes. A filter that cannot be applied is refused, because it never means all members. @throws INVALID_INPUT */
function changeOf({ selector, part }: ScimPath, kind: PatchOperation['kind'], value: unknown): MembersChange {
  if (part !== null) throw invalidPath('An operation changes members as a whole.')
  if (selector !== null) {
    if (selector.attribute !== 'value' || typeof selector.value !== 'string') {
      throw invalidPath('The path of a member is members[value eq "<id>"].')
    }
    if (kind !== 'remove') throw invalidValue('An operation on one member can only remove it.')
    return { kind, userIds: [selector.value.toLowerCase()] }
  }
  if (kind === 'remove' && value === undefined) return { kind: 'set', userIds: [] }
  if (value === undefined) throw invalidValue('An operation that adds or replaces members needs a value.')
  return { kind: kind === 'replace' ? 'set' : kind, userIds: idsIn(value) }
}
