/** Service accounts: members that are programs. They have no password and never sign in, and administrators create their keys. */
import { randomUUID } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { requireMayAssign, requireRecent, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Role } from '../../auth/scopes.ts'
import type { Member, Viewer } from '../../auth/viewer.ts'
import { countServiceAccounts, findMember, hasServiceAccount, insertMember } from '../../db/members.ts'
import { insertUser, updateUser } from '../../db/users.ts'
import { lockWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseName } from '../input.ts'
import { type AccessInput, given, parseAccess, requireProviders } from './access.ts'

/** The maximum number of service accounts in a workspace. */
export const maxServiceAccounts = 1000

export function createServiceAccounts({ audit }: { audit: Audit }) {
  return {
    /**
     * Creates a service account. Its name is unique among them.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS,
     * TOO_MANY_SERVICE_ACCOUNTS
     */
    create(
      viewer: Viewer | null,
      input: { name: string; role: Role; providerAccess?: AccessInput | null | undefined },
    ): Promise<Member> {
      return audit.recorded(viewer, 'SERVICE_ACCOUNT_CREATE', {}, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        requireRecent(admin)
        requireMayAssign(admin, input)
        requireNoOwner(input.role)
        const name = parseName(input.name, 'The name of a service account')
        const values = { role: input.role, access: parseAccess(input.providerAccess) }
        recording.add({ details: { name, gives: given(values) } })
        const { workspaceId } = admin.member
        return recording.commit(async trx => {
          await lockWorkspace(trx, workspaceId)
          await requireProviders(trx, workspaceId, values.access)
          if (await hasServiceAccount(trx, workspaceId, name)) throw nameTaken()
          if ((await countServiceAccounts(trx, workspaceId)) >= maxServiceAccounts) {
            throw new AppError(
              'TOO_MANY_SERVICE_ACCOUNTS',
              `A workspace has at most ${maxServiceAccounts} service accounts: remove one first.`,
            )
          }
          const account = { email: addressFor(randomUUID()), name, passwordHash: null, isService: true }
          const userId = await insertUser(trx, account)
          const member = await insertMember(trx, { workspaceId, userId, ...values, isConfirmed: true })
          recording.add({ subject: { kind: 'MEMBER', id: userId } })
          return member
        })
      })
    },

    /**
     * Renames a service account. Its keys stay.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, INVALID_INPUT, NOT_FOUND, ALREADY_EXISTS
     */
    rename(viewer: Viewer | null, userId: string, text: string): Promise<Member> {
      const subject = { kind: 'MEMBER', id: userId } as const
      return audit.recorded(viewer, 'SERVICE_ACCOUNT_RENAME', { subject }, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        const name = parseName(text, 'The name of a service account')
        const { workspaceId } = admin.member
        return recording.commit(async trx => {
          await lockWorkspace(trx, workspaceId)
          const target = isId(userId) ? await findMember(trx, workspaceId, userId) : null
          if (!target?.isService) throw new AppError('NOT_FOUND', 'There is no such service account.')
          recording.add({ details: { before: target.name, after: name } })
          requireMayAssign(admin, target)
          if (name === target.name) return target
          if (await hasServiceAccount(trx, workspaceId, name)) throw nameTaken()
          await updateUser(trx, userId, { name })
          return { ...target, name }
        })
      })
    },
  }
}

function nameTaken(): AppError {
  return new AppError('ALREADY_EXISTS', 'A service account with this name exists: choose another name.')
}

/** RFC 2606: no address of this domain ever gets mail. */
function addressFor(id: string): string {
  return `${id}@service.invalid`
}

/** Nobody can sign in as a service account, so it cannot be the owner that the workspace keeps. @throws INVALID_INPUT */
export function requireNoOwner(role: Role): void {
  if (role === 'OWNER') throw new AppError('INVALID_INPUT', 'A service account cannot have the role OWNER.')
}
