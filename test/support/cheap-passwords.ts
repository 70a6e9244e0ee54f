/**
 * Stands in for `argon2` in the files that run together: the same algorithm with a twentieth of the memory, because each test
 * registers an owner. Files alone, such as those about the queue of sign-ins, hash at the real cost.
 */
import { hash as costly, type HashOptions } from 'argon2'

export { argon2id, verify } from 'argon2'

export const hash = (password: string, options: HashOptions): Promise<string> =>
  costly(password, { ...options, memoryCost: 1024 })
