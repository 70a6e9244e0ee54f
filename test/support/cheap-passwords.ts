/**
 * Stands in for `argon2` in most test files: the same algorithm with a twentieth of the memory, because each test registers an
 * owner. Files about the cost of sign-ins (see replaced-modules.ts) and servers in processes of their own hash at the real cost.
 */
import { hash as costly, type HashOptions } from 'argon2'

export { argon2id, verify } from 'argon2'

export const hash = (password: string, options: HashOptions): Promise<string> =>
  costly(password, { ...options, memoryCost: 1024 })
