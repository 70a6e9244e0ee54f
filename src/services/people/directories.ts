/** The facts that administrators see of the directories from which accounts and memberships come. */
import { isUnrestricted, requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Member, Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  findDirectoriesOf,
  findIssuedGroupIds,
  findSync,
  type NamedDirectory,
  type SyncState,
} from '../../db/directories.ts'
import { batched } from '../../db/lookups.ts'

export function createDirectories({
  db,
  ldapSource,
  sources,
}: {
  db: Database
  /** The source of the LDAP directory; null without one. */
  ldapSource: string | null
  /** The issuer that the operator has set, if it names groups, and the LDAP directory. */
  sources: readonly string[]
}) {
  const directoryOf = batched((ids: readonly string[]) => findDirectoriesOf(db, ids))
  const issuedGroupsOf = batched((ids: readonly string[]) => findIssuedGroupIds(db, ids, sources))
  return {
    /** Returns when the LDAP directory was read; null without one. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async ldap(viewer: Viewer | null): Promise<SyncState | null> {
      requireWorkspaceAdmin(viewer)
      if (ldapSource === null) return null
      return (await findSync(db, ldapSource)) ?? { source: ldapSource, readAt: null, people: null, error: null }
    },

    /** Returns the directory that manages an account; null for none, and for those who do not administer the workspace. */
    async directoryOf(viewer: Viewer | null, { userId }: Member): Promise<NamedDirectory | null> {
      return viewer && isUnrestricted(viewer) ? directoryOf(userId) : null
    },

    /** Returns the ids of the groups that an issuer or a directory has given to a member, and takes from them. */
    async issuedGroupsOf(viewer: Viewer | null, { userId }: Member): Promise<readonly string[]> {
      return viewer && isUnrestricted(viewer) ? ((await issuedGroupsOf(userId)) ?? []) : []
    },
  }
}
