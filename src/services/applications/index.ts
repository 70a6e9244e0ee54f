/**
 * Connected applications: Stowage is the OAuth 2.1 authorization server of its own endpoints. A connection is an API key with a code
 * and tokens, so the list of keys, revocation, and the limits of a member's role apply to it.
 */
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { ApiKey } from '../../db/api-keys.ts'
import { deleteExpiredApplications } from '../../db/applications.ts'
import type { Database } from '../../db/client.ts'
import { batchedConnections, type ConnectionRecord, deleteOldConnections } from '../../db/connections.ts'
import type { Audit } from '../audit/index.ts'
import type { Limits } from '../limits/index.ts'
import type { Credentials } from '../people/credentials.ts'
import { createClients } from './clients.ts'
import { createConsent } from './consent.ts'
import { destinationOf } from './redirect-uris.ts'
import { createTokens } from './tokens.ts'

/** The application of a connection. */
export interface ConnectedApplication extends Pick<ConnectionRecord, 'clientId' | 'clientName' | 'audience'> {
  /** Where its codes go. */
  destination: string
  /** Whether it has got its first tokens. */
  isConnected: boolean
}

export function createApplications(options: {
  db: Database
  secrets: Secrets
  audit: Audit
  credentials: Credentials
  limits: Limits
  /** Connects to addresses of public networks only. */
  fetch: typeof globalThis.fetch
}) {
  const { db, limits } = options
  const clients = createClients({ ...options, limits: limits.registrations })
  const connectionOf = batchedConnections(db)
  return {
    register: clients.register,
    consent: createConsent({ ...options, clients }),
    tokens: createTokens({ ...options, limits: limits.requests }),

    /** Returns the application of a key that the viewer may see; null for a key that a person has. */
    async ofKey(_viewer: Viewer, key: ApiKey): Promise<ConnectedApplication | null> {
      const found = key.isConnection ? await connectionOf(key.id) : null
      if (!found) return null
      const { clientId, clientName, audience, redirectUri, refreshHash } = found
      return {
        clientId,
        clientName,
        audience,
        destination: destinationOf(redirectUri),
        isConnected: refreshHash !== null,
      }
    },

    /** Deletes registrations and connections that have ended, or that nobody has used. */
    async sweep(): Promise<void> {
      await Promise.all([deleteExpiredApplications(db), deleteOldConnections(db)])
    },
  }
}
