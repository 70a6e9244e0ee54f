/** Scopes from lowest to highest. Each includes those before it. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

export const roles = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER'] as const
export type Role = (typeof roles)[number]

const scopeOfRole: Record<Role, Scope | null> = {
  NONE: null,
  VIEWER: 'read',
  EDITOR: 'write',
  ADMIN: 'admin',
  OWNER: 'admin',
}

/** Returns the highest scope of a role; null is none. */
export function roleScope(role: Role): Scope | null {
  return scopeOfRole[role]
}

/** Returns whether `have`, the highest scope of a credential, includes `need`. */
export function includesScope(have: Scope | null, need: Scope): boolean {
  return have !== null && scopes.indexOf(have) >= scopes.indexOf(need)
}

export function highestScope(candidates: readonly Scope[]): Scope | null {
  return scopes.findLast(scope => candidates.includes(scope)) ?? null
}

export function lowerScope(a: Scope | null, b: Scope | null): Scope | null {
  return a === null || b === null ? null : includesScope(a, b) ? b : a
}

/** Returns the scope and all lower ones. */
export function includedScopes(highest: Scope | null): Scope[] {
  return scopes.filter(scope => includesScope(highest, scope))
}

/** @param first the role if there are no others */
export function strongestRole(first: Role, others: readonly Role[]): Role {
  return others.reduce((strongest, role) => (includesRole(strongest, role) ? strongest : role), first)
}

export function includesRole(have: Role, need: Role): boolean {
  return roles.indexOf(have) >= roles.indexOf(need)
}
