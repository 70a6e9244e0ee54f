import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import type { Storage } from '../storage/index.ts'
import { createAudit } from './audit/index.ts'
import type { LostEvents } from './audit/queue.ts'
import { Reservations } from './files/conflict.ts'
import { createFiles } from './files/index.ts'
import { createAccounts } from './people/accounts.ts'
import { createApiKeys } from './people/api-keys.ts'
import type { Authentication } from './people/authentication.ts'
import { createInvites } from './people/invites.ts'
import { createMembers } from './people/members.ts'
import { createWorkspaces } from './people/workspaces.ts'
import { createProviders } from './providers/index.ts'
import { createAuthorization } from './providers/oauth-consent.ts'
import { createRotation } from './providers/secret-rotation.ts'
import { createIdempotency } from './uploads/idempotency.ts'
import { createResumableUploads } from './uploads/index.ts'

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
