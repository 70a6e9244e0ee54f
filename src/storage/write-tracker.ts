/** Records what each unfinished write stores at its back end, so that the sweep of uploads frees it if this server is killed. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Unfinished } from '../../adapters/contract.ts'
import type { StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { deleteUpload } from '../db/uploads/leases.ts'
import { insertUnfinishedWrite, renewUnfinishedWrite } from '../db/uploads/uploads.ts'
import { toAppError } from '../errors.ts'
import { LeaseKeeper } from '../lib/lease-keeper.ts'

/** Milliseconds. The lease survives ten missed heartbeats. */
const heartbeat = 60_000

export type WriteTracker = ReturnType<typeof createWriteTracker>

/**
 * Stores each such write as an upload that no client can resume. The row is deleted when the write ends. If the server is
 * killed, the row expires.
 */
export function createWriteTracker({ db, secrets }: { db: Database; secrets: Secrets }) {
  return {
    async track<T>(
      { viewer, providerId }: Grant,
      path: StoragePath,
      work: (unfinished: Unfinished) => Promise<T>,
    ): Promise<T> {
      const id = randomBytes(24).toString('base64url')
      const lease = randomUUID()
      let keeper: LeaseKeeper | undefined
      let isStored = false
      let isOver = false
      const insert = (sealedState: Buffer) => {
        const { kind: credentialKind, credentialId, member } = viewer
        const { workspaceId, userId } = member
        const owner = { workspaceId, userId, credentialKind, credentialId }
        return insertUnfinishedWrite(db, { id, ...owner, providerId, path, sealedState }, lease)
      }
      const unfinished: Unfinished = {
        async began(state) {
          const sealedState = secrets.seal('upload', id, state)
          const store = () => (isStored ? renewUnfinishedWrite(db, id, lease, sealedState) : insert(sealedState))
          await store().catch(error => {
            throw toAppError(error)
          })
          isStored = true
          keeper ??= new LeaseKeeper({ interval: heartbeat, renew: () => renewUnfinishedWrite(db, id, lease) })
        },
        async ended() {
          isOver = true
        },
      }
      try {
        return await work(unfinished)
      } finally {
        keeper?.[Symbol.dispose]()
        // If this fails, the sweep deletes the row later and finds nothing to free.
        if (isStored && isOver) await deleteUpload(db, id, lease).catch(() => {})
      }
    },
  }
}
