/**
 * Keeps the content of files that a change replaces or deletes, as earlier versions in the reserved folder. The row of a version is stored
 * before its content goes there, so a content in that folder always has one.
 *
 * Some back ends keep it in the same step (`traits.keepsReplaced`). At others the file is copied after the last byte of the new one has
 * arrived, just before that becomes visible.
 */
import { type Readable, Transform } from 'node:stream'
import type { KeepReplaced, StorageProvider } from '../../adapters/contract.ts'
import { timeOrderedIds } from '../auth/id.ts'
import { childOf, isWithin, nameOf, type StoragePath, trashFolder } from '../auth/path.ts'
import type { Database } from '../db/client.ts'
import type { VersionSettings } from '../db/entry-holds.ts'
import {
  deleteVersionRow,
  type EarlierVersion,
  insertKept,
  insertVersion,
  markKept,
  noteContent,
  removeVersion,
  renewVersion,
  type VersionContent,
} from '../db/file-versions.ts'
import { AppError, toAppError } from '../errors.ts'
import { LeaseKeeper } from '../lib/lease-keeper.ts'
import { settle } from '../lib/settle.ts'
import { type Follower, followSignal } from '../lib/timeout.ts'
import { fromAdapter } from './adapter-call.ts'
import { detach } from './body-streams.ts'
import type { HeldLock, Locks } from './locks.ts'
import { type CheckedEntry, checkEntry } from './validate-entry.ts'
import { copyOver, findFile, type ReplacedFile } from './version-copy.ts'

export interface VersionTraits {
  /** The maximum number of earlier versions of a file; 0 keeps none. */
  count: number
  /** Days that they are kept. */
  days: number
  /** Whether keeping one takes no copy. */
  isOneStep: boolean
  /** Whether the back end keeps what is replaced by itself, for as long as it is set to. */
  isNative: boolean
}

/** The defaults of a server: a number of versions and of days. */
export type UsualVersions = Pick<VersionTraits, 'count' | 'days'>

/** Milliseconds: shorter than a lease. */
const heartbeat = 30_000
/** Milliseconds that a change waits for others of the same path, which may be large uploads. */
const longestWait = 10 * 60_000

interface StoreOptions {
  db: Database
  exclusively: Locks['exclusively']
  usual: UsualVersions
  onError: (error: unknown) => void
}

export type VersionStore = ReturnType<typeof createVersionStore>

