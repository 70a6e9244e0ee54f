/** "Only single sign-on": passwords and passkeys work for some owners alone, who are the way back in while no issuer responds. */
import { isId } from '../../auth/id.ts'
import type { Member } from '../../auth/viewer.ts'
import type { Change } from '../../db/client.ts'
import { areOwners } from '../../db/members.ts'
import { revokeOwnSessions } from '../../db/sessions.ts'
import { hasPasswordOwner, mayUsePassword } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { IssuerRegistry } from './issuer-registry.ts'

/** The maximum number of owners who keep their passwords. */
export const maxPasswordOwners = 20

/** Keeps the permission until the end of the transaction. @throws SINGLE_SIGN_ON_REQUIRED */
export async function requirePasswordAllowed(
  change: Change,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
): Promise<void> {
  if (!(await mayUsePassword(change, workspaceId, userId))) throw new AppError('SINGLE_SIGN_ON_REQUIRED')
}

/** Ends the sessions that a member could not begin any more after a change of their role. */
export async function endRefusedSessions(
  change: Change,
  { workspaceId, userId }: Pick<Member, 'workspaceId' | 'userId'>,
): Promise<void> {
  if (await mayUsePassword(change, workspaceId, userId)) return
  await revokeOwnSessions(change, workspaceId, { only: userId })
}

/** Requires after a change of members that one of the chosen owners, or everybody, can sign in with a password. @throws LAST_OWNER */
export async function requirePasswordOwner(change: Change, workspaceId: string): Promise<void> {
  if (await hasPasswordOwner(change, workspaceId)) return
  const message = 'Passwords are for some owners only, and none of them would be left: choose another one first.'
  throw new AppError('LAST_OWNER', message)
}

/** @throws INVALID_INPUT */
export function parsePasswordOwners(userIds: readonly string[]): string[] {
  if (userIds.length > maxPasswordOwners || !userIds.every(isId)) {
    throw new AppError('INVALID_INPUT', `Give the user IDs of at most ${maxPasswordOwners} owners.`)
  }
  return [...new Set(userIds)]
}

/**
 * Requires, after passwords and passkeys were restricted to some owners, that these are a way back in. Ends the sessions that others have
 * begun without an issuer.
 * @throws INVALID_INPUT without an issuer, and for people who are no owners, LAST_OWNER if no owner among them has a password
 */
export async function enforcePasswordOwners(
  change: Change,
  workspaceId: string,
  userIds: readonly string[],
  registry: IssuerRegistry,
): Promise<void> {
  if (!(await areOwners(change, workspaceId, userIds))) {
    throw new AppError('INVALID_INPUT', 'Only owners can keep their passwords, and none who is deactivated.')
  }
  if ((await registry.active(change)).length === 0) {
    throw new AppError('INVALID_INPUT', 'There is no issuer of single sign-on: add one first.')
  }
  if (!(await hasPasswordOwner(change, workspaceId))) {
    const message = 'Choose an owner with access to all storages and a password, who is the way back in.'
    throw new AppError('LAST_OWNER', message)
  }
  await revokeOwnSessions(change, workspaceId, { except: userIds })
}
