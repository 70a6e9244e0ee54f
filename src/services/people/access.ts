import { accessTo, allProviders, type ProviderAccess, storeAccess } from '../../auth/access.ts'
import { isId } from '../../auth/id.ts'
import { parsePath } from '../../auth/path.ts'
import type { Given } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findProviders } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'

export interface AccessInput {
  all?: boolean | null | undefined
  restrictions?: { providerId: string; basePath: string }[] | null | undefined
}

const maxRestrictions = 1000

/**
 * Grants all providers unless the input lists some. `requireProviders` checks that these exist.
 * @throws INVALID_INPUT, INVALID_PATH
 */
export function parseAccess(input: AccessInput | null | undefined): ProviderAccess {
  const restrictions = input?.restrictions ?? null
  if (!input || (restrictions === null && input.all !== false)) return allProviders
  if (input.all === true) {
    throw new AppError('INVALID_INPUT', 'Give either "all: true" or "restrictions", not both.')
  }
  if (!restrictions || restrictions.length === 0) {
    throw new AppError('INVALID_INPUT', 'Without access to all providers, "restrictions" lists at least one.')
  }
  if (restrictions.length > maxRestrictions) {
    throw new AppError('INVALID_INPUT', `At most ${maxRestrictions} restrictions can be given.`)
  }
  return accessTo(restrictions.map(({ providerId, basePath }) => [providerId, parsePath(basePath)] as const))
}

/** Parses the access of a key, which has one base path in each provider. @throws INVALID_INPUT, INVALID_PATH */
export function parseKeyAccess(input: AccessInput | null | undefined): ProviderAccess {
  // Parsing bounds the number of restrictions.
  const access = parseAccess(input)
  const seen = new Set<string>()
  for (const { providerId } of input?.restrictions ?? []) {
    if (seen.has(providerId)) {
      throw new AppError(
        'INVALID_INPUT',
        `The provider ${providerId} is listed twice: a key has one base path in each provider. Create another key.`,
      )
    }
    seen.add(providerId)
  }
  return access
}

/** Call this after checking that the viewer covers the access. @throws NOT_FOUND */
export async function requireProviders(db: Database, workspaceId: string, access: ProviderAccess): Promise<void> {
  if (access.all) return
  const ids = [...access.basePaths.keys()]
  const known = ids.filter(isId)
  const found = known.length === 0 ? [] : await findProviders(db, known)
  const existing = new Set(found.filter(record => record.workspaceId === workspaceId).map(record => record.id))
  const missing = ids.find(id => !existing.has(id))
  if (missing !== undefined) throw new AppError('NOT_FOUND', `There is no provider ${missing}.`)
}

/** Describes the role and access of a member, a group or an invite, for the audit log. */
export function given({ role, access }: Given) {
  return { role, providerAccess: storeAccess(access) }
}
