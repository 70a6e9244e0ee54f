import { AppError } from '../../errors.ts'
import type { Settings } from '../../settings/index.ts'

/**
 * Returns a check of the `Origin` header, which the protocol requires against DNS rebinding: a page of another site could
 * otherwise reach a server in the reader's own network under the name of that site. Only browsers send the header.
 */
export function originCheck({ publicUrl, corsOrigins }: Pick<Settings, 'publicUrl' | 'corsOrigins'>) {
  const allowed = new Set(corsOrigins === '*' ? [] : corsOrigins)
  if (publicUrl !== null) allowed.add(new URL(publicUrl).origin)
  /** @throws ORIGIN_NOT_ALLOWED */
  return (origin: string | undefined): void => {
    if (origin === undefined || corsOrigins === '*' || allowed.has(origin)) return
    throw new AppError(
      'ORIGIN_NOT_ALLOWED',
      'This origin may not call the server: add it to STOWAGE_CORS_ORIGINS, or call from outside of a browser.',
    )
  }
}
