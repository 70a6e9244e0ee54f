import { type Selectable, sql } from 'kysely'
import type { Role } from '../auth/scopes.ts'
import type { Change, Database } from './client.ts'
import type { ApprovalKind, Registration, Schema } from './schema.ts'

export interface Workspace {
  id: string
  name: string
  registration: Registration
  /** Members with one of these roles need a second factor. */
  secondFactorRoles: readonly Role[]
  /** What a person has to approve if an agent does it through MCP. */
  approvals: readonly ApprovalKind[]
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

export async function updateWorkspace(
  db: Change,
  id: string,
  {
    secondFactorRoles,
    ...values
  }: { name?: string; registration?: Registration; secondFactorRoles?: Role[]; approvals?: ApprovalKind[] },
): Promise<Workspace> {
  const set = { ...values, ...(secondFactorRoles && { second_factor_roles: secondFactorRoles }) }
  const query = db.updateTable('workspaces').set(set).where('id', '=', id).returningAll()
  return toWorkspace(await query.executeTakeFirstOrThrow())
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
    createdAt: row.created_at,
  }
}
