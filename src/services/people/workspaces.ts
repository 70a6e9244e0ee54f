import { isUnrestricted, requireRecent, requireSignInOwner, requireWorkspaceAdmin } from '../../auth/policy.ts'
import { type Role, roles } from '../../auth/scopes.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  type ApprovalKind,
  approvalKinds,
  type Registration,
  type UploadSource,
  uploadSources,
} from '../../db/schema.ts'
import {
  type Branding,
  findLogo,
  findTheWorkspace,
  findWorkspace,
  type Logo,
  lockWorkspace,
  updateWorkspace,
  type Workspace,
} from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import type { Audit } from '../audit/index.ts'
import { parseLanguage, parseName } from '../input.ts'
import { type BrandingInput, parseBranding } from './branding.ts'
import type { IssuerRegistry } from './issuer-registry.ts'
import { enforcePasswordOwners, parsePasswordOwners } from './password-policy.ts'

export interface Installation {
  hasOwner: boolean
  /** Whether the first account requires the operator's code. */
  needsSetupCode: boolean
  registration: Registration
  /** Whether passwords are for some owners only. */
  singleSignOnOnly: boolean
  branding: Branding
  /** The tag of the language for people whose browser asks for none that the console has; null for English. */
  language: string | null
}

export function createWorkspaces(options: {
  db: Database
  audit: Audit
  registry: IssuerRegistry
  setupCode: string | null
}) {
  const { db, audit, registry, setupCode } = options
  return {
    /** Returns what visitors may know before they sign in. */
    async installation(): Promise<Installation> {
      const workspace = await findTheWorkspace(db)
      return {
        hasOwner: workspace !== null,
        needsSetupCode: workspace === null && setupCode !== null,
        registration: workspace?.registration ?? 'OPEN',
        singleSignOnOnly: workspace !== null && workspace.passwordOwners !== null,
        branding: workspace?.branding ?? { color: null, text: '', logoVersion: null },
        language: workspace?.language ?? null,
      }
    },

    /** Returns the logo, which everybody may see. @throws NOT_FOUND */
    async logo(): Promise<Logo> {
      const logo = await findLogo(db)
      if (!logo) throw new AppError('NOT_FOUND', 'The workspace has no logo.')
      return logo
    },

    /** Returns the workspace of the credential. @throws CREDENTIAL_REQUIRED */
    async get(viewer: Viewer | null): Promise<Workspace> {
      const workspace = await findWorkspace(db, requireViewer(viewer).member.workspaceId)
      if (!workspace) throw new AppError('NOT_FOUND', 'The workspace no longer exists.')
      return workspace
    },

    /** Returns the owners who may use passwords; null for others than administrators, and if everybody may. */
    passwordOwners(viewer: Viewer | null, { passwordOwners }: Workspace): string[] | null {
      return viewer && isUnrestricted(viewer) ? passwordOwners : null
    },

    /**
     * @param input.singleSignOnOnly whether passwords and passkeys are for `passwordOwners` only, which ends the sessions of others that began
     *   without an issuer
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, SESSION_REQUIRED, EXCEEDS_OWN_REACH, CONFIRMATION_REQUIRED, INVALID_INPUT, LAST_OWNER
     */
    update(
      viewer: Viewer | null,
      input: {
        name?: string | null | undefined
        registration?: Registration | null | undefined
        secondFactorRoles?: readonly Role[] | null | undefined
        approvals?: readonly ApprovalKind[] | null | undefined
        scannedUploads?: readonly UploadSource[] | null | undefined
        singleSignOnOnly?: boolean | null | undefined
        passwordOwners?: readonly string[] | null | undefined
        /** Empty for English. */
        language?: string | null | undefined
      } & BrandingInput,
    ): Promise<Workspace> {
      return audit.recorded(viewer, 'WORKSPACE_UPDATE', {}, async recording => {
        const admin = requireWorkspaceAdmin(viewer)
        requireRecent(admin)
        const { singleSignOnOnly, secondFactorRoles: needing, scannedUploads: scanned } = input
        if (singleSignOnOnly != null) requireSignInOwner(admin)
        const owners = singleSignOnOnly ? parsePasswordOwners(input.passwordOwners ?? []) : null
        const values = {
          ...(input.name != null && { name: parseName(input.name, 'The name of a workspace') }),
          ...(input.registration != null && { registration: input.registration }),
          ...(needing != null && { secondFactorRoles: roles.filter(role => needing.includes(role)) }),
          ...(input.approvals != null && { approvals: approvalKinds.filter(kind => input.approvals?.includes(kind)) }),
          ...(scanned != null && { scannedUploads: uploadSources.filter(source => scanned.includes(source)) }),
          ...(singleSignOnOnly != null && { passwordOwners: owners }),
          ...(input.language != null && { language: parseLanguage(input.language) }),
          ...parseBranding(input),
        }
        if (Object.keys(values).length === 0) {
          throw new AppError(
            'INVALID_INPUT',
            'Give a name, a registration, roles, approvals, scanned uploads, "singleSignOnOnly", a language or the branding to change.',
          )
        }
        if (input.passwordOwners != null && !singleSignOnOnly) {
          throw new AppError('INVALID_INPUT', '"passwordOwners" needs "singleSignOnOnly: true".')
        }
        const { workspaceId } = admin.member
        const { logo, ...described } = values
        recording.add({
          subject: { kind: 'WORKSPACE', id: workspaceId },
          details: { ...described, ...(logo !== undefined && { hasLogo: logo !== null }) },
        })
        return recording.commit(async change => {
          await lockWorkspace(change, workspaceId)
          const updated = await updateWorkspace(change, workspaceId, values)
          if (owners !== null) await enforcePasswordOwners(change, workspaceId, owners, registry)
          return updated
        })
      })
    },
  }
}
