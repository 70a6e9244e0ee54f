import type { Readable } from 'node:stream'
import type { Call } from '../../adapters/contract.ts'
import { childOf, nameOf, type StoragePath, trashFolder } from '../auth/path.ts'
import { AppError } from '../errors.ts'
import { callAdapter, callAdapterForChange, isStorageError } from './adapter-call.ts'
import { ContentHash } from './content-hash.ts'
import { countsNothing, meteredBody } from './quota-guard.ts'
import { type ChangeGuard, type ReadLocation, requireWithin } from './read-location.ts'
import { ResumableLocation } from './resumable-write.ts'
import { runWithTimeout, writeWithTimeout } from './transfer-timeouts.ts'
import { checkTrashId, nativeTrash, trashPath } from './trash.ts'
import {
  type CheckedEntry,
  checkCopies,
  checkEntry,
  fault,
  known,
  type Presigned,
  timeToKeep,
  toEntry,
} from './validate-entry.ts'
import { VersionedLocation } from './versioned-location.ts'
import type { Keeping } from './versions.ts'

interface WriteOptions {
  size?: number
  mimeType?: string
  modifiedAt?: Date
  overwrite: boolean
  /** Returns the SHA-256 of the body once it has ended, if the caller computes it. */
  sha256?: (() => Buffer | null) | undefined
}

/** A location that can be changed. Its grant has the scope `write`. The guard decides before each change. */
export class WriteLocation extends VersionedLocation {
  override child(name: string): WriteLocation {
    return new WriteLocation(this.context, this.grant, childOf(this.path, name))
  }

  override at(path: StoragePath): WriteLocation {
    requireWithin(path, this.path)
    return new WriteLocation(this.context, this.grant, path)
  }

  /** @param options.isReserved the write is part of the work of `store` */
  write(
    requestSignal: AbortSignal,
    body: Readable,
    { isReserved = false, ...options }: WriteOptions & { isReserved?: boolean },
  ): Promise<CheckedEntry> {
    if (isReserved) return this.#write(requestSignal, body, options)
    return this.counted({ size: options.size, hasBody: true }, meter =>
      this.#write(requestSignal, meter ? meteredBody(body, meter) : body, options),
    )
  }

