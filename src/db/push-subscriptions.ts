/** The browsers that get push notifications, each for one session, and the key with which all servers sign their requests. */
import { sql } from 'kysely'
import type { Factor } from '../auth/factors.ts'
import type { Role } from '../auth/scopes.ts'
import type { Change, Database } from './client.ts'
import { lockMember } from './members.ts'
import type { PushEvent } from './schema.ts'
import { languageOfWorkspace } from './workspaces.ts'

/** Where a browser gets messages, and what they are encrypted for. */
export interface PushReceiver {
  endpoint: string
  /** A point of P-256, uncompressed. */
  publicKey: Buffer
  auth: Buffer
}

/** A browser, as its owner sees it. */
export interface PushSubscription {
  id: string
  sessionId: string
  events: PushEvent[]
  /** The `User-Agent` of the sign-in; null if it is unknown. */
  userAgent: string | null
  createdAt: Date
  /** When the push service last took a message; null before the first one. */
  lastUsedAt: Date | null
}

interface PushOwner {
  workspaceId: string
  userId: string
}

function selectSubscriptions(db: Database, { workspaceId, userId }: PushOwner) {
  return db
    .selectFrom('push_subscriptions as subscription')
    .innerJoin('sessions', 'sessions.id', 'subscription.session_id')
    .select(['subscription.id', 'session_id', 'events', 'user_agent', 'subscription.created_at', 'last_used_at'])
    .where('subscription.workspace_id', '=', workspaceId)
    .where('subscription.user_id', '=', userId)
    .where('sessions.expires_at', '>', sql<Date>`now()`)
}

/** Returns the browsers of a member, the newest first. */
export async function listPushSubscriptions(db: Database, owner: PushOwner): Promise<PushSubscription[]> {
  const rows = await selectSubscriptions(db, owner)
    .orderBy('subscription.created_at', 'desc')
    .orderBy('subscription.id')
    .execute()
  return rows.map(row => ({
    id: row.id,
    sessionId: row.session_id,
    events: row.events,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }))
}

export interface NewPushSubscription extends PushOwner, PushReceiver {
  id: string
  sessionId: string
  /** Null for those of the earlier subscription of the session or of this browser, or without one all of `usual`. */
  events: readonly PushEvent[] | null
  language: string | null
}

/**
 * Stores the browser of a session, which replaces an earlier one of the session and of the same endpoint. Of each member, the newest `max`
 * stay. Returns the id.
 */
export async function replacePushSubscription(
  db: Change,
  subscription: NewPushSubscription,
  { usual, max }: { usual: readonly PushEvent[]; max: number },
): Promise<string> {
  const { id, workspaceId, userId, sessionId, endpoint, publicKey, auth, language } = subscription
  await lockMember(db, subscription)
  const replaced = await db
    .deleteFrom('push_subscriptions')
    .where(({ or, eb }) => or([eb('session_id', '=', sessionId), eb('endpoint', '=', endpoint)]))
    .returning(['workspace_id', 'user_id', 'events'])
    .execute()
  // Another person may have used the browser.
  const own = replaced.find(row => row.workspace_id === workspaceId && row.user_id === userId)
  const values = {
    id,
    workspace_id: workspaceId,
    user_id: userId,
    session_id: sessionId,
    public_key: publicKey,
    auth,
    events: [...(subscription.events ?? own?.events ?? usual)],
    language,
  }
  await db
    .insertInto('push_subscriptions')
    .values({ ...values, endpoint })
    // Another person may have switched on notifications in the same browser meanwhile.
    .onConflict(conflict => conflict.column('endpoint').doUpdateSet(values))
    .execute()
  await sql`
    delete from push_subscriptions where id in (
      select id from push_subscriptions where workspace_id = ${workspaceId} and user_id = ${userId}
      order by created_at desc, id desc offset ${max})`.execute(db)
  return id
}

/** Returns false if the member has no such browser. */
export async function setPushEvents(
  db: Change,
  { workspaceId, userId }: PushOwner,
  id: string,
  events: readonly PushEvent[],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('push_subscriptions')
    .set({ events: [...events] })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false if the member has no such browser. */
export async function removePushSubscription(
  db: Change,
  { workspaceId, userId }: PushOwner,
  id: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('push_subscriptions')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Deletes a browser that its push service does not know any more. Its messages go with it. */
export async function forgetPushReceiver(db: Database, id: string): Promise<void> {
  await db.deleteFrom('push_subscriptions').where('id', '=', id).execute()
}

/** Notes that the push service of a browser has taken a message. */
export async function notePushUse(db: Database, id: string): Promise<void> {
  await db.updateTable('push_subscriptions').set({ last_used_at: sql`now()` }).where('id', '=', id).execute()
}

/** A browser to which a message goes, if its session has not ended. */
export interface PushTarget extends PushReceiver, PushOwner {
  /** The tag of the language of the console in the browser or, without one, of the workspace; null without either. */
  language: string | null
  /** What the session has proved its member with, and the roles of the workspace that need a second factor. */
  factors: readonly Factor[]
  secondFactorRoles: readonly Role[]
}

export async function findPushTarget(db: Database, id: string): Promise<PushTarget | null> {
  const row = await db
    .selectFrom('push_subscriptions as subscription')
    .innerJoin('sessions', 'sessions.id', 'subscription.session_id')
    .innerJoin('workspaces', 'workspaces.id', 'subscription.workspace_id')
    .select(['subscription.workspace_id', 'subscription.user_id', 'endpoint', 'public_key', 'auth'])
    .select(['sessions.factors', 'workspaces.second_factor_roles'])
    .select(sql<string | null>`coalesce(subscription.language, ${languageOfWorkspace})`.as('language'))
    .where('subscription.id', '=', id)
    .where('sessions.revoked_at', 'is', null)
    .where('sessions.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  if (!row) return null
  return {
    workspaceId: row.workspace_id,
    userId: row.user_id,
    endpoint: row.endpoint,
    publicKey: row.public_key,
    auth: row.auth,
    language: row.language,
    factors: row.factors,
    secondFactorRoles: row.second_factor_roles,
  }
}

export interface PushKey {
  /** A point of P-256, uncompressed. */
  publicKey: Buffer
  /** Encrypted. */
  privateKey: Buffer
}

export async function findPushKey(db: Database): Promise<PushKey | null> {
  const row = await db.selectFrom('push_keys').select(['public_key', 'private_key']).executeTakeFirst()
  return row ? { publicKey: row.public_key, privateKey: row.private_key } : null
}

/** Stores the key, unless there is one already: several servers can make one at once. */
export async function insertPushKey(db: Database, { publicKey, privateKey }: PushKey): Promise<void> {
  await db
    .insertInto('push_keys')
    .values({ public_key: publicKey, private_key: privateKey })
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute()
}
