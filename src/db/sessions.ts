import { type RawBuilder, sql } from 'kysely'
import type { Factor } from '../auth/factors.ts'
import type { Member, SeenProvider } from '../auth/viewer.ts'
import type { Change, Database } from './client.ts'
import {
  asked,
  askedProviderId,
  askedTypes,
  type CredentialLookup,
  prepareLookups,
  seenProviderColumns,
  toSeenProvider,
  valuesOf,
} from './lookups.ts'
import { memberColumns, toMember } from './members.ts'
import { type RightsVersion, toVersion, versionColumns } from './rights.ts'

export interface Session {
  id: string
  member: Member
  expiresAt: Date
  revokedAt: Date | null
  verifiedAt: Date | null
  factors: readonly Factor[]
  /** Whether the workspace requires a second factor of members with this role. */
  needsSecondFactor: boolean
  seenProvider: SeenProvider | null
  version: RightsVersion
}

/** How somebody has proved who they are. */
export type SignInProof =
  /** The hash of the verified password, and the second factor if the account has one. */
  | { passwordHash: string; second?: Factor }
  /** A passkey, which the transaction has locked. */
  | { passkeyId: string }
  /** The identity, which the transaction has locked, and the session at its issuer. A directory has verified a password. */
  | { identityId: string; issuerSession: string | null; isDirectory?: boolean; second?: Factor }

/** Returns the factors that a session begins with. */
export function factorsOf(by: SignInProof): Factor[] {
  if ('passkeyId' in by) return ['PASSKEY']
  const first = 'identityId' in by && !by.isDirectory ? 'ISSUER' : 'PASSWORD'
  return by.second ? [first, by.second] : [first]
}

/**
 * Inserts a session and returns its id, or null if the password was changed since it was verified. Blocks a change of the
 * password until the commit. A later change then ends this session, too.
 */
export async function insertSession(
  db: Change,
  values: {
    workspaceId: string
    userId: string
    by: SignInProof
    expiresAt: Date
    address: string
    userAgent: string | null
  },
): Promise<string | null> {
  const { workspaceId, userId, by, expiresAt, address, userAgent } = values
  const { identityId, issuerSession } = 'identityId' in by ? by : { identityId: null, issuerSession: null }
  const row = await db
    .insertInto('sessions')
    .columns([
      'workspace_id',
      'user_id',
      'expires_at',
      'address',
      'user_agent',
      'identity_id',
      'issuer_session',
      'factors',
    ])
    .expression(users =>
      users
        .selectFrom('users')
        .select([
          sql<string>`${workspaceId}::uuid`.as('workspace_id'),
          'users.id as user_id',
          sql<Date>`${expiresAt}::timestamptz`.as('expires_at'),
          sql<string>`${address}::text`.as('address'),
          sql<string | null>`${userAgent}::text`.as('user_agent'),
          sql<string | null>`${identityId}::uuid`.as('identity_id'),
          sql<string | null>`${issuerSession}::text`.as('issuer_session'),
          sql<Factor[]>`${factorsOf(by)}::text[]`.as('factors'),
        ])
        .where('users.id', '=', userId)
        .$if('passwordHash' in by, query =>
          query.where('users.password_hash', '=', 'passwordHash' in by ? by.passwordHash : ''),
        )
        .forShare(),
    )
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

/** Finds sessions with their members. The query is built only once, because every request with a session runs it. */
export function prepareSessions(db: Database): (lookups: readonly CredentialLookup<string>[]) => Promise<Session[]> {
  const find = prepareLookups(db, askedTypes('uuid'), (rows: RawBuilder<{ value: unknown }>) =>
    db
      .selectFrom(asked(rows))
      .innerJoin('sessions', join => join.on(sql<boolean>`sessions.id = asked.value`))
      .innerJoin('members', join =>
        join
          .onRef('members.workspace_id', '=', 'sessions.workspace_id')
          .onRef('members.user_id', '=', 'sessions.user_id'),
      )
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .innerJoin('workspaces', 'workspaces.id', 'sessions.workspace_id')
      .leftJoin('providers', join =>
        join
          .on('providers.id', '=', askedProviderId('sessions.workspace_id'))
          .onRef('providers.workspace_id', '=', 'sessions.workspace_id'),
      )
      .innerJoin('rights_counter', join => join.onTrue())
      .select(versionColumns)
      .select(memberColumns)
      .select(['sessions.id', 'sessions.expires_at', 'sessions.revoked_at', 'sessions.verified_at', 'sessions.factors'])
      .select('workspaces.second_factor_roles')
      .select(seenProviderColumns)
      .compile(),
  )
  return async lookups => {
    const rows = await find(lookups.map(valuesOf))
    return rows.map(row => {
      const member = toMember(row)
      return {
        id: row.id,
        member,
        expiresAt: row.expires_at,
        revokedAt: row.revoked_at,
        verifiedAt: row.verified_at,
        factors: row.factors,
        needsSecondFactor: row.second_factor_roles.includes(member.role),
        seenProvider: toSeenProvider(row),
        version: toVersion(row),
      }
    })
  }
}

/** A session that has not ended. */
export interface ListedSession {
  id: string
  createdAt: Date
  expiresAt: Date
  /** The IP address and the browser of the sign-in; null if they are unknown. */
  address: string | null
  userAgent: string | null
  factors: readonly Factor[]
}

/** Returns the active sessions, the newest first. */
export async function listSessions(
  db: Database,
  { userId, workspaceId, limit }: { userId: string; workspaceId: string; limit: number },
): Promise<ListedSession[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'address', 'user_agent', 'factors'])
    .where('user_id', '=', userId)
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', new Date())
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(row => ({
    id: row.id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    address: row.address,
    userAgent: row.user_agent,
    factors: row.factors,
  }))
}

