/** The object types and the values of their resolvers. They are declared here so that types can refer to one another. */
import type { ProviderAccess } from '../../auth/access.ts'
import { type Member, type MemberGroup, requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { ApiKey } from '../../db/api-keys.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import type { TrashItem } from '../../db/trash.ts'
import type { Workspace } from '../../db/workspaces.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { Adapter } from '../../storage/registry.ts'
import { builder } from './builder.ts'
import type { GraphqlContext } from './context.ts'

/** `seenBy` is the viewer. After `login` it is the person who signed in, although the request has no credential. */
export interface VisibleMember {
  member: Member
  seenBy: Viewer | null
}

export interface VisibleGroup {
  group: MemberGroup
  seenBy: Viewer | null
}

interface VisibleAccess {
  access: ProviderAccess
  seenBy: Viewer | null
}

export const UserRef = builder.objectRef<VisibleMember>('User')
export const GroupRef = builder.objectRef<VisibleGroup>('Group')
export const ProviderAccessRef = builder.objectRef<VisibleAccess>('ProviderAccess')
export const ViewerRef = builder.objectRef<Viewer>('Viewer')
export const WorkspaceRef = builder.objectRef<Workspace>('Workspace')
export const ApiKeyRef = builder.objectRef<ApiKey>('ApiKey')
export const ProviderTypeRef = builder.objectRef<ProviderTypeShape>('ProviderType')
export const StorageProviderRef = builder.objectRef<ProviderRecord>('StorageProvider')
export const JobRef = builder.objectRef<JobRecord>('Job')
export const TrashItemRef = builder.objectRef<TrashItem>('TrashItem')
export const AuditEventRef = builder.objectRef<AuditEvent>('AuditEvent')
export const EntryRef = builder.interfaceRef<FileEntry>('Entry')
export const FileRef = builder.objectRef<FileEntry>('File')
export const FolderRef = builder.objectRef<FileEntry>('Folder')

/** The adapter of a provider type; only the type's name if this server does not have the adapter. */
type ProviderTypeShape = Adapter | { type: string }

/** Finds the person who created something; null if they are no longer a member, or if the viewer may not see them. */
export async function findCreator(
  userId: string | null,
  { services, viewer }: GraphqlContext,
): Promise<VisibleMember | null> {
  const member = userId === null ? null : await services.members.findVisible(requireViewer(viewer), userId)
  return member && { member, seenBy: viewer }
}
