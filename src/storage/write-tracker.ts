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
      let row: { id: string; lease: string; keeper: LeaseKeeper } | null = null
      let isOver = false
      const insert = async (state: string) => {
        const { kind: credentialKind, credentialId, member } = viewer
        const { workspaceId, userId } = member
        const owner = { workspaceId, userId, credentialKind, credentialId }
        const [id, lease] = [randomBytes(24).toString('base64url'), randomUUID()]
        await insertUnfinishedWrite(
          db,
          { id, ...owner, providerId, path, sealedState: secrets.seal('upload', id, state) },
          lease,
        )
        const renew = () => renewUnfinishedWrite(db, id, lease)
        row = { id, lease, keeper: new LeaseKeeper({ interval: heartbeat, renew }) }
      }
      const unfinished: Unfinished = {
        async began(state) {
          const store = () =>
            row ? renewUnfinishedWrite(db, row.id, row.lease, secrets.seal('upload', row.id, state)) : insert(state)
          await store().catch(error => {
            throw toAppError(error)
          })
        },
        async ended() {
          isOver = true
        },
      }
      try {
        return await work(unfinished)
      } finally {
        const stored = row as { id: string; lease: string; keeper: LeaseKeeper } | null
        stored?.keeper[Symbol.dispose]()
        // If this fails, the sweep deletes the row later and finds nothing to free.
        if (stored && isOver) await deleteUpload(db, stored.id, stored.lease).catch(() => {})
      }
    },
  }
}
