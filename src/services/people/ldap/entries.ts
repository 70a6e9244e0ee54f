/** People and groups as entries of a directory. */
import type { Entry } from 'ldapts'

/** Somebody in the directory. */
export interface DirectoryPerson {
  dn: string
  /** Permanent in the directory. */
  subject: string
  /** The name with which POSIX groups list them; null without one. */
  uid: string | null
  email: string | null
  name: string | null
}

/** People in one answer. Active Directory sends at most 1000. */
export const pageSize = 500
/** Groups of a person, nested ones included, and the depth of their nesting. */
export const maxGroups = 1000
export const maxDepth = 20
/** Characters of a text of the directory. */
const maxText = 254

/**
 * Attributes that name a person forever: RFC 4530 (OpenLDAP, FreeIPA), then those of Active Directory and of 389 Directory Server.
 */
const subjectAttributes = ['entryUUID', 'objectGUID', 'nsUniqueId', 'ipaUniqueID'] as const
export const personAttributes = [...subjectAttributes, 'uid', 'mail', 'displayName', 'cn']
export const binaryAttributes = ['objectGUID']

/** Returns null for an entry without a permanent name. */
export function personOf(entry: Entry): DirectoryPerson | null {
  const subject = subjectAttributes.map(name => subjectIn(entry[name])).find(each => each !== null)
  if (!subject) return null
  const first = (name: string) => textsOf(entry[name])[0] ?? null
  return {
    dn: entry.dn,
    subject,
    uid: first('uid'),
    email: first('mail'),
    name: first('displayName') ?? first('cn'),
  }
}

/** `objectGUID` is binary. */
function subjectIn(value: Entry[string] | undefined): string | null {
  const one = Array.isArray(value) ? value[0] : value
  if (Buffer.isBuffer(one)) return one.length === 16 ? one.toString('hex') : null
  return typeof one === 'string' && /^[\x21-\x7e]{1,100}$/.test(one) ? one.toLowerCase() : null
}

/** Returns the values that an account or a group could have. */
export function textsOf(value: Entry[string] | undefined): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.filter(
    (each): each is string =>
      typeof each === 'string' && each !== '' && each.length <= maxText && each.isWellFormed() && !/\p{Cc}/u.test(each),
  )
}
