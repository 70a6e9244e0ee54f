import type { Change, Database } from './client.ts'

export interface UserPassword {
  userId: string
  /** Null for an account without a password. */
  passwordHash: string | null
}

/** Returns the key by which emails are unique, without differences of case and Unicode normal form. */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase()
}

/** @throws a unique violation if the email is taken */
export async function insertUser(
  db: Change,
  values: { email: string; name: string | null; passwordHash: string | null; isService?: boolean },
): Promise<string> {
  const { id } = await db
    .insertInto('users')
    .values({
      email: values.email,
      email_key: emailKey(values.email),
      name: values.name,
      password_hash: values.passwordHash,
      is_service: values.isService ?? false,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function findPasswordByEmail(db: Database, email: string): Promise<UserPassword | null> {
  const row = await db
    .selectFrom('users')
    .select(['id', 'password_hash'])
    .where('email_key', '=', emailKey(email))
    .executeTakeFirst()
  return row ? { userId: row.id, passwordHash: row.password_hash } : null
}

export async function findPassword(db: Database, userId: string): Promise<UserPassword | null> {
  const row = await db.selectFrom('users').select(['id', 'password_hash']).where('id', '=', userId).executeTakeFirst()
  return row ? { userId: row.id, passwordHash: row.password_hash } : null
}

/** Changes the hash only if it still is `from`, so that only one of two concurrent changes succeeds. */
export async function replacePassword(db: Change, userId: string, from: string, to: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_hash: to })
    .where('id', '=', userId)
    .where('password_hash', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function setPassword(db: Change, userId: string, passwordHash: string): Promise<void> {
  await db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', userId).execute()
}

export async function updateUser(
  db: Change,
  userId: string,
  { getsMentions, ...changes }: { name?: string | null; language?: string | null; getsMentions?: boolean },
): Promise<void> {
  const set = { ...changes, ...(getsMentions !== undefined && { gets_mentions: getsMentions }) }
  await db.updateTable('users').set(set).where('id', '=', userId).execute()
}

/**
 * Gives an account the address that a directory names. Nobody here has confirmed who has a new one, so it finds the account for no
 * declaration of roles. @throws a unique violation if the email is taken
 */
export async function setUserEmail(db: Change, userId: string, email: string): Promise<void> {
  await db
    .updateTable('members')
    .set({ is_confirmed: false })
    .where('user_id', '=', userId)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('users').select('id').where('id', '=', userId).where('email_key', '!=', emailKey(email))),
    )
    .execute()
  await db
    .updateTable('users')
    .set({ email, email_key: emailKey(email) })
    .where('id', '=', userId)
    .execute()
}

export async function isEmailTaken(db: Database, email: string): Promise<boolean> {
  const query = db.selectFrom('users').select('id').where('email_key', '=', emailKey(email))
  return (await query.executeTakeFirst()) !== undefined
}

/** Deletes a user without a workspace, so that the person can register again with the same email. */
export async function deleteUserWithoutMembership(db: Change, userId: string): Promise<void> {
  await db
    .deleteFrom('users')
    .where('id', '=', userId)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('members').select('user_id').whereRef('members.user_id', '=', 'users.id'))),
    )
    .execute()
}
