/**
 * Who is in which group of a directory, read at once. Only groups of the workspace matter, and the groups within them: so a few searches
 * find the members of all of them, where a search for the groups of each person would take one per person.
 */
import type { Entry, SearchOptions } from 'ldapts'
import { AppError } from '../../../errors.ts'
import type { DirectoryConnection } from './connection.ts'
import { dnKey } from './dn.ts'
import { type DirectoryPerson, maxDepth, maxGroups, pageSize, textsOf } from './entries.ts'

/** Groups in a directory, groups whose members are read, and their members together. */
const maxListed = 100_000
const maxRead = 10_000
const maxMembers = 2_000_000

/** The names of the groups of a person, also of those that contain them through other groups. */
export type GroupsOf = (person: Pick<DirectoryPerson, 'dn' | 'uid'>) => string[]

interface Group {
  dn: string
  names: readonly string[]
  /** The groups that contain it. */
  parents: Group[]
}

/** @param isWanted whether a group of the workspace has this name */
export async function readMemberships(
  connection: DirectoryConnection,
  { base, groupFilter }: { base: string; groupFilter: string },
  isWanted: (name: string) => boolean,
): Promise<GroupsOf> {
  const listed = await listGroups(connection, { base, groupFilter })
  const byMember = new Map<string, Group[]>()
  const read = new Set<Group>()
  let members = 0

  /** Returns those of its members that are groups. */
  async function readMembers(group: Group): Promise<Group[]> {
    if (read.size > maxRead) throw tooMany(`${maxRead} groups with members`)
    const inner: Group[] = []
    for await (const values of membersOf(connection, group.dn)) {
      members += values.length
      if (members > maxMembers) throw tooMany(`${maxMembers} members of groups`)
      for (const value of values) {
        const child = listed.get(value)
        const groups = byMember.get(value)
        if (child) inner.push(child)
        else if (groups) groups.push(group)
        else byMember.set(value, [group])
      }
    }
    for (const child of inner) child.parents.push(group)
    return inner
  }

  let next = [...listed.values()].filter(({ names }) => names.some(isWanted))
  for (let depth = 0; depth < maxDepth && next.length > 0; depth++) {
    const inner: Group[] = []
    for (const group of next) {
      // A group that was read before is part of a cycle, or is in several groups.
      if (read.has(group)) continue
      read.add(group)
      inner.push(...(await readMembers(group)))
    }
    next = inner
  }

  return ({ dn, uid }) => {
    const key = dnKey(dn)
    const direct = [key === null ? [] : byMember.get(key), uid === null ? [] : byMember.get(uidKey(uid))]
    const groups = new Set(direct.flatMap(each => each ?? []))
    // Groups that are added while the set is read are visited, too.
    for (const { parents } of groups) {
      for (const parent of parents) if (groups.size < maxGroups) groups.add(parent)
    }
    return [...groups].flatMap(({ names }) => names).filter(isWanted)
  }
}

async function listGroups(
  connection: DirectoryConnection,
  { base, groupFilter }: { base: string; groupFilter: string },
): Promise<Map<string, Group>> {
  const options: SearchOptions = { scope: 'sub', filter: groupFilter, attributes: ['cn'], paged: { pageSize } }
  const listed = new Map<string, Group>()
  const pages = await connection.ask(async client => client.searchPaginated(base, options))
  for (;;) {
    const page = await connection.ask(() => pages.next())
    if (page.done) return listed
    for (const { dn, cn } of page.value.searchEntries) {
      const key = dnKey(dn)
      if (key !== null) listed.set(key, { dn, names: textsOf(cn), parents: [] })
    }
    if (listed.size > maxListed) throw tooMany(`${maxListed} groups`)
  }
}

const memberAttributes = ['member', 'uniqueMember', 'memberUid']

/**
 * Returns the keys of the members of a group. Active Directory sends up to 1500 at once, and names their range (MS-ADTS, section
 * 3.1.1.3.1.3.3).
 */
async function* membersOf(connection: DirectoryConnection, dn: string): AsyncGenerator<string[]> {
  let attributes = memberAttributes
  while (attributes.length > 0) {
    const options: SearchOptions = { scope: 'base', filter: '(objectClass=*)', attributes }
    const { searchEntries } = await connection.ask(client => client.search(dn, options))
    const found = Object.entries(searchEntries[0] ?? {}).map(([name, values]) => ({ ...attributeOf(name), values }))
    yield found.flatMap(({ type, values }) => keysIn(type, values))
    attributes = found.flatMap(({ type, next }) => (next === null ? [] : `${type};range=${next}-*`))
  }
}

/** @returns `next` the number of the first value that the directory has not sent; null for none */
function attributeOf(name: string): { type: string; next: number | null } {
  const [type = '', ...options] = name.toLowerCase().split(';')
  const last = options.map(option => /^range=\d{1,9}-(\d{1,9})$/.exec(option)?.[1]).find(each => each !== undefined)
  return { type, next: last === undefined ? null : Number(last) + 1 }
}

/** @param type in lowercase */
function keysIn(type: string, values: Entry[string]): string[] {
  const texts = [values].flat().filter(value => typeof value === 'string')
  if (type === 'memberuid') return texts.map(uidKey)
  if (type === 'member') return texts.flatMap(text => dnKey(text) ?? [])
  // The syntax of uniqueMember adds an optional number of bits (RFC 4517, section 3.3.21).
  if (type === 'uniquemember') return texts.flatMap(text => dnKey(text.replace(/#'[01]*'B$/, '')) ?? [])
  return []
}

/** No key of a DN begins like this. */
function uidKey(uid: string): string {
  return `+${uid}`
}

function tooMany(what: string): AppError {
  return new AppError('UNAVAILABLE', `The directory has more than ${what}: narrow STOWAGE_LDAP_GROUP_FILTER.`)
}
