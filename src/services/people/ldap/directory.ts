/**
 * People of an LDAP directory. A name and a password enter at a sign-in (`sign-in.ts`), and the whole directory enters at an
 * interval (`sync.ts`). Members and their groups leave.
 *
 * This file reads people and groups of a directory.
 */
import type { SearchOptions } from 'ldapts'
import type { Network } from '../../../../adapters/contract.ts'
import { AppError } from '../../../errors.ts'
import { mapAtMost } from '../../../lib/limiter.ts'
import { type DirectoryConnection, type DirectoryServer, escapeFilter, withDirectory } from './connection.ts'
import {
  binaryAttributes,
  type DirectoryPerson,
  maxDepth,
  maxGroups,
  pageSize,
  personAttributes,
  personOf,
  textsOf,
} from './entries.ts'
import { type GroupsOf, readMemberships } from './memberships.ts'

export interface DirectorySettings extends DirectoryServer {
  bindDn: string
  bindPassword: string
  /** The DN below which people and groups are. */
  base: string
  /** Finds people. `{login}` stands for what somebody enters. */
  filter: string
  /** Finds groups; null if groups do not follow the directory. */
  groupFilter: string | null
}

/** Milliseconds for a sign-in. */
const signInTime = 15_000
/** Milliseconds for reading all people with their groups. */
export const readTime = 60 * 60 * 1000
const searchesAtOnce = 8

interface DirectoryGroup {
  dn: string
  names: readonly string[]
}

/** The name of the source in stored identities. A directory keeps it when its address or the branch of its people changes. */
export function sourceOf(base: string): string {
  const parts = base.toLowerCase().split(/,\s*/)
  const domain = parts.slice(parts.findIndex(part => part.startsWith('dc=')))
  return `ldap:${parts.some(part => part.startsWith('dc=')) ? domain.join(',') : parts.join(',')}`
}

export type Directory = ReturnType<typeof createDirectory>

