/** Finds and registers applications, which are the clients of OAuth. */
import { isId } from '../../auth/id.ts'
import type { Origin } from '../../auth/viewer.ts'
import { findApplication, insertApplication, maxApplications } from '../../db/applications.ts'
import type { Database } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import type { RegistrationLimit } from '../limits/index.ts'
import { createClientDocuments, isDocumentAddress } from './client-documents.ts'
import { type ClientMetadata, parseClientMetadata } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

export interface OAuthClient extends ClientMetadata {
  id: string
  /** The host that vouches for the application; null if it has only registered itself. */
  host: string | null
}

export type Clients = ReturnType<typeof createClients>

export function createClients({
  db,
  limits,
  fetch,
}: {
  db: Database
  limits: RegistrationLimit
  /** Connects to addresses of public networks only. */
  fetch: typeof globalThis.fetch
}) {
  const documents = createClientDocuments(fetch)
  return {
    /**
     * Finds an application for a member.
     * @throws OAuthError for an unknown one, UNAVAILABLE if its description cannot be read, RATE_LIMITED
     */
    async find(id: string, userId: string, signal: AbortSignal): Promise<OAuthClient> {
      if (isDocumentAddress(id)) return { id, ...(await documents.find(id, userId, signal)) }
      const known = isId(id) ? await findApplication(db, id) : null
      if (known) return { id, host: null, name: known.name, redirectUris: known.redirectUris }
      throw new OAuthError(
        'invalid_client',
        'The application is unknown here: remove this server in it and add it again.',
      )
    },

    /**
     * Registers an application: RFC 7591. Anybody can, and it gives no access.
     * @throws OAuthError, RATE_LIMITED, UNAVAILABLE
     */
    async register(metadata: unknown, origin: Origin): Promise<OAuthClient & { createdAt: Date }> {
      await limits.countApplication(origin.address)
      const parsed = parseClientMetadata(metadata, 'The description of the application')
      const registered = await insertApplication(db, parsed)
      if (!registered) {
        throw new AppError('UNAVAILABLE', `${maxApplications} applications are connected, which is the limit.`)
      }
      return { host: null, ...registered }
    },
  }
}
