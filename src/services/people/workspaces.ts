import { requireRecent, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { type Role, roles } from '../../auth/scopes.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { type ApprovalKind, approvalKinds, type Registration } from '../../db/schema.ts'
import { findTheWorkspace, findWorkspace, updateWorkspace, type Workspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseName } from '../input.ts'

export interface Installation {
  hasOwner: boolean
  /** Whether the first account requires the operator's code. */
  needsSetupCode: boolean
  registration: Registration
}

export function createWorkspaces(options: { db: Database; audit: Audit; setupCode: string | null }) {
  const { db, audit, setupCode } = options
  return {
    /** Returns what visitors may know before they sign in. */
    async installation(): Promise<Installation> {
      const workspace = await findTheWorkspace(db)
      return {
        hasOwner: workspace !== null,
        needsSetupCode: workspace === null && setupCode !== null,
        registration: workspace?.registration ?? 'OPEN',
      }
    },

    /** Returns the workspace of the credential. @throws CREDENTIAL_REQUIRED */
    async get(viewer: Viewer | null): Promise<Workspace> {
      const workspace = await findWorkspace(db, requireViewer(viewer).member.workspaceId)
      if (!workspace) throw new AppError('NOT_FOUND', 'The workspace no longer exists.')
      return workspace
    },

    /** @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, CONFIRMATION_REQUIRED, INVALID_INPUT */
    update(
      viewer: Viewer | null,
      input: {
        name?: string | null | undefined
        registration?: Registration | null | undefined
        secondFactorRoles?: readonly Role[] | null | undefined
        approvals?: readonly ApprovalKind[] | null | undefined
      },
    ): Promise<Workspace> {
      return audit.recorded(viewer, 'WORKSPACE_UPDATE', {}, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        requireRecent(admin)
        const needing = input.secondFactorRoles
        const values = {
          ...(input.name != null && { name: parseName(input.name, 'The name of a workspace') }),
          ...(input.registration != null && { registration: input.registration }),
          ...(needing != null && { secondFactorRoles: roles.filter(role => needing.includes(role)) }),
          ...(input.approvals != null && { approvals: approvalKinds.filter(kind => input.approvals?.includes(kind)) }),
        }
        if (Object.keys(values).length === 0)
          throw new AppError('INVALID_INPUT', 'Give a name, a registration, roles or approvals to change.')
        const { workspaceId } = admin.member
        recording.add({ subject: { kind: 'WORKSPACE', id: workspaceId }, details: values })
        return recording.commit(change => updateWorkspace(change, workspaceId, values))
      })
    },
  }
}