export function createDirectory(settings: DirectorySettings, network: Pick<Network, 'connect' | 'startTls'>) {
  const { base, filter, groupFilter } = settings
  const target = { server: settings, network }
  const reader = { dn: settings.bindDn, password: settings.bindPassword }

  /** Returns the only person with this login; null for none, and for several. */
  async function find(connection: DirectoryConnection, login: string): Promise<DirectoryPerson | null> {
    const options = {
      scope: 'sub',
      filter: filter.replaceAll('{login}', () => escapeFilter(login)),
      attributes: personAttributes,
      explicitBufferAttributes: binaryAttributes,
      sizeLimit: 2,
    } as const
    const { searchEntries } = await connection.ask(client => client.search(base, options))
    const [only, another] = searchEntries
    return only && !another ? personOf(only) : null
  }

  async function parentsOf(
    connection: DirectoryConnection,
    { dn, uid }: Pick<DirectoryPerson, 'dn' | 'uid'>,
  ): Promise<DirectoryGroup[]> {
    const member = escapeFilter(dn)
    const posix = uid === null ? '' : `(memberUid=${escapeFilter(uid)})`
    const options: SearchOptions = {
      scope: 'sub',
      filter: `(&${groupFilter}(|(member=${member})(uniqueMember=${member})${posix}))`,
      attributes: ['cn'],
      paged: { pageSize },
    }
    const { searchEntries } = await connection.ask(client => client.search(base, options))
    return searchEntries.slice(0, maxGroups).map(entry => ({ dn: entry.dn, names: textsOf(entry.cn) }))
  }

  /** Returns the names of the groups of a person, also of those that contain them through other groups; null if groups do not follow. */
  async function groupsOf(connection: DirectoryConnection, person: DirectoryPerson): Promise<string[] | null> {
    if (groupFilter === null) return null
    const seen = new Map<string, DirectoryGroup>()
    let next = await parentsOf(connection, person)
    for (let depth = 0; depth < maxDepth && next.length > 0; depth++) {
      // A group that was seen before is part of a cycle, or contains the person in several ways.
      const fresh = next.filter(group => seen.size < maxGroups && !seen.has(group.dn) && seen.set(group.dn, group))
      const above = await mapAtMost(searchesAtOnce, fresh, ({ dn }) => parentsOf(connection, { dn, uid: null }))
      next = above.flat()
    }
    return [...seen.values()].flatMap(({ names }) => names)
  }

  return {
    source: sourceOf(base),

    /**
     * Finds the person with a login, and lets them prove their password with `prove`, which returns null if it is wrong.
     * @param tryPassword counts the attempt for the person
     * @returns null for a wrong login or password
     * @throws UNAVAILABLE
     */
    async signIn(
      { login, password }: { login: string; password: string },
      tryPassword: (subject: string, work: () => Promise<boolean>) => Promise<boolean>,
      signal?: AbortSignal,
    ): Promise<{ person: DirectoryPerson; groups: string[] | null } | null> {
      // Directories take a bind without a password as that of a stranger, and accept it (RFC 4513, section 5.1.2).
      if (password === '' || login === '' || /\0/.test(login + password)) return null
      const bounds = { milliseconds: signInTime, signal }
      return withDirectory(target, reader, bounds, async connection => {
        const person = await find(connection, login)
        const prove = (dn: string) => isPasswordOf(dn, password, bounds)
        if (!person) {
          // An unknown login takes as long as a wrong password.
          await prove(`cn=nobody,${base}`)
          return null
        }
        if (!(await tryPassword(person.subject, () => prove(person.dn)))) return null
        return { person, groups: await groupsOf(connection, person) }
      }).catch(error => {
        throw error instanceof AppError ? error : unavailable(error, signal)
      })
    },

    /**
     * Reads all people, in pages, after all groups.
     * @param isWanted whether a group of the workspace has this name
     * @param work gets the names of the wanted groups of a person; null if groups do not follow
     * @throws UNAVAILABLE, and what `work` throws
     */
    async readAll(
      signal: AbortSignal,
      isWanted: (name: string) => boolean,
      work: (people: readonly DirectoryPerson[], groupsOf: GroupsOf | null) => Promise<void>,
    ): Promise<void> {
      const options = {
        scope: 'sub',
        filter: filter.replaceAll('{login}', '*'),
        attributes: personAttributes,
        explicitBufferAttributes: binaryAttributes,
        paged: { pageSize },
      } as const
      let failure: { error: unknown } | null = null
      await withDirectory(target, reader, { milliseconds: readTime, signal }, async connection => {
        const groupsOf =
          groupFilter === null ? null : await readMemberships(connection, { base, groupFilter }, isWanted)
        const pages = await connection.ask(async client => client.searchPaginated(base, options))
        for (;;) {
          const page = await connection.ask(() => pages.next())
          if (page.done) return
          const people = page.value.searchEntries.flatMap(entry => personOf(entry) ?? [])
          await work(people, groupsOf).catch(error => {
            failure = { error }
            throw error
          })
        }
      }).catch(error => {
        // The directory has no part in what goes wrong with the work.
        if (failure) throw failure.error
        throw error instanceof AppError ? error : unavailable(error, signal)
      })
    },

    /** Returns whether the directory has anybody, for `stowage doctor`. @throws as `withDirectory` */
    async check(): Promise<boolean> {
      const everybody = filter.replaceAll('{login}', '*')
      const options: SearchOptions = { scope: 'sub', filter: everybody, attributes: ['1.1'], sizeLimit: 1 }
      return withDirectory(target, reader, { milliseconds: signInTime }, async connection => {
        const { searchEntries } = await connection.ask(client => client.search(base, options))
        return searchEntries.length > 0
      })
    },
  }

  /** Binds as somebody, on a connection of its own. */
  async function isPasswordOf(
    dn: string,
    password: string,
    bounds: { milliseconds: number; signal?: AbortSignal | undefined },
  ): Promise<boolean> {
    const { ResultCodeError } = await import('ldapts')
    return withDirectory(target, { dn, password }, bounds, async () => true).catch(error => {
      if (error instanceof ResultCodeError && refusals.has(error.code)) return false
      throw error
    })
  }
}

/**
 * Codes of a bind that a directory refuses: wrong credentials, and an account that is locked or must not sign in (RFC 4511, section
 * 4.1.9).
 */
const refusals: ReadonlySet<number> = new Set([8, 19, 32, 34, 48, 49, 50, 53])

function unavailable(cause: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason
  return new AppError('UNAVAILABLE', 'The directory does not respond: try again later.', { cause })
}
