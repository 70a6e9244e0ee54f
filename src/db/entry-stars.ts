/** The stars that members have given to entries. */
import type { ProviderAccess } from '../auth/access.ts'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import { isMarkVisible } from './entry-marks.ts'
import { isAtAny, restoredPath, storedPath } from './entry-paths.ts'
import { batched } from './lookups.ts'

export interface EntryStar {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspaceId: string
  userId: string
  providerId: string
  path: StoragePath
  isFolder: boolean
  createdAt: Date
}

type StarredAt = Pick<EntryStar, 'userId' | 'providerId' | 'path'>

const keyOf = ({ userId, providerId, path }: StarredAt) => `${userId} ${providerId}/${path}`

/** Returns a function that tells whether a member has given an entry a star. Lookups of one turn of the event loop share a query. */
export function batchedStars(db: Database): (at: StarredAt) => Promise<boolean> {
  const load = batched(async (keys: readonly string[]) => {
    const wanted = keys.map(key => {
      const [userId = '', ...rest] = key.split(' ')
      const at = rest.join(' ')
      return { userId, providerId: at.slice(0, at.indexOf('/')), path: at.slice(at.indexOf('/') + 1) as StoragePath }
    })
    const rows = await db
      .selectFrom('entry_stars')
      .select(['user_id', 'provider_id', 'path'])
      .where('user_id', 'in', [...new Set(wanted.map(({ userId }) => userId))])
      .where('provider_id', 'in', [...new Set(wanted.map(({ providerId }) => providerId))])
      .where(isAtAny([...new Set(wanted.map(({ path }) => storedPath(path)))]))
      .execute()
    return new Map(
      rows.map(row => [
        keyOf({ userId: row.user_id, providerId: row.provider_id, path: restoredPath(row.path) }),
        true as const,
      ]),
    )
  })
  return async at => (await load(keyOf(at))) ?? false
}

/** Call it in the transaction that counts the stars, after it has locked the member. An entry that has one keeps it. */
export async function insertStar(db: Change, star: Omit<EntryStar, 'createdAt'>): Promise<void> {
  await db
    .insertInto('entry_stars')
    .values({
      id: star.id,
      workspace_id: star.workspaceId,
      user_id: star.userId,
      provider_id: star.providerId,
      path: storedPath(star.path),
      is_folder: star.isFolder,
    })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

export async function deleteStar(db: Change, { userId, providerId, path }: StarredAt): Promise<void> {
  await db
    .deleteFrom('entry_stars')
    .where('user_id', '=', userId)
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .execute()
}

export async function countStars(
  db: Database,
  { workspaceId, userId }: Pick<EntryStar, 'workspaceId' | 'userId'>,
): Promise<number> {
  const { count } = await db
    .selectFrom('entry_stars')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Lists the stars of a member on entries that an access includes, the newest first. */
export async function listStars(
  db: Database,
  { workspaceId, userId, access }: Pick<EntryStar, 'workspaceId' | 'userId'> & { access: ProviderAccess },
  { limit, before }: { limit: number; before: string | null },
): Promise<EntryStar[]> {
  const rows = await db
    .selectFrom('entry_stars')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where(isMarkVisible(access))
    .$if(before !== null, query => query.where('id', '<', before as string))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(row => ({
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    isFolder: row.is_folder,
    createdAt: row.created_at,
  }))
}
