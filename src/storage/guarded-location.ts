import type { StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { VersionSettings } from '../db/entry-holds.ts'
import type { BodyMeter } from './quota-guard.ts'
import { type GuardedChange, ReadLocation } from './read-location.ts'
import type { CheckedEntry } from './validate-entry.ts'
import type { Keeping, VersionTraits } from './versions.ts'

/** How changes of a location run: locks and holds prevent them, versions keep what they replace, and quotas bound what they store. */
export class GuardedLocation extends ReadLocation {
  /**
   * Requires that nothing prevents a change. Each change requires it, so call this only before work whose result becomes visible later.
   * @param change.isTree the entry and everything below it goes away or is replaced
   * @param change.keeps whether the content of the file stays if versions are kept
   * @throws LOCKED, ON_HOLD
   */
  async requireChangeable({
    isTree = false,
    keeps = false,
  }: {
    isTree?: boolean
    keeps?: boolean
  } = {}): Promise<void> {
    // Every change may add the entry to its folder or remove it from there, so a lock of the folder alone prevents it, too.
    const change = { path: this.path, isTree, isMember: true }
    await this.context.changes.require(this.grant, keeps ? this.keepingContent(change) : change)
  }

  /** Returns a change after which the present content of the file is still there. Where no versions are kept, it is not. */
  protected keepingContent(change: GuardedChange): GuardedChange {
    const { provider, versions, isOverLocked } = this.context
    if (!isOverLocked) return change
    return { ...change, keepsContent: settings => versions.traitsOf(provider, settings).count > 0 }
  }

  /** Runs `work` while nothing replaces the file. Moves and deletions for good take no turns. @throws UNAVAILABLE */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.context.versions.inTurn(this, signal, work)
  }

  /** Runs a change, which may take long. It ends with an error when a grant does, or when a lock or a hold begins to prevent it. */
  protected async runChange<T>(
    grants: readonly Grant[],
    { isTree, isMember = true, keeps = false }: { isTree: boolean; isMember?: boolean; keeps?: boolean },
    requestSignal: AbortSignal,
    work: (signal: AbortSignal, settings: VersionSettings) => Promise<T>,
  ): Promise<T> {
    const { activeGrants, changes } = this.context
    const bare = { path: this.path, isTree, isMember }
    const change = keeps ? this.keepingContent(bare) : bare
    await activeGrants.confirm(grants)
    const settings = await changes.require(this.grant, change)
    using active = activeGrants.register(grants, requestSignal)
    using _watched = changes.watch(this.grant, change, error => active.cancel(error))
    return await work(active.signal, settings)
  }

  /** Runs a change that replaces a file with `overwrite`. `work` gets what keeps that file, or null if nothing is kept. */
  protected runReplacing<T>(
    grants: readonly Grant[],
    change: { isTree: boolean; overwrite: boolean },
    requestSignal: AbortSignal,
    work: (signal: AbortSignal, keeping: Keeping | null) => Promise<T>,
  ): Promise<T> {
    return this.runChange(grants, { ...change, keeps: true }, requestSignal, (signal, settings) =>
      change.overwrite
        ? this.keeping(settings, signal, (keeping, granted) => work(granted, keeping))
        : work(signal, null),
    )
  }

  protected keeping<T>(
    settings: VersionSettings,
    signal: AbortSignal,
    work: (keeping: Keeping | null, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { provider, writeTracker, timeouts, versions } = this.context
    const file = { provider, grant: this.grant, path: this.path, settings, writeTracker, timeouts }
    return versions.keeping(file, signal, work)
  }

  /** Whether the back end moves an entry, with everything below it, in one step. */
  get canMove(): boolean {
    return this.context.provider.move !== undefined
  }

  /** How many versions of replaced and deleted files are kept here. */
  async versionTraits(): Promise<VersionTraits> {
    const { provider, changes, versions } = this.context
    return versions.traitsOf(provider, await changes.versionSettings(this.providerId))
  }

  /** Counts the file that `work` stores. @throws QUOTA_EXCEEDED before it */
  protected async counted<Stored extends { size: number | null } | null>(
    { hasBody = false, ...write }: { size?: number | undefined; uploadId?: string; hasBody?: boolean },
    work: (meter: BodyMeter | null) => Promise<Stored>,
  ): Promise<Stored> {
    const keepsReplaced = await this.keepsReplaced()
    return this.context.quotas.write(this.grant, this.path, { ...write, hasBody, keepsReplaced }, work)
  }

  private async keepsReplaced(): Promise<boolean> {
    return (await this.versionTraits()).count > 0
  }

  /** Counts that the entry has moved here. @throws QUOTA_EXCEEDED before `work` */
  protected async countedFrom<Moved extends CheckedEntry | null>(
    from: StoragePath,
    size: number | null | undefined,
    work: () => Promise<Moved>,
  ): Promise<Moved> {
    const keepsReplaced = await this.keepsReplaced()
    return this.context.quotas.move(this.grant, { from, to: this.path, size, keepsReplaced }, work)
  }

  /**
   * Reserves space for an upload until its row is deleted.
   * @param reservation.adds whether the bytes are added to those that the upload has reserved
   * @throws QUOTA_EXCEEDED
   */
  async reserve(reservation: { uploadId: string; bytes: number; adds: boolean }): Promise<void> {
    const keepsReplaced = await this.keepsReplaced()
    await this.context.quotas.reserve(this.grant, this.path, { ...reservation, keepsReplaced })
  }

  /** Counts the file that `work` makes visible. @throws QUOTA_EXCEEDED before it */
  store<Stored extends { size: number | null }>(
    upload: { uploadId: string; size: number },
    work: () => Promise<Stored>,
  ): Promise<Stored> {
    return this.counted(upload, work)
  }
}