export function createVersionStore(options: StoreOptions) {
  const { usual } = options

  /** Without settings of its own, a provider keeps versions only where that takes no copy and the back end keeps none. */
  function traitsOf({ traits, versions }: StorageProvider, settings: VersionSettings): VersionTraits {
    const isOneStep = traits.keepsReplaced === true
    const isNative = versions !== undefined
    const count = settings.versionCount ?? (isOneStep && !isNative ? usual.count : 0)
    return { count, days: settings.versionDays ?? usual.days, isOneStep, isNative }
  }

  return {
    traitsOf,

    /** Runs `work` while nothing replaces the file or moves it to the versions. @throws UNAVAILABLE after ten minutes */
    inTurn<T>({ providerId, path }: TurnOf, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      return options.exclusively(turnOf({ providerId, path }), { signal, timeout: longestWait }, async lock => {
        const result = await work()
        lock.require()
        return result
      })
    },

    /**
     * Runs a change that may replace or delete a file. `work` gets null if no version is kept, and a signal that also aborts when another
     * server may have begun to replace the file.
     */
    async keeping<T>(
      file: ReplacedFile,
      signal: AbortSignal,
      work: (keeping: Keeping | null, signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const traits = traitsOf(file.provider, file.settings)
      if (traits.count === 0 || isWithin(file.path, trashFolder)) return await work(null, signal)
      using running = followSignal(signal)
      await using keeping = new Keeping(options, file, traits, running)
      const result = await work(keeping, running.signal)
      await keeping.succeeded()
      return result
    },
  }
}

const nextId = timeOrderedIds()

type TurnOf = { providerId: string; path: StoragePath }

function turnOf({ providerId, path }: TurnOf): string {
  return `version ${providerId}/${path}`
}

/** Keeps the file that one change replaces, if it replaces one. */
export class Keeping implements AsyncDisposable {
  readonly #options: StoreOptions
  readonly #file: ReplacedFile
  readonly #traits: VersionTraits
  readonly #running: Follower
  #lock: HeldLock | null = null
  #leave: (() => void) | null = null
  #version: EarlierVersion | null = null
  #content: VersionContent | null = null
  #lease: LeaseKeeper | null = null
  #isOver = false
  #isBusy = false

  constructor(options: StoreOptions, file: ReplacedFile, traits: VersionTraits, running: Follower) {
    this.#options = options
    this.#file = file
    this.#traits = traits
    this.#running = running
  }

  /** The option with which an adapter keeps the file in the same step. Empty for other back ends: there, `before` copies the file. */
  get option(): { keep?: KeepReplaced } {
    if (!this.#traits.isOneStep) return {}
    return {
      keep: preserve =>
        this.preserve(async to => {
          const entry = await preserve(to)
          return entry && checkEntry(entry, nameOf(to))
        }),
    }
  }

  /** Whether `before` waits for its turn or copies the file, with timeouts of its own. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Copies the file at a back end that does not keep it in the same step. Call it just before the step. */
  async before(): Promise<void> {
    if (this.#traits.isOneStep) return
    const { signal } = this.#running
    this.#isBusy = true
    try {
      // Until it is the turn of this change, another one may create or replace the file.
      await this.#enter()
      const existing = await findFile(this.#file, signal)
      if (existing) await this.preserve(to => copyOver(this.#file, existing, to, signal))
    } finally {
      this.#isBusy = false
    }
  }

  /** Returns the body of a write, which ends after `before`. */
  async beforeEndOf(body: Readable): Promise<Readable> {
    if (this.#traits.isOneStep) return body
    if (this.#file.provider.traits.maxWrites !== undefined) {
      // Writes that wait for a copy could take all turns that copies need.
      await this.before()
      return body
    }
    return detach(
      body,
      new Transform({
        transform: (chunk, _encoding, done) => done(null, chunk),
        flush: done => void settle(this.before(), done),
      }),
    )
  }

  /**
   * Calls `preserve` with the path that the content goes to, while no other change replaces or deletes the file. `preserve` returns the
   * entry there, without an id if it is a copy, or null if there is no file.
   * @throws UNAVAILABLE, and as `preserve`
   */
  async preserve(preserve: (to: StoragePath) => Promise<CheckedEntry | null>): Promise<void> {
    const { db } = this.#options
    const { grant, path } = this.#file
    await this.#enter()
    this.#requireRunning()
    try {
      // The adapter tries the same call once more.
      if (this.#version) await removeVersion(db, this.#version)
      const { providerId, viewer } = grant
      const row = { id: nextId(new Date()), providerId, path, userId: viewer.member.userId }
      this.#version = await insertVersion(db, row, this.#traits.days)
    } catch (error) {
      // A failure of the database is not one of the adapter.
      throw toAppError(error)
    }
    const { id } = this.#version
    this.#lease ??= new LeaseKeeper({
      interval: heartbeat,
      renew: async () => this.#version && renewVersion(db, this.#version.id),
    })
    const entry = await preserve(childOf(trashFolder, id))
    if (entry) {
      this.#content = entry
      // If this server is killed, only the etag shows whether the file was replaced.
      if (entry.fileId === null) await this.#note(this.#version, entry, { isOver: false })
    } else {
      this.#version = null
      await deleteVersionRow(db, id)
    }
    // Otherwise the change would replace what another server has stored meanwhile.
    this.#requireRunning()
  }

  /** Lists the version, if there is one. */
  async succeeded(): Promise<void> {
    const [version, content] = [this.#version, this.#content]
    if (!version || !content) return
    // If this fails, a server lists the version later.
    await this.#list(version, content).catch(this.#options.onError)
    this.#version = null
  }

  async #list(version: EarlierVersion, content: VersionContent): Promise<void> {
    const { db } = this.#options
    if (await markKept(db, version, content, this.#traits.count)) return
    // This server was paused for long. Others have restored the version, or forgotten it before its content was there.
    const kept = { ...this.#file, path: childOf(trashFolder, version.id) }
    if (await findFile(kept, this.#running.signal)) await insertKept(db, version, content)
  }

  /** Takes the version back, as the change has replaced nothing. */
  async discard(): Promise<void> {
    const version = this.#version
    this.#version = null
    // If this fails, a server finds out that the file was not replaced.
    if (version) await removeVersion(this.#options.db, version).catch(this.#options.onError)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    this.#lease?.[Symbol.dispose]()
    const [version, content] = [this.#version, this.#content]
    // The change has failed. A server finds out whether the file was replaced.
    if (version && content) await this.#note(version, content, { isOver: true })
    this.#leave?.()
  }

  async #note({ id }: EarlierVersion, content: VersionContent, options: { isOver: boolean }): Promise<void> {
    await noteContent(this.#options.db, id, content, options).catch(this.#options.onError)
  }

  /** Waits for the turn of this change, which lasts until its end. @throws UNAVAILABLE */
  async #enter(): Promise<void> {
    if (this.#leave) return
    const { grant, path } = this.#file
    const [entered, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const options = { signal: this.#running.signal, timeout: longestWait }
    const turn = this.#options.exclusively(turnOf({ providerId: grant.providerId, path }), options, lock => {
      this.#lock = lock
      lock.lost.addEventListener('abort', () => this.#running.abort(lock.lost.reason), { once: true })
      entered.resolve()
      return left.promise
    })
    await Promise.race([entered.promise, turn]).catch(error => {
      throw fromAdapter(error, options.signal)
    })
    this.#leave = left.resolve
    if (this.#isOver) left.resolve()
    this.#requireRunning()
  }

  /** A change that has timed out may still be waiting for its turn, and another server may have taken the turn of a paused one. */
  #requireRunning(): void {
    if (this.#isOver) throw new AppError('UNAVAILABLE')
    this.#lock?.require()
  }
}
