import { type Host, StorageError } from '../contract.ts'

export interface TestHost extends Host {
  /** What the adapter has warned of, in order. */
  readonly warnings: readonly { message: string; details: Record<string, unknown> }[]
}

/**
 * A host for tests.
 *
 * @param options.accessToken hands out tokens to adapters with OAuth; without it they meet NEEDS_RECONNECT, as in a
 * provider that nobody has authorized
 */
export function testHost(options: Partial<Pick<Host, 'accessToken'>> = {}): TestHost {
  const warnings: TestHost['warnings'][number][] = []
  return {
    warnings,
    accessToken:
      options.accessToken ??
      (async () => {
        throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider.')
      }),
    warn(message, details = {}) {
      warnings.push({ message, details })
    },
  }
}
