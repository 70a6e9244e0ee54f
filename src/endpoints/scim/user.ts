/** Users in the form of SCIM (RFC 7643, section 4.1). */
import type { ScimUser, ScimUserField } from '../../db/scim.ts'
import type { ScimUserValues } from '../../services/people/scim/users.ts'
import { attributesOf, booleanOf, invalidValue, listOf, type PatchOperation, textOrNull } from './body.ts'
import { parsePath, type ScimPath } from './filter.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'

/** The attributes of filters, in lower case. */
export const userFields: Readonly<Record<string, ScimUserField>> = {
  id: 'id',
  username: 'userName',
  externalid: 'externalId',
  emails: 'email',
  'emails.value': 'email',
  displayname: 'displayName',
  'name.givenname': 'givenName',
  'name.familyname': 'familyName',
  active: 'active',
}

/** @param location the address of the user */
export function userResource({ member, ...user }: ScimUser, location: string) {
  const { givenName, familyName } = user
  const name = { givenName, familyName, formatted: member.name }
  return {
    schemas: [userSchema],
    id: member.userId,
    ...(user.externalId !== null && { externalId: user.externalId }),
    userName: user.userName,
    name: Object.fromEntries(Object.entries(name).filter(([, value]) => value !== null)),
    ...(member.name !== null && { displayName: member.name }),
    emails: [{ value: member.email, type: 'work', primary: true }],
    active: member.deactivatedAt === null,
    groups: member.groups.map(group => ({ value: group.id, display: group.name })),
    meta: {
      resourceType: 'User',
      created: user.createdAt.toISOString(),
      lastModified: user.updatedAt.toISOString(),
      location,
    },
  }
}

/** Reads a user of POST and PUT. @param isActive without `active` @throws INVALID_INPUT */
export function readUser(body: unknown, isActive: boolean): ScimUserValues {
  const attributes = attributesOf(body)
  const userName = textOrNull(attributes.get('username'), 'userName')
  if (userName === null) throw invalidValue('A user needs a userName.')
  const email = emailIn(attributes.get('emails')) ?? (userName.includes('@') ? userName : null)
  if (email === null) throw invalidValue('A user needs an email address, in "emails" or as the userName.')
  const given = attributes.get('name')
  const name = given === undefined || given === null ? new Map<string, unknown>() : attributesOf(given)
  const part = (of: string) => textOrNull(name.get(of.toLowerCase()), `name.${of}`)
  const [givenName, familyName] = [part('givenName'), part('familyName')]
  const fullName = [givenName, familyName].filter(each => each !== null).join(' ')
  return {
    userName,
    externalId: textOrNull(attributes.get('externalid'), 'externalId'),
    email,
    displayName: textOrNull(attributes.get('displayname'), 'displayName') ?? part('formatted') ?? (fullName || null),
    givenName,
    familyName,
    isActive: attributes.has('active') ? booleanOf(attributes.get('active'), 'active') : isActive,
  }
}

/** Returns the primary address, or the one for work, or the first one. @throws INVALID_INPUT */
function emailIn(value: unknown): string | null {
  const emails = listOf(value).map(each => (typeof each === 'string' ? new Map([['value', each]]) : attributesOf(each)))
  const isTrue = (flag: unknown) => flag === true || String(flag).toLowerCase() === 'true'
  const chosen =
    emails.find(each => isTrue(each.get('primary'))) ?? emails.find(each => each.get('type') === 'work') ?? emails[0]
  return chosen ? textOrNull(chosen.get('value'), 'The value of an email') : null
}

/** Applies operations in their order. Attributes that nothing here has are ignored. @throws INVALID_INPUT */
export function patchUser(current: ScimUserValues, operations: readonly PatchOperation[]): ScimUserValues {
  return operations.reduce((values, { kind, path, value }) => {
    if (kind === 'remove') return path ? removed(values, path) : values
    if (path) return changed(values, path, value)
    // Without a path, the names of the attributes can be paths, as Microsoft Entra sends them.
    const entries = Object.entries(Object.fromEntries(attributesOf(value)))
    return entries.reduce((next, [name, each]) => changed(next, parsePath(name), each), values)
  }, current)
}

function removed(values: ScimUserValues, { attribute, part }: ScimPath): ScimUserValues {
  if (attribute === 'externalid') return { ...values, externalId: null }
  if (attribute === 'displayname') return { ...values, displayName: null }
  if (attribute !== 'name') return values
  return {
    ...values,
    ...(part !== 'familyname' && part !== 'formatted' && { givenName: null }),
    ...(part !== 'givenname' && part !== 'formatted' && { familyName: null }),
  }
}

/** Returns whether a path can mean the only address that an account has, as `userResource` shows it. */
function isOwnAddress({ selector, part }: ScimPath): boolean {
  if (part !== null && part !== 'value') return false
  if (selector === null) return true
  const { attribute, value } = selector
  return (
    (attribute === 'type' && value === 'work') || (attribute === 'primary' && String(value).toLowerCase() === 'true')
  )
}

function changed(values: ScimUserValues, path: ScimPath, value: unknown): ScimUserValues {
  const { attribute, part } = path
  switch (attribute) {
    case 'active':
      return { ...values, isActive: booleanOf(listOf(value)[0], 'active') }
    case 'username':
      return { ...values, userName: textOrNull(value, 'userName') ?? values.userName }
    case 'externalid':
      return { ...values, externalId: textOrNull(value, 'externalId') }
    case 'displayname':
      return { ...values, displayName: textOrNull(value, 'displayName') }
    case 'emails':
      return isOwnAddress(path) ? { ...values, email: emailIn(value) ?? values.email } : values
    case 'name':
      return changedName(values, part, value)
    default:
      return values
  }
}

function changedName(values: ScimUserValues, part: string | null, value: unknown): ScimUserValues {
  if (part === null) {
    const entries = Object.entries(Object.fromEntries(attributesOf(value)))
    return entries.reduce((next, [name, each]) => changedName(next, name, each), values)
  }
  if (part === 'givenname') return { ...values, givenName: textOrNull(value, 'name.givenName') }
  if (part === 'familyname') return { ...values, familyName: textOrNull(value, 'name.familyName') }
  if (part === 'formatted' && values.displayName === null) {
    return { ...values, displayName: textOrNull(value, 'name.formatted') }
  }
  return values
}
