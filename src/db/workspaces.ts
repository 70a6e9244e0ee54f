import { type Selectable, sql } from 'kysely'
import type { Role } from '../auth/scopes.ts'
import type { Change, Database } from './client.ts'
import type { ApprovalKind, LogoType, Registration, Schema, UploadSource } from './schema.ts'

/** How a workspace looks on pages for people without an account. */
export interface Branding {
  /** "#" and six hexadecimal digits; null for that of the product. */
  color: string | null
  /** A line of text; may be empty. */
  text: string
  /** Changes with the logo; null without one. */
  logoVersion: string | null
}

export interface Logo {
  type: LogoType
  image: Buffer
}

export interface Workspace {
  id: string
  name: string
  registration: Registration
  /** Members with one of these roles need a second factor. */
  secondFactorRoles: readonly Role[]
  /** The actions of agents through MCP that a person has to approve. */
  approvals: readonly ApprovalKind[]
  /** Whose uploads are scanned for malware, if the server has a scanner. */
  scannedUploads: readonly UploadSource[]
  /** The owners who may sign in with a password while all others need single sign-on; null if everybody may. */
  passwordOwners: string[] | null
  branding: Branding
  /** The tag of the language for people who have chosen none; null for English. */
  language: string | null
  createdAt: Date
}

/** Returns the installation's only workspace, or null before the first registration. */
export async function findTheWorkspace(db: Database): Promise<Workspace | null> {
  const row = await db.selectFrom('workspaces').selectAll().orderBy('created_at').limit(1).executeTakeFirst()
  return row ? toWorkspace(row) : null
}

export async function findWorkspace(db: Database, id: string): Promise<Workspace | null> {
  const row = await db.selectFrom('workspaces').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? toWorkspace(row) : null
}

export async function insertWorkspace(db: Change, values: { name: string }): Promise<Workspace> {
  return toWorkspace(await db.insertInto('workspaces').values(values).returningAll().executeTakeFirstOrThrow())
}

export interface WorkspaceChanges {
  name?: string
  registration?: Registration
  secondFactorRoles?: Role[]
  approvals?: ApprovalKind[]
  scannedUploads?: UploadSource[]
  passwordOwners?: string[] | null
  language?: string | null
  brandColor?: string | null
  brandText?: string
  /** Null removes the logo. */
  logo?: (Logo & { version: string }) | null
}

export async function updateWorkspace(
  db: Change,
  id: string,
  { secondFactorRoles, scannedUploads, passwordOwners, brandColor, brandText, logo, ...values }: WorkspaceChanges,
): Promise<Workspace> {
  const set = {
    ...values,
    ...(secondFactorRoles && { second_factor_roles: secondFactorRoles }),
    ...(scannedUploads && { scanned_uploads: scannedUploads }),
    ...(passwordOwners !== undefined && { password_owners: passwordOwners }),
    ...(brandColor !== undefined && { brand_color: brandColor }),
    ...(brandText !== undefined && { brand_text: brandText }),
    ...(logo !== undefined && { logo_version: logo?.version ?? null }),
  }
  if (logo !== undefined) {
    await db.deleteFrom('workspace_logos').where('workspace_id', '=', id).execute()
    if (logo) {
      await db.insertInto('workspace_logos').values({ workspace_id: id, type: logo.type, image: logo.image }).execute()
    }
  }
  const query = db.updateTable('workspaces').set(set).where('id', '=', id).returningAll()
  return toWorkspace(await query.executeTakeFirstOrThrow())
}

/** The language of the installation's only workspace, as a part of a query. */
export const languageOfWorkspace = sql<string | null>`(select language from workspaces order by created_at limit 1)`

/** Returns the logo of the installation's only workspace. */
export async function findLogo(db: Database): Promise<Logo | null> {
  const row = await db
    .selectFrom('workspace_logos')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_logos.workspace_id')
    .select(['type', 'image'])
    .orderBy('workspaces.created_at')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** Returns whose uploads are scanned. */
export async function findScannedUploads(db: Database, id: string): Promise<readonly UploadSource[]> {
  const row = await db.selectFrom('workspaces').select('scanned_uploads').where('id', '=', id).executeTakeFirst()
  return row?.scanned_uploads ?? []
}

/**
 * Returns whether somebody may use a password: everybody may, or only some owners. Keeps the answer true until the end of a
 * transaction.
 */
export async function mayUsePassword(db: Database, workspaceId: string, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('workspaces')
    .select('password_owners')
    .where('id', '=', workspaceId)
    .forKeyShare()
    .executeTakeFirstOrThrow()
  if (row.password_owners === null) return true
  if (!row.password_owners.includes(userId)) return false
  const owner = db.selectFrom('members').select('user_id').where('workspace_id', '=', workspaceId)
  return (await owner.where('user_id', '=', userId).where('role', '=', 'OWNER').executeTakeFirst()) !== undefined
}

/** Returns whether an owner with access to all providers may use a password and has one, or everybody may. */
export async function hasPasswordOwner(db: Database, workspaceId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select password_owners is null or exists (
      select from members join users on users.id = members.user_id
      where members.workspace_id = workspaces.id and members.user_id = any(password_owners) and members.role = 'OWNER'
        and members.deactivated_at is null and members.provider_access -> 'all' = 'true' and users.password_hash is not null
        and not exists (
          select from identities where identities.user_id = members.user_id and identities.issuer like 'ldap:%'
        )
    ) as found from workspaces where id = ${workspaceId}`.execute(db)
  return rows[0]?.found === true
}

/** Serializes changes of membership in a workspace, so that an owner always remains. */
export async function lockWorkspace(db: Database, id: string): Promise<void> {
  await db.selectFrom('workspaces').select('id').where('id', '=', id).forUpdate().executeTakeFirstOrThrow()
}

/** Serializes first registrations, so that a concurrent second one finds the first one's workspace. */
export async function lockFounding(db: Database): Promise<void> {
  await sql`lock table workspaces in share row exclusive mode`.execute(db)
}

function toWorkspace(row: Selectable<Schema['workspaces']>): Workspace {
  return {
    id: row.id,
    name: row.name,
    registration: row.registration,
    secondFactorRoles: row.second_factor_roles,
    approvals: row.approvals,
    scannedUploads: row.scanned_uploads,
    passwordOwners: row.password_owners,
    branding: { color: row.brand_color, text: row.brand_text, logoVersion: row.logo_version },
    language: row.language,
    createdAt: row.created_at,
  }
}
