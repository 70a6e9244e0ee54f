import type { Call } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import { callAdapterForChange } from './adapter-call.ts'
import { GuardedLocation } from './guarded-location.ts'
import { nativeVersions } from './read-location.ts'
import { runWithTimeout } from './transfer-timeouts.ts'
import { type CheckedEntry, checkDeleted, checkEntry, fault } from './validate-entry.ts'

/** A location at which the versions that the back end keeps by itself can be restored and deleted. */
export class VersionedLocation extends GuardedLocation {
  /** Whether the back end restores a version that it keeps by itself. */
  get canRestoreVersions(): boolean {
    return this.context.provider.versions?.restore !== undefined
  }

  /** Lets the back end restore a version that it keeps. Call it only if `canRestoreVersions` is true. @param size bytes, if known */
  restoreVersion(id: string, size: number | null, requestSignal: AbortSignal): Promise<CheckedEntry> {
    const { timeouts, contents } = this.context
    const restore = (call: Call) => nativeVersions(this.context).restore?.(this.path, id, call)
    return this.counted({ size: size ?? undefined }, () =>
      this.runChange([this.grant], { isTree: false }, requestSignal, granted =>
        runWithTimeout(granted, timeouts.step, signal =>
          callAdapterForChange(signal, async () => {
            const restored = await restore({ signal })
            if (!restored) throw fault('no restored version')
            const stored = checkEntry(restored, nameOf(this.path))
            contents.wrote(this, stored, null)
            return stored
          }),
        ),
      ),
    )
  }

  /** Whether the back end deletes a version that it keeps by itself. */
  get canDeleteVersions(): boolean {
    return this.context.provider.versions?.remove !== undefined
  }

  /** Whether the back end says which files were deleted. */
  get findsDeleted(): boolean {
    return this.context.provider.versions?.deleted !== undefined
  }

  /** Returns one page of the files below this folder that were deleted, and of which the back end has versions. Call it only if `findsDeleted` is true. */
  listDeleted(
    signal: AbortSignal,
    { cursor, limit }: { cursor: string | null; limit: number },
  ): Promise<{ paths: StoragePath[]; cursor: string | null }> {
    const { path } = this
    return this.metadata(signal, async call => {
      const options = { ...call, limit, ...(cursor !== null && { cursor }) }
      return checkDeleted(await nativeVersions(this.context).deleted?.(path, options), { limit, cursor, within: path })
    })
  }

  /** Deletes a version that the back end keeps. Call it only if `canDeleteVersions` is true. */
  async deleteVersion(id: string, signal: AbortSignal): Promise<void> {
    await this.context.activeGrants.confirm([this.grant])
    await this.requireChangeable({ keeps: true })
    await this.metadata(signal, async call => nativeVersions(this.context).remove?.(this.path, id, call))
  }
}
