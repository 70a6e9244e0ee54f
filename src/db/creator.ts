import type { CreatorColumns } from './schema.ts'

/** Who created something that the server uses on their behalf later, and with which credential. */
export interface Creator {
  workspaceId: string
  userId: string
  credentialKind: 'SESSION' | 'API_KEY'
  credentialId: string
}

export function toCreator(row: CreatorColumns): Creator {
  return {
    workspaceId: row.workspace_id,
    userId: row.user_id,
    credentialKind: row.credential_kind,
    credentialId: row.credential_id,
  }
}

export function creatorColumns({ workspaceId, userId, credentialKind, credentialId }: Creator): CreatorColumns {
  return { workspace_id: workspaceId, user_id: userId, credential_kind: credentialKind, credential_id: credentialId }
}
