/** The outbox of emails to people about changes of the ways to sign in to their account. */
import { sql } from 'kysely'
import type { Change, Database } from './client.ts'
import { claimMessage } from './outbox.ts'
import type { NoticeKind } from './schema.ts'
import { languageOfWorkspace } from './workspaces.ts'

export interface AccountNotice {
  userId: string
  kind: NoticeKind
  /** The name of a passkey; null for other changes. */
  name: string | null
  /** The IP from which it was changed; empty for the operator. */
  address: string
}

export interface WaitingNotice extends AccountNotice {
  id: string
  claimId: string
  recipient: string
  /** The tag of the language of the person or, without one, of the workspace; null without either. */
  language: string | null
  createdAt: Date
  /** Attempts that have failed. */
  attempts: number
}

/** Messages to one person that wait, such as while the mail server does not respond. More are left out. */
const maxWaiting = 100

export async function insertNotice(db: Change, { userId, kind, name, address }: AccountNotice): Promise<void> {
  await sql`
    insert into account_notices (user_id, kind, name, address)
    select ${userId}::uuid, ${kind}, ${name}, ${address}
    where (select count(*) from account_notices where user_id = ${userId}::uuid) < ${maxWaiting}`.execute(db)
}

/** Claims the message that has been due for the longest time. */
export async function claimNotice(db: Database, claimId: string): Promise<WaitingNotice | null> {
  const claimed = await claimMessage(db, 'account_notices', claimId)
  if (!claimed) return null
  const user = await db
    .selectFrom('users')
    .select(['email', sql<string | null>`coalesce(language, ${languageOfWorkspace})`.as('language')])
    .where('id', '=', claimed.user_id)
    .executeTakeFirst()
  // Messages are deleted with their user.
  if (!user) return null
  return {
    id: claimed.id,
    claimId,
    userId: claimed.user_id,
    recipient: user.email,
    language: user.language,
    kind: claimed.kind,
    name: claimed.name,
    address: claimed.address,
    createdAt: claimed.created_at,
    attempts: claimed.attempts,
  }
}
