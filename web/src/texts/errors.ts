/** The messages of the server for these reasons use terms of the API, such as "provider". */
const byReason: ReadonlyMap<string, string> = new Map([
  ['PROVIDER_NOT_ALLOWED', 'You have no access to this storage.'],
  ['BACK_END_REFUSED', 'The storage denies access to this path.'],
  ['BACK_END_CREDENTIALS', "The storage rejects Stowage's credentials. Ask an administrator to enter new ones."],
  ['NEEDS_RECONNECT', 'The authorization of this storage has ended. Ask an administrator to connect it again.'],
  ['ROOT_IS_FIXED', 'The top folder of a storage cannot be moved, renamed, copied over or deleted.'],
])

/** Returns the text of a server's error for people. */
export function errorText({ reason, message }: { reason: string; message: string }): string {
  return byReason.get(reason) ?? message
}
