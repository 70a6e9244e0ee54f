/**
 * Rights in memory. A process that has registered in the database holds a lease of a second, and meanwhile answers from what it
 * has read: members, sessions, keys, shares, and the versions of providers. A change of rights returns when each process has
 * dropped what is older, or when its lease has ended, so a request that begins afterwards is decided by the new rights.
 * Without a lease, each request asks the database. `test/rights/protocol.ts` is a model of the rules.
 */
import { randomUUID } from 'node:crypto'
import { basePathsIn, type ProviderAccess } from '../../auth/access.ts'
import type { ProviderName, SeenProvider } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { listen } from '../../db/listen.ts'
import { batched, type CredentialLookup } from '../../db/lookups.ts'
import { leaseTime, type RightsVersion, removeReader, renewReader, rightsChannel } from '../../db/rights.ts'
import { LruMap } from '../../lib/lru-map.ts'

/** Milliseconds between renewals while rights are used. */
const renewalInterval = leaseTime * 0.4
/** Milliseconds by which the clocks of the process may move apart during a lease. They do after a suspension. */
const maxDivergence = 20
/** Results, of all kinds together. */
const maxKept = 20_000

/** A result of the database, with the version that the same statement has read. */
export interface Versioned {
  version: RightsVersion
}

interface MemoryLease {
  /** Milliseconds of the monotonic clock. */
  end: number
  /** The time of day less the monotonic clock. */
  offset: number
}

export interface RightsMemory {
  /**
   * Returns `find` with a memory. A value that `find` does not find, or finds incomplete, is never kept.
   * @param kind separates the keys of one function from those of another
   */
  remembering<Found extends Versioned>(
    kind: string,
    find: (key: string) => Promise<Found | null>,
    isComplete?: (found: Found, key: string) => boolean,
  ): (key: string) => Promise<Found | null>
  close(): Promise<void>
}

export function createRightsMemory(db: Database, onError: (error: unknown) => void): RightsMemory {
  const id = randomUUID()
  const kept = new LruMap<string, Versioned>(maxKept)
  let seen: RightsVersion | null = null
  let lease: MemoryLease | null = null
  let isUsed = false
  let isClosed = false
  let renewing: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  let stopListening: (() => Promise<void>) | null = null

  function hasLease(): boolean {
    isUsed = true
    if (!lease) return false
    const now = performance.now()
    return now < lease.end && Math.abs(Date.now() - now - lease.offset) < maxDivergence
  }

  /** Drops what is older than the version. */
  function see(version: RightsVersion): void {
    if (seen?.epoch !== version.epoch) {
      lease = null
      kept.clear()
    } else if (version.counter <= seen.counter) return
    else kept.clear()
    seen = version
  }

  async function renew(): Promise<void> {
    for (;;) {
      const before = seen
      // The lease begins before the statement is sent: its registration ends later.
      const start = performance.now()
      const offset = Date.now() - start
      const version = await renewReader(db, id, before)
      see(version)
      if (isClosed) return
      lease = { end: start + leaseTime, offset }
      // A change waits until the registration shows that it was seen.
      if (before?.epoch === version.epoch && before.counter === seen?.counter) return
    }
  }

  function startRenewal(): void {
    if (isClosed || renewing) return
    clearTimeout(timer)
    isUsed = false
    listenForChanges()
    renewing = renew()
      .catch(() => {
        // Requests report that the database does not respond.
        lease = null
      })
      .finally(() => {
        renewing = null
        timer = setTimeout(() => (isUsed ? startRenewal() : undefined), renewalInterval).unref()
      })
  }

  function listenForChanges(): void {
    stopListening ??= listen(db, {
      channel: rightsChannel,
      onNotification(payload) {
        if (seen) see({ epoch: seen.epoch, counter: Number(payload) })
        if (lease) startRenewal()
      },
      onListening: () => {},
      onError,
    })
  }

  function keep(key: string, found: Versioned): void {
    see(found.version)
    if (seen && found.version.counter < seen.counter) return
    kept.set(key, found)
  }

  return {
    remembering<Found extends Versioned>(
      kind: string,
      find: (key: string) => Promise<Found | null>,
      isComplete: (found: Found, key: string) => boolean = () => true,
    ) {
      return async (key: string): Promise<Found | null> => {
        const name = `${kind} ${key}`
        if (hasLease()) {
          const known = kept.get(name) as Found | undefined
          if (known) return known
        } else startRenewal()
        const found = await find(key)
        if (found && hasLease() && isComplete(found, key)) keep(name, found)
        return found
      }
    },

    async close() {
      isClosed = true
      lease = null
      clearTimeout(timer)
      await renewing
      await stopListening?.()
      await removeReader(db, id).catch(() => {})
    },
  }
}

/**
 * Returns a function that finds a credential together with the provider that its request names. Lookups that arrive together
 * share a query, and later ones use the memory.
 * @param query.valueOf converts the text of a credential, which contains no space, to its value in the database
 */
export function rememberedLookups<Value, Found extends Versioned & { seenProvider: SeenProvider | null }>(query: {
  memory: RightsMemory
  /** Names the credentials in the memory. */
  kind: string
  find: (lookups: readonly CredentialLookup<Value>[]) => Promise<Found[]>
  valueOf: (text: string) => Value
  textOf: (found: Found) => string
  accessOf: (found: Found) => ProviderAccess
}): (text: string, provider: ProviderName | null) => Promise<Found | null> {
  const load = batched(async (keys: readonly string[]) => {
    const rows = await query.find(
      keys.map(partsOf).map(({ text, provider }) => ({ value: query.valueOf(text), provider })),
    )
    const found = new Map(rows.flatMap(row => keysOf(query.textOf(row), row.seenProvider).map(key => [key, row])))
    const results = new Map<string, Found>()
    for (const key of keys) {
      // Without such a provider, the row has none.
      const row = found.get(key) ?? found.get(keyOf(partsOf(key).text, null))
      if (row) results.set(key, row)
    }
    return results
  })
  // Otherwise, the time of a response would tell hidden providers, which exist, from missing ones.
  const isVisible = (found: Found) =>
    found.seenProvider !== null && basePathsIn(query.accessOf(found), found.seenProvider.id) !== null
  const find = query.memory.remembering(
    query.kind,
    load,
    (found, key) => partsOf(key).provider === null || isVisible(found),
  )
  return (text, provider) => find(keyOf(text, provider))
}

/** Returns the keys of the lookups that a row is the result of. */
function keysOf(text: string, seen: SeenProvider | null): string[] {
  return seen ? [keyOf(text, { id: seen.id }), keyOf(text, { slug: seen.slug })] : [keyOf(text, null)]
}

function keyOf(text: string, provider: ProviderName | null): string {
  if (provider === null) return `${text}  `
  return 'id' in provider ? `${text} id ${provider.id}` : `${text} slug ${provider.slug}`
}

function partsOf(key: string): { text: string; provider: ProviderName | null } {
  const [text = '', kind, name = ''] = key.split(' ', 3)
  if (kind === '') return { text, provider: null }
  return { text, provider: kind === 'id' ? { id: name } : { slug: name } }
}
