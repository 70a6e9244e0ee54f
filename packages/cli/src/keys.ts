/** API keys as the commands print them. */
import type { schema } from '../../client/src/index.ts'

export const keyFields = [
  'id',
  'name',
  'state',
  'scopes',
  'displayPrefix',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
  'revokedAt',
] as const

export type ListedKey = Pick<schema.ApiKey, (typeof keyFields)[number]>

export const keySelection = keyFields.join(' ')

export function keyText({ id, name, state, scopes, expiresAt }: ListedKey): string {
  const highest = (['admin', 'write', 'read'] as const).find(scope => scopes.includes(scope)) ?? '-'
  return `${id}  ${state.padEnd(7)}  ${highest.padEnd(5)}  ${(expiresAt ?? 'never expires').padEnd(24)}  ${name}`
}
