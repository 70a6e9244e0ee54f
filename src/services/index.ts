import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import type { Storage } from '../storage/host.ts'
import { createAccounts } from './accounts.ts'
import { createApiKeys } from './api-keys.ts'
import { createAudit } from './audit.ts'
import type { LostEvents } from './audit-queue.ts'
import type { Authentication } from './authentication.ts'
import { createAuthorization } from './authorization.ts'
import { Reservations } from './files/conflict.ts'
import { createFiles } from './files/index.ts'
import { createIdempotency } from './idempotency.ts'
import { createInvites } from './invites.ts'
import { createMembers } from './members.ts'
import { createProviders } from './providers.ts'
import { createResumableUploads } from './resumable/index.ts'
import { createRotation } from './rotation.ts'
import { createWorkspaces } from './workspaces.ts'

export type Services = ReturnType<typeof createServices>

/** All that can be done, each function taking the viewer first and authorising it. */
export function createServices(options: {
  db: Database
  secrets: Secrets
  authentication: Authentication
  storage: Storage
  /** What the first account requires; null: nothing. */
  setupCode: string | null
  /** Bytes. */
  maxUploadBytes: number
  /** Of links straight to a back end; 0: there are none. */
  directSeconds: number
  /** Days that events of the audit log are kept; 0 is for good. */
  auditDays: number
  onError: (error: unknown) => void
  onAuditLoss: (loss: LostEvents) => void
}) {
  const { db, secrets, authentication, storage, setupCode, maxUploadBytes, onError } = options
  const { credentials, limits, tokens } = authentication
  const audit = createAudit({ db, credentials, keepDays: options.auditDays, onLoss: options.onAuditLoss })
  const reservations = new Reservations()
  const uploads = createResumableUploads({ db, secrets, storage, reservations, audit, maxUploadBytes, onError })
  return {
    credentials,
    requestLimits: limits.requests,
    audit,
    accounts: createAccounts({ db, tokens, limits: limits.signIns, audit, setupCode }),
    apiKeys: createApiKeys({ db, audit }),
    members: createMembers({ db, audit }),
    invites: createInvites({ db, audit }),
    workspaces: createWorkspaces({ db, audit, setupCode }),
    providers: createProviders({ db, secrets, storage, audit, uploads }),
    authorization: createAuthorization({ db, secrets, storage, credentials, audit }),
    files: createFiles({
      storage,
      secrets,
      credentials,
      audit,
      reservations,
      maxUploadBytes,
      directSeconds: options.directSeconds,
    }),
    uploads,
    rotation: createRotation({ db, secrets }),
    idempotency: createIdempotency({ db, onError }),
    /** Writes what is still to be written; nothing follows. */
    async close() {
      await Promise.all([authentication.close(), audit.close()])
    },
  }
}
