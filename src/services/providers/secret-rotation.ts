/** Encrypts stored values again after STOWAGE_SECRET has changed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type SealedKind, SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { findSealedOtherwise, replaceSealed, type SealedValue, sealedKinds } from '../../db/sealed.ts'

const batch = 100
/** Milliseconds. Tokens that are being refreshed are skipped, for half a minute at most. */
const retryDelay = 5000

export interface Rotated {
  /** Values encrypted again with the current secret. */
  count: number
  /** Values that neither secret can decrypt. */
  unreadable: number
}

export type Rotation = ReturnType<typeof createRotation>

export function createRotation({ db, secrets }: { db: Database; secrets: Secrets }) {
  /** Encrypts a value again. Returns false if it must be tried again. */
  async function renew(value: SealedValue, rotated: Rotated): Promise<boolean> {
    const { kind, id, sealed } = value
    try {
      const isDone = await replaceSealed(db, value, secrets.seal(kind, id, secrets.open(kind, id, sealed)))
      if (isDone) rotated.count++
      return isDone
    } catch (error) {
      if (!(error instanceof SecretMismatch)) throw error
      rotated.unreadable++
      return true
    }
  }

  async function renewAll(kind: SealedKind, rotated: Rotated, signal: AbortSignal): Promise<boolean> {
    let isDone = true
    let after = ''
    for (;;) {
      signal.throwIfAborted()
      const values = await findSealedOtherwise(db, kind, secrets.currentKeyId, { after, limit: batch })
      for (const value of values) isDone = (await renew(value, rotated)) && isDone
      const last = values.at(-1)
      if (!last) return isDone
      after = last.id
    }
  }

  return {
    /** Resolves when the previous secret is no longer needed. Several servers may run it at once. */
    async finish(signal: AbortSignal): Promise<Rotated> {
      let count = 0
      for (;;) {
        const rotated: Rotated = { count, unreadable: 0 }
        let isDone = true
        for (const kind of sealedKinds) isDone = (await renewAll(kind, rotated, signal)) && isDone
        if (isDone) return rotated
        count = rotated.count
        await sleep(retryDelay, undefined, { signal })
      }
    },
  }
}
