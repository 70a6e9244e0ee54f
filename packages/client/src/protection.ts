import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'

/** A hold: until it ends, nobody changes, moves or deletes anything at its path and below it. */
export interface Hold {
  /** The ID for `release`. */
  id: string
  providerId: string
  path: string
  reason: string
  /** The time at which the hold ends; null if it lasts until an owner releases it. */
  until: Date | null
  createdAt: Date
  /** The email address of the person who created it; null if you may not see them, or if they have left. */
  createdBy: string | null
  /** The time at which an owner released it, or null. */
  releasedAt: Date | null
  /** Whether it is a lock of one object, as S3 Object Lock sets it. */
  isObjectLock: boolean
}

export interface NewHold extends Location {
  /** The reason, which people who read the entry see. */
  reason: string
  /** The time at which the hold ends. Nobody ends it earlier. Without it, the hold lasts until an owner releases it. */
  until?: Date | null
}

export interface HoldListOptions extends RequestOptions {
  /** Only the holds of this provider. */
  providerId?: string
}

/** A lock: until it ends, only the member who holds it changes the entry. */
export interface EntryLock {
  /** The ID for `end`. */
  id: string
  /** The path of the locked entry, which may be a folder around this one. */
  path: string
  /** Whether everything below the path is locked as well. */
  isDeep: boolean
  /** Whether the lock excludes all others. Several members can hold shared locks of one entry. */
  isExclusive: boolean
  /** The display name of the member who holds it; null without one. */
  holderName: string | null
  /** The time at which the lock ends, unless its program refreshes it. */
  expiresAt: Date
}

const holdFields = 'id providerId path reason until createdAt createdBy { email } releasedAt isObjectLock'
const lockFields = 'lock { id path isDeep isExclusive holderName expiresAt }'

const holdsQuery = `query Holds($providerId: ID, $after: String) {
  holds(first: 100, providerId: $providerId, after: $after) {
    nodes { ${holdFields} }
    pageInfo { hasNextPage endCursor }
  }
}`
const createMutation = `mutation CreateHold($input: CreateHoldInput!) { createHold(input: $input) { ${holdFields} } }`
const releaseMutation = `mutation ReleaseHold($id: ID!) { releaseHold(id: $id) { ${holdFields} } }`
const lockQuery = `query Lock($providerId: ID!, $path: String!) {
  entry(providerId: $providerId, path: $path) { ${lockFields} }
}`
const endMutation = `mutation EndLock($input: EndLockInput!) { endLock(input: $input) { ${lockFields} } }`

interface HoldNode extends Omit<Hold, 'until' | 'createdAt' | 'createdBy' | 'releasedAt'> {
  until: string | null
  createdAt: string
  createdBy: { email: string } | null
  releasedAt: string | null
}

interface LockedNode {
  lock: (Omit<EntryLock, 'expiresAt'> & { expiresAt: string }) | null
}

function toHold({ until, createdAt, createdBy, releasedAt, ...hold }: HoldNode): Hold {
  return {
    ...hold,
    until: until === null ? null : new Date(until),
    createdAt: new Date(createdAt),
    createdBy: createdBy?.email ?? null,
    releasedAt: releasedAt === null ? null : new Date(releasedAt),
  }
}

function toLock({ lock }: LockedNode): EntryLock | null {
  return lock && { ...lock, expiresAt: new Date(lock.expiresAt) }
}

/** Yields the holds that have not ended, the newest first. @throws StowageError */
export async function* listHolds(
  graphql: Graphql,
  { providerId, signal }: HoldListOptions,
): AsyncGenerator<Hold, void, undefined> {
  const connectionOf = ({ holds }: { holds: Connection<HoldNode> }) => holds
  const found = graphql.nodes(holdsQuery, { providerId: providerId ?? null }, connectionOf, signal && { signal })
  for await (const hold of found) yield toHold(hold)
}

/** Holds a file, or a folder with everything in it. @throws StowageError */
export async function createHold(
  graphql: Graphql,
  { providerId, path, reason, until }: NewHold,
  options?: RequestOptions,
): Promise<Hold> {
  const input = { providerId, path, reason, until: until?.toISOString() ?? null }
  const { createHold } = await graphql.run<{ createHold: HoldNode }, object>(createMutation, { input }, options)
  return toHold(createHold)
}

/** Ends a hold that has no date. @throws StowageError */
export async function releaseHold(graphql: Graphql, id: string, options?: RequestOptions): Promise<Hold> {
  const { releaseHold } = await graphql.run<{ releaseHold: HoldNode }, object>(releaseMutation, { id }, options)
  return toHold(releaseHold)
}

/** Returns the lock that holds for a file or folder, or null. @throws StowageError */
export async function findLock(
  graphql: Graphql,
  { providerId, path }: Location,
  options?: RequestOptions,
): Promise<EntryLock | null> {
  const { entry } = await graphql.run<{ entry: LockedNode }, object>(lockQuery, { providerId, path }, options)
  return toLock(entry)
}

/** Ends a lock and returns the one that holds then, such as another shared one, or null. @throws StowageError */
export async function endLock(
  graphql: Graphql,
  { providerId, path }: Location,
  lockId: string,
  options?: RequestOptions,
): Promise<EntryLock | null> {
  const input = { providerId, path, lockId }
  const { endLock } = await graphql.run<{ endLock: LockedNode }, object>(endMutation, { input }, options)
  return toLock(endLock)
}
