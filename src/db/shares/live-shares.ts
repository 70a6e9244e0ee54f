/** Shares as credentials: each with its creator, and with the API key that created it. */
import { type RawBuilder, sql } from 'kysely'
import { type ProviderAccess, restoreAccess } from '../../auth/access.ts'
import type { Scope } from '../../auth/scopes.ts'
import type { Member, SeenProvider } from '../../auth/viewer.ts'
import type { Database } from '../client.ts'
import { prepareLookups, seenProviderColumns, toSeenProvider } from '../lookups.ts'
import { memberColumns, toMember } from '../members.ts'
import { type RightsVersion, toVersion, versionColumns } from '../rights.ts'
import { type ShareRecord, shareColumns, toShare } from './shares.ts'

export interface OwnedShare {
  share: ShareRecord
  tokenHash: Buffer
  maker: Member
  /** The rights of the API key that made the share; null if a session made it, or if the key was revoked. */
  key: { scopes: Scope[]; access: ProviderAccess; expiresAt: Date | null } | null
  /** The provider of the share. */
  seenProvider: SeenProvider | null
  version: RightsVersion
}

/** Finds shares with their creators. The query is built only once, because every request with a share link runs it. */
export function prepareOwnedShares<Column extends 'token_hash' | 'id'>(
  db: Database,
  column: Column,
): (values: readonly (Column extends 'id' ? string : Buffer)[]) => Promise<OwnedShare[]> {
  const find = prepareLookups(db, [column === 'id' ? 'uuid' : 'bytea'], (asked: RawBuilder<{ value: unknown }>) =>
    db
      .selectFrom(asked.as<'asked'>(sql`asked (value)`))
      .innerJoin('shares', join => join.on(sql<boolean>`${sql.ref(`shares.${column}`)} = asked.value`))
      .innerJoin('members', join =>
        join.onRef('members.workspace_id', '=', 'shares.workspace_id').onRef('members.user_id', '=', 'shares.user_id'),
      )
      .innerJoin('users', 'users.id', 'shares.user_id')
      .leftJoin('api_keys', join =>
        join
          .onRef('api_keys.id', '=', 'shares.credential_id')
          .on('shares.credential_kind', '=', sql.lit('API_KEY'))
          .on('api_keys.revoked_at', 'is', null),
      )
      .innerJoin('providers', 'providers.id', 'shares.provider_id')
      .innerJoin('rights_counter', join => join.onTrue())
      .select(versionColumns)
      .select(shareColumns)
      .select('shares.token_hash')
      .select(memberColumns)
      .select([
        'api_keys.scopes as key_scopes',
        'api_keys.provider_access as key_access',
        'api_keys.expires_at as key_expires_at',
      ])
      .select(seenProviderColumns)
      .compile(),
  )
  return async values => {
    const rows = await find(values.map((value): [unknown] => [value]))
    return rows.map(row => ({
      share: toShare(row),
      tokenHash: row.token_hash,
      maker: toMember(row),
      key: row.key_scopes &&
        row.key_access && {
          scopes: row.key_scopes,
          access: restoreAccess(row.key_access),
          expiresAt: row.key_expires_at,
        },
      seenProvider: toSeenProvider(row),
      version: toVersion(row),
    }))
  }
}