  #write(requestSignal: AbortSignal, body: Readable, { sha256, ...options }: WriteOptions): Promise<CheckedEntry> {
    const { timeouts, provider, writeTracker, contents } = this.context
    const content = sha256 ? null : new ContentHash()
    const change = { isTree: false, overwrite: options.overwrite }
    return this.runReplacing([this.grant], change, requestSignal, async (granted, keeping) => {
      const sent = keeping ? await keeping.beforeEndOf(body) : body
      const send = (signal: AbortSignal) =>
        callAdapterForChange(signal, async () => {
          const written = await writeTracker.track(this.grant, this.path, unfinished =>
            provider.write(this.path, sent, { ...options, ...keeping?.option, unfinished, signal }),
          )
          const stored = checkEntry(written, nameOf(this.path))
          if (options.size !== undefined && stored.size !== null && stored.size !== options.size) {
            throw fault(`a stored size of ${stored.size} bytes instead of ${options.size}`)
          }
          contents.wrote(this, stored, sha256 ? sha256() : (content?.digest(stored.size) ?? null))
          return stored
        })
      return writeWithTimeout(granted, sent, timeouts, send, {
        size: options.size,
        onChunk: content?.update,
        isPaused: () => keeping?.isBusy === true,
      })
    })
  }

  /**
   * Returns the location for what clients of S3 do with objects: what S3 Object Lock keeps may be replaced and deleted, if its content
   * stays as a version. Other changes of it are refused as elsewhere.
   */
  get overLocked(): WriteLocation {
    return new WriteLocation({ ...this.context, isOverLocked: true }, this.grant, this.path)
  }

  /** Whether only the lock of an object prevents that the file goes away, so that its content may become a version. @throws LOCKED, ON_HOLD */
  async isLockedObject(): Promise<boolean> {
    if (!this.context.isOverLocked) return false
    try {
      await this.requireChangeable({ isTree: true })
      return false
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'ON_HOLD') throw error
      await this.requireChangeable({ isTree: true, keeps: true })
      return true
    }
  }

  /**
   * Deletes a file whose content stays as an earlier version.
   * @param moveTo moves the file, which nothing else replaces meanwhile
   * @returns false if no versions are kept: nothing was done
   */
  async deleteToVersions(
    signal: AbortSignal,
    moveTo: (version: WriteLocation, file: WriteLocation) => Promise<CheckedEntry>,
  ): Promise<boolean> {
    const { changes } = this.context
    const change = this.keepingContent({ path: this.path, isTree: true, isMember: true })
    return this.keeping(await changes.require(this.grant, change), signal, async keeping => {
      // The steps of the deletion, such as that of a file that was copied, may do what the whole may.
      const { keepsContent } = change
      const stepChanges: ChangeGuard = {
        ...changes,
        require: (grant, step) => changes.require(grant, { ...step, keepsContent }),
        watch: (grant, step, cancel) => changes.watch(grant, { ...step, keepsContent }, cancel),
      }
      const context = { ...this.context, changes: stepChanges }
      await keeping?.preserve(path =>
        moveTo(new WriteLocation(context, this.grant, path), new WriteLocation(context, this.grant, this.path)),
      )
      return keeping !== null
    })
  }

  /** Null if the back end cannot store unfinished writes itself. */
  get resumable(): ResumableLocation | null {
    const { resumable } = this.context.provider
    if (!resumable) return null
    const { timeouts, writeTracker, contents } = this.context
    return new ResumableLocation(resumable, this.path, {
      timeouts,
      contents: contents.unfinished,
      wrote: (entry, sha256) => contents.wrote(this, entry, sha256),
      track: work => writeTracker.track(this.grant, this.path, work),
      complete: async (signal, { overwrite }, work) => {
        const change = this.keepingContent({ path: this.path, isTree: false, isMember: true })
        const settings = await this.context.changes.require(this.grant, change)
        return overwrite ? this.keeping(settings, signal, work) : work(null, signal)
      },
    })
  }

  /**
   * Works like `presignRead`, for a link that creates or replaces the file. Returns null where versions are kept, because the back end
   * would replace the file by itself.
   */
  async presignWrite(signal: AbortSignal, expiresIn: number): Promise<Presigned | null> {
    const { provider, changes, versions, quotas } = this.context
    const settings = await changes.require(this.grant, { path: this.path, isTree: false, isMember: true })
    // Nothing at the back end would cut an upload that exceeds a quota, or keep what it replaces.
    if (versions.traitsOf(provider, settings).count > 0 || (await quotas.applies(this.providerId))) return null
    return this.presigned(signal, { method: 'PUT', expiresIn })
  }

  async mkdir(signal: AbortSignal, options: { exclusive: boolean }): Promise<void> {
    await this.context.activeGrants.confirm([this.grant])
    await this.requireChangeable()
    const timeout = AbortSignal.timeout(this.context.metadataTimeout)
    const call = { ...options, signal: AbortSignal.any([signal, timeout]) }
    return callAdapterForChange(signal, () =>
      callAdapter(timeout, async () => this.context.provider.mkdir(this.path, call)),
    )
  }

  /** Sets the modification time. Returns false if the back end cannot, or not to this time. */
  async setModifiedAt(signal: AbortSignal, modifiedAt: Date): Promise<boolean> {
    const { provider, activeGrants } = this.context
    await activeGrants.confirm([this.grant])
    await this.requireChangeable()
    if (!provider.setModifiedAt || !timeToKeep({ modifiedAt })) return false
    await this.metadata(signal, async call => provider.setModifiedAt?.(this.path, modifiedAt, call))
    return true
  }

  /** @param seen the entry, as `stat` or `list` returned it */
  async delete(signal: AbortSignal, seen?: CheckedEntry): Promise<void> {
    await this.context.activeGrants.confirm([this.grant])
    await this.requireChangeable({ isTree: true })
    return this.context.quotas.remove(this.grant, this.path, false, () =>
      this.#goes(false, () =>
        this.metadata(signal, call => this.context.provider.delete(this.path, { ...call, ...known(seen) })),
      ),
    )
  }

  /** Whether the back end deletes a directory and its content in one call. */
  get canDeleteTree(): boolean {
    return this.context.provider.deleteTree !== undefined
  }

  /** Deletes a directory and its content in one call, or returns null if the back end cannot. */
  deleteTree(requestSignal: AbortSignal): Promise<void> | null {
    const { provider } = this.context
    if (!provider.deleteTree) return null
    // A refusal before the change begins leaves nothing to count.
    return this.runChange([this.grant], { isTree: true }, requestSignal, granted =>
      this.context.quotas.remove(this.grant, this.path, true, () =>
        this.#goes(true, () =>
          runWithTimeout(granted, this.context.timeouts.step, signal =>
            callAdapter(signal, async () => provider.deleteTree?.(this.path, { signal })),
          ),
        ),
      ),
    )
  }

  /**
   * Moves in one step at the back end. Returns null if it cannot, so that the caller copies instead.
   * @param options.seen the source, as `stat` or `list` returned it
   * @param options.size the bytes of a file, if they are known. Default: those of `seen`
   */
  async moveTo(
    destination: WriteLocation,
    signal: AbortSignal,
    {
      overwrite,
      seen,
      size = seen && (seen.kind === 'file' ? seen.size : null),
    }: { overwrite: boolean; seen?: CheckedEntry; size?: number | null },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.context
    const move = provider.move?.bind(provider)
    if (!destination.sharesBackEnd(this) || !move) return null
    await this.requireChangeable({ isTree: true })
    return destination.countedFrom(this.path, size, () =>
      destination.inOneStep(
        this,
        { isTree: true, overwrite, isFolder: seen?.kind === 'directory' },
        signal,
        async (call, keeping) => {
          const options = { overwrite, ...keeping?.option, ...known(seen), ...call }
          // Nobody takes it for lost if the server is killed after the move.
          await this.context.contents.leaves(this)
          const moved = await move(this.path, destination.path, options)
          await this.context.contents.moved(this, destination.path)
          return checkEntry(moved, nameOf(destination.path))
        },
      ),
    )
  }

  /**
   * Counts as one move what `work` copies and then deletes, between locations that count nothing themselves. Null, which `work` returns if
   * it has moved nothing, is only possible at the same provider.
   */
  movedFrom<Moved extends CheckedEntry | null>(
    source: WriteLocation,
    size: number | null,
    work: (source: WriteLocation, destination: WriteLocation) => Promise<Moved>,
  ): Promise<Moved> {
    if (!this.sharesBackEnd(source)) return work(source, this)
    return this.countedFrom(source.path, size ?? undefined, () => work(source.uncounted, this.uncounted))
  }

  /** The location for work that is counted as a whole, such as that of `store`: its own changes count nothing. */
  get uncounted(): WriteLocation {
    return new WriteLocation({ ...this.context, quotas: countsNothing }, this.grant, this.path)
  }

  /**
   * Copies a file inside the back end. Returns null if it cannot.
   * @param options.seen the entry of the source, which may have changed since
   */
  async copyFrom(
    source: ReadLocation,
    signal: AbortSignal,
    { overwrite, seen }: { overwrite: boolean; seen: CheckedEntry },
  ): Promise<CheckedEntry | null> {
    const { provider } = this.context
    const copy = provider.copy?.bind(provider)
    if (!this.sharesBackEnd(source) || !copy) return null
    const entry = toEntry(seen)
    // A back end that does not say how much it copies could store more than there is room for.
    if (seen.size === null && (await this.context.quotas.applies(this.providerId))) return null
    return this.counted({ size: seen.size ?? 0 }, () =>
      this.inOneStep(source, { isTree: true, overwrite }, signal, async (call, keeping) => {
        const copied = await this.context.writeTracker.track(this.grant, this.path, unfinished =>
          copy(source.path, this.path, { overwrite, ...keeping?.option, ...call, unfinished, entry }),
        )
        return checkEntry(copied, nameOf(this.path))
      }),
    )
  }

  /** Whether the back end copies small files of one of its folders faster together. */
  canCopySmallFrom(source: ReadLocation): boolean {
    return this.sharesBackEnd(source) && this.context.provider.copySmall !== undefined
  }

  /**
   * Copies small files of a folder into this one, under the same names and never over a file. Each result is null for a file that
   * has to be copied by itself. Call it only if `canCopySmallFrom` is true.
   * @param names at most 100
   */
  async copySmallFrom(
    source: ReadLocation,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly (CheckedEntry | null)[] | null> {
    const { provider, quotas } = this.context
    // A quota may have room for some of the files.
    if (await quotas.applies(this.providerId)) return null
    // New files are free of locks and holds of their own, so those of the folder decide.
    return this.inOneStep(source, { isTree: false, isMember: false, overwrite: false }, signal, async call =>
      checkCopies(await provider.copySmall?.(source.path, this.path, names, call), names),
    )
  }

  /** Returns null for NOT_IN_ONE_STEP. */
  private inOneStep<T>(
    source: ReadLocation,
    change: { isTree: boolean; isMember?: boolean; overwrite: boolean; isFolder?: boolean },
    requestSignal: AbortSignal,
    step: (call: Call, keeping: Keeping | null) => Promise<T>,
  ): Promise<T | null> {
    return this.runReplacing([source.grant, this.grant], change, requestSignal, async (granted, keeping) => {
      // A folder never replaces a file.
      if (!change.isFolder) await keeping?.before()
      return runWithTimeout(granted, this.context.timeouts.step, signal =>
        callAdapterForChange(signal, async () => {
          try {
            return await step({ signal }, keeping)
          } catch (error) {
            if (!isStorageError(error) || error.code !== 'NOT_IN_ONE_STEP') throw error
            await keeping?.discard()
            return null
          }
        }),
      )
    })
  }

  /** Returns the location of an entry in the reserved folder. @param id of an item or an upload that belongs to the granted path */
  inTrash(id: string): WriteLocation {
    return new WriteLocation(this.context, this.grant, childOf(trashFolder, id))
  }

  /** Returns the id that the entry has in the trash of the back end. Call it only if `trash.isNative` is true. */
  async identify(signal: AbortSignal): Promise<string> {
    await this.context.activeGrants.confirm([this.grant])
    return this.metadata(signal, async call => checkTrashId(await nativeTrash(this.context).identify(this.path, call)))
  }

  /** Moves the entry to the trash of the back end. @param id as `identify` returned it */
  async discard(id: string, signal: AbortSignal): Promise<void> {
    const move = { from: this.path, to: trashPath(id), size: undefined, keepsReplaced: false }
    await this.context.quotas.move(this.grant, move, async () => {
      await this.#goes(true, () =>
        this.changeTrash(signal, { isTree: true }, call => nativeTrash(this.context).put(id, this.path, call)),
      )
      return { kind: 'directory', size: null }
    })
  }

  /** Moves an entry from the trash of the back end to this path, where nothing may be. */
  restore(id: string, signal: AbortSignal): Promise<CheckedEntry> {
    return this.countedFrom(trashPath(id), undefined, () =>
      this.changeTrash(signal, { isTree: false }, async call =>
        checkEntry(await nativeTrash(this.context).restore(id, this.path, call), nameOf(this.path)),
      ),
    )
  }

  private changeTrash<T>(
    requestSignal: AbortSignal,
    guarded: { isTree: boolean },
    change: (call: Call) => Promise<T>,
  ): Promise<T> {
    return this.runChange([this.grant], guarded, requestSignal, granted =>
      runWithTimeout(granted, this.context.timeouts.step, signal =>
        callAdapterForChange(signal, () => change({ signal })),
      ),
    )
  }

  /** Runs a change that takes the entry away. It first notes that what goes is not lost, and forgets its known contents. */
  async #goes<T>(isTree: boolean, change: () => Promise<T>): Promise<T> {
    await this.context.contents.deleted(this, { isTree })
    try {
      return await change()
    } finally {
      // A job that keeps copies may have seen the entry meanwhile.
      await this.context.contents.deleted(this, { isTree })
    }
  }

  private sharesBackEnd(other: ReadLocation): boolean {
    return other.providerId === this.providerId
  }
}
