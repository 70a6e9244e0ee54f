/** What writes hold at back ends that would keep it if this server were killed: the sweep of uploads then frees it. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Unfinished } from '../../adapters/contract.ts'
import type { StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { deleteUpload, insertUnfinishedWrite, renewUnfinishedWrite } from '../db/uploads.ts'
import { toAppError } from '../errors.ts'

/** Milliseconds; ten of them may be missed. */
const heartbeat = 60_000

export type UnfinishedWrites = ReturnType<typeof createUnfinishedWrites>

/**
 * A write that takes something at the back end is kept as an upload that nobody can go on with, for as long as it is under
 * way. Where its server is killed, it expires.
 */
export function createUnfinishedWrites({ db, secrets }: { db: Database; secrets: Secrets }) {
  return {
    async during<T>(
      { viewer, providerId }: Grant,
      path: StoragePath,
      work: (unfinished: Unfinished) => Promise<T>,
    ): Promise<T> {
      const id = randomBytes(24).toString('base64url')
      const lease = randomUUID()
      let timer: NodeJS.Timeout | undefined
      let isNoted = false
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
          const note = () => (isNoted ? renewUnfinishedWrite(db, id, lease, sealedState) : insert(sealedState))
          await note().catch(error => {
            throw toAppError(error)
          })
          isNoted = true
          timer ??= setInterval(() => void renewUnfinishedWrite(db, id, lease).catch(() => {}), heartbeat).unref()
        },
        async ended() {
          isOver = true
        },
      }
      try {
        return await work(unfinished)
      } finally {
        clearInterval(timer)
        // The sweep finds nothing to free where this fails.
        if (isNoted && isOver) await deleteUpload(db, id, lease).catch(() => {})
      }
    },
  }
}