/** Notes that the member of a session has proved who they are with a factor. */
export async function verifySession(db: Change, id: string, factor: Factor): Promise<void> {
  await db
    .updateTable('sessions')
    .set({
      verified_at: sql`now()`,
      factors: sql`case when ${factor} = any(factors) then factors else array_append(factors, ${factor}::text) end`,
    })
    .where('id', '=', id)
    .execute()
}

/** Makes the sessions of a person forget their second factors, after the last one was removed. */
export async function forgetFactors(db: Change, userId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ factors: sql`array(select each from unnest(factors) each where each in ('PASSWORD', 'ISSUER'))` })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Returns false if the person has no such active session. */
export async function revokeSessionOf(db: Change, userId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', new Date())
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function revokeSession(db: Change, id: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function revokeOtherSessions(db: Change, userId: string, keptId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', userId)
    .where('id', '!=', keptId)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function revokeSessionsOf(db: Change, userId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
}

/**
 * Notes what an issuer has said about a new session.
 * @param verifiedAt when its member has proved who they are, which cannot be later than now; null if nobody knows
 * @param idToken the sealed ID token for the sign-out at the issuer; null if nobody can sign out there
 */
export async function noteIssued(
  db: Change,
  id: string,
  { verifiedAt, idToken }: { verifiedAt: Date | null; idToken: Buffer | null },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ verified_at: verifiedAt && sql`least(${verifiedAt}::timestamptz, now())`, id_token: idToken })
    .where('id', '=', id)
    .execute()
}

/** Finds the issuer of a session, which may have ended, and its sealed ID token; null if nobody can sign out at the issuer. */
export async function findIssuedSession(db: Database, id: string): Promise<{ issuer: string; idToken: Buffer } | null> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('identities', 'identities.id', 'sessions.identity_id')
    .select(['identities.issuer', 'sessions.id_token'])
    .where('sessions.id', '=', id)
    .executeTakeFirst()
  return row?.id_token ? { issuer: row.issuer, idToken: row.id_token } : null
}

/** Returns the member who has a session here that began with this session at the issuer; null if no such session is left. */
export async function findIssuedMember(
  db: Database,
  issuer: string,
  issuerSession: string,
): Promise<{ workspaceId: string; userId: string } | null> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('identities', 'identities.id', 'sessions.identity_id')
    .select(['sessions.workspace_id', 'sessions.user_id'])
    .where('identities.issuer', '=', issuer)
    .where('sessions.issuer_session', '=', issuerSession)
    .where('sessions.revoked_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row ? { workspaceId: row.workspace_id, userId: row.user_id } : null
}

/** Ends the sessions that began with a password or a passkey here: those of one person, or of all except some people. */
export async function revokeOwnSessions(
  db: Change,
  workspaceId: string,
  people: { only: string } | { except: readonly string[] },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('workspace_id', '=', workspaceId)
    .where('identity_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where(
      'only' in people
        ? sql<boolean>`user_id = ${people.only}`
        : sql<boolean>`user_id <> all(${people.except}::uuid[])`,
    )
    .execute()
}

/** Deletes expired sessions. */
export async function deleteSessionsExpiredBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('sessions').where('expires_at', '<', time).execute()
}

/** Ends sessions that began with an identity of an issuer: those of a subject, of one session at the issuer, or both. */
export async function revokeIssuedSessions(
  db: Change,
  { issuer, subject, issuerSession }: { issuer: string; subject: string | null; issuerSession: string | null },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ revoked_at: new Date() })
    .where('revoked_at', 'is', null)
    .where('identity_id', 'in', ({ selectFrom }) =>
      selectFrom('identities')
        .select('identities.id')
        .where('identities.issuer', '=', issuer)
        .$if(subject !== null, query => query.where('identities.subject', '=', subject ?? '')),
    )
    .$if(issuerSession !== null, query => query.where('issuer_session', '=', issuerSession))
    .execute()
}
