/** The rights of a credential. */
import type { schema } from '../../client/src/index.ts'
import type { Server } from './remote/server.ts'

export const viewerFields = [
  'url',
  'email',
  'role',
  'workspace',
  'credential',
  'key',
  'scopes',
  'expiresAt',
  'restrictions',
] as const

const viewerQuery = `{ viewer {
  kind expiresAt scopes
  user { email role }
  workspace { name }
  apiKey { id name }
  providerAccess { all restrictions { basePath provider { id name } } }
} }`

export interface ViewerResult {
  kind: schema.CredentialKind
  expiresAt: string | null
  scopes: readonly schema.Scope[]
  user: Pick<schema.User, 'email' | 'role'>
  workspace: Pick<schema.Workspace, 'name'>
  apiKey: Pick<schema.ApiKey, 'id' | 'name'> | null
  providerAccess: {
    all: boolean
    restrictions: readonly { basePath: string; provider: Pick<schema.StorageProvider, 'id' | 'name'> }[]
  }
}

/** @throws StowageError if the credential is not valid */
export async function findViewer(server: Server): Promise<ViewerResult> {
  const { viewer } = await server.graphql<{ viewer: ViewerResult }>(viewerQuery)
  return viewer
}

/** `restrictions` is null if the credential can use every storage. */
export function viewerRecord(url: string, viewer: ViewerResult): Record<(typeof viewerFields)[number], unknown> {
  const { user, workspace, kind, apiKey, scopes, expiresAt, providerAccess } = viewer
  const restrictions = providerAccess.restrictions.map(({ basePath, provider }) => {
    return { storageId: provider.id, storage: provider.name, path: basePath }
  })
  return {
    url,
    email: user.email,
    role: user.role,
    workspace: workspace.name,
    credential: kind,
    key: apiKey,
    scopes,
    expiresAt,
    restrictions: providerAccess.all ? null : restrictions,
  }
}

export function viewerLines(url: string, viewer: ViewerResult): string[] {
  const { user, workspace, apiKey, scopes, expiresAt, providerAccess } = viewer
  const { all, restrictions } = providerAccess
  const storages = all ? 'all' : restrictions.map(({ basePath, provider }) => `${provider.name}:${basePath}`).join(', ')
  return [
    `server:    ${url}`,
    `person:    ${user.email} (${user.role})`,
    `workspace: ${workspace.name}`,
    `key:       ${apiKey ? `${apiKey.name} (${apiKey.id})` : 'none, this is a session'}`,
    `scopes:    ${scopes.join(', ')}`,
    `storages:  ${storages}`,
    `expires:   ${expiresAt ?? 'never'}`,
  ]
}
