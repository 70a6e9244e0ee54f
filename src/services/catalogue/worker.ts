/**
 * Works on the catalogues of all providers: one server on each, under a lease. It follows changes first, then walks through folders that
 * have changed as a whole, and then lists everything once in each interval.
 */
import { randomUUID } from 'node:crypto'
import type { StoragePath } from '../../auth/path.ts'
import {
  type Catalogue,
  CatalogueLeaseLost,
  changeCatalogue,
  claimCatalogue,
  compareAll,
  confirmFollowing,
  deleteCatalogue,
  type RunningChange,
  releaseCatalogue,
  removeServer,
  renewCatalogue,
  renewServer,
  takeKilledServers,
} from '../../db/catalogue/catalogues.ts'
import { addExpected, type CatalogueChange, endChanges, listChanges, setNext } from '../../db/catalogue/changes.ts'
import { deleteBelow } from '../../db/catalogue/entries.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, type ProviderRecord } from '../../db/providers.ts'
import { AppError, toAppError } from '../../errors.ts'
import { startPolling } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import { compareNames } from '../files/list.ts'
import { followEntries, followMove } from './follow.ts'
import { Pace, secondsToRetry } from './pace.ts'
import { batchSize } from './remove.ts'
import { Walk, type WalkContext } from './walk.ts'

/** Milliseconds between two searches for work. */
const pollInterval = 1000
/** The catalogues that one server works on at once. */
const maxAtOnce = 4
/**
 * Milliseconds after which another catalogue gets a turn, unless a folder is listed in part, which the next turn would begin again. The
 * next turn lists some folders again, as a walk is not strictly in order.
 */
const turn = 30_000
/** Milliseconds between two renewals of the row of this server. */
const renewInterval = 10_000
/** The changes that are followed together. */
const changesAtOnce = 500
const looksAtOnce = 8
const hour = 3600_000

interface WorkerContext {
  db: Database
  storage: Storage
  /** Hours between two rounds. */
  interval: number
  /** Called before a new catalogue is filled: see `Feeds`. */
  onNew: (catalogue: number, signal: AbortSignal) => Promise<void>
  onError: (error: unknown) => void
}

/**
 * Shows that this server writes changes. Returns a function that ends it, for a server that has written all of them.
 * @param options.runningChanges returns the changes that this server makes at present, and has written no event of
 */
export function announceServer(options: {
  db: Database
  id: string
  runningChanges: () => RunningChange[]
  onError: (error: unknown) => void
}): () => Promise<void> {
  const { db, id, runningChanges, onError } = options
  let written = ''
  let writtenAt = 0

  async function announce(): Promise<void> {
    const running = JSON.stringify(runningChanges())
    if (running === written && performance.now() - writtenAt < renewInterval) return
    await renewServer(db, id, running)
    written = running
    writtenAt = performance.now()
  }

  const polling = startPolling({ interval: pollInterval, search: announce, onError })
  return async () => {
    await polling.stop()
    await removeServer(db, id).catch(onError)
  }
}

export interface CatalogueWorker {
  /** Looks for work now. */
  wake(): void
  /** Ends the work. Another server continues it. */
  stop(): Promise<void>
}

export function startCatalogueWorker(context: WorkerContext): CatalogueWorker {
  const { db, onError } = context
  const working = new Set<Promise<void>>()

  async function search(signal: AbortSignal): Promise<void> {
    if (await takeKilledServers(db)) await compareAll(db)
    await confirmFollowing(db)
    await addExpected(db)
    while (!signal.aborted && working.size < maxAtOnce) {
      const lease = randomUUID()
      const catalogue = await claimCatalogue(db, lease)
      if (!catalogue) return
      const work: Promise<void> = workOn(context, catalogue, lease, signal)
        .catch(onError)
        .finally(() => {
          working.delete(work)
          polling.wake()
        })
      working.add(work)
    }
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return {
    wake: polling.wake,
    async stop() {
      await polling.stop()
      await Promise.all(working)
    },
  }
}

/** Works on one catalogue until nothing is left to do, or the turn is over. */
async function workOn(context: WorkerContext, claimed: Catalogue, lease: string, stop: AbortSignal): Promise<void> {
  const { db } = context
  const leased = { catalogue: claimed.id, lease }
  try {
    if (claimed.providerId === null || claimed.mode === 'OFF') await remove(context, claimed, lease, stop)
    else {
      const [record] = await findProviders(db, [claimed.providerId])
      if (record) await new CatalogueRun(context, claimed, lease, record).work(stop)
    }
    await releaseCatalogue(db, leased, null)
  } catch (error) {
    if (error instanceof CatalogueLeaseLost) return
    if (stop.aborted) return releaseCatalogue(db, leased, null)
    const { reason } = toAppError(error)
    await releaseCatalogue(db, leased, { reason, seconds: secondsToRetry(claimed.failures) })
    // The status of the provider shows what its back end reports.
    if (!(error instanceof AppError)) throw error
  }
}

/** Removes the entries of a provider that is disconnected, or has no catalogue. */
async function remove({ db }: WorkerContext, { id, providerId }: Catalogue, lease: string, stop: AbortSignal) {
  for (let deleted = batchSize; deleted === batchSize && !stop.aborted; ) {
    await changeCatalogue(db, { catalogue: id, lease }, async trx => {
      deleted = await deleteBelow(trx, id, '' as StoragePath, batchSize)
      if (deleted < batchSize) await trx.deleteFrom('catalogue_changes').where('catalogue', '=', id).execute()
      return { added: -deleted, ...(deleted < batchSize && { roundStartedAt: null, roundNext: null }) }
    })
  }
  if (providerId === null && !stop.aborted) await deleteCatalogue(db, id)
}

/** The work on one catalogue under one lease. */
class CatalogueRun {
  readonly #context: WorkerContext
  readonly #record: ProviderRecord
  readonly #lease: string
  readonly #pace: Pace
  #catalogue: Catalogue
  /** The walk through a changed folder, and the change. */
  #tree: { change: CatalogueChange; walk: Walk } | null = null
  #round: Walk | null = null
  /** The entries of the last listing. */
  #entries = 0

  constructor(context: WorkerContext, catalogue: Catalogue, lease: string, record: ProviderRecord) {
    this.#context = context
    this.#catalogue = catalogue
    this.#lease = lease
    this.#record = record
    this.#pace = new Pace(context.storage, record)
  }

  async work(stop: AbortSignal): Promise<void> {
    const { db, storage } = this.#context
    const endsAt = performance.now() + turn
    const context = {
      db,
      catalogue: this.#catalogue.id,
      lease: this.#lease,
      reader: await storage.reader(this.#record),
    }
    try {
      while (!stop.aborted && this.#isConnected && (performance.now() < endsAt || this.#isInFolder)) {
        if (await this.#follow(context, stop)) continue
        if (!(await this.#walk(context, stop))) return
        await this.#pace.wait(this.#entries, stop)
      }
    } finally {
      this.#forgetAhead()
    }
  }

  /** Each step reads again whether the provider is still connected. */
  get #isConnected(): boolean {
    return this.#catalogue.providerId !== null
  }

  get #isInFolder(): boolean {
    return (this.#tree?.walk ?? this.#round)?.isInFolder ?? false
  }

  #forgetAhead(): void {
    this.#tree?.walk.forgetAhead()
    this.#round?.forgetAhead()
  }

  /** Follows the oldest changes. Returns false if there are none. */
  async #follow(context: WalkContext, stop: AbortSignal): Promise<boolean> {
    const changes = await listChanges(context.db, context.catalogue, { isTree: false, limit: changesAtOnce })
    const [first] = changes
    if (!first) return false
    this.#forgetAhead()
    const follow = {
      ...context,
      isComplete: (path: StoragePath) => this.#isComplete(path),
      onAdded: (path: StoragePath) => {
        this.#tree?.walk.noteAdded(path)
        this.#round?.noteAdded(path)
      },
    }
    if (first.kind === 'MOVED') {
      await followMove(follow, first, stop)
      return true
    }
    if (first.kind === 'FOLDER') {
      await this.#walkFolder(context, first, stop)
      return true
    }
    const other = changes.findIndex(({ kind }) => kind === 'MOVED' || kind === 'FOLDER')
    await followEntries(follow, other < 0 ? changes : changes.slice(0, other), looksAtOnce, stop)
    return true
  }

  #isComplete(path: StoragePath): boolean {
    const { indexedAt, round } = this.#catalogue
    if (indexedAt) return true
    const next = round?.next
    return next != null && compareNames(next, `${path}0`) > 0
  }

  async #walkFolder(context: WalkContext, change: CatalogueChange, stop: AbortSignal): Promise<void> {
    const walk = this.#walkOf(context, change, true)
    while (!(await walk.step({ atOnce: 1, isFast: false }, stop)).isDone) stop.throwIfAborted()
  }

  #walkOf(context: WalkContext, { id, path, next, isOutside }: CatalogueChange, isShallow: boolean): Walk {
    return new Walk(context, path, {
      from: next,
      hasGaps: false,
      isFirst: false,
      isShallow,
      isOutside,
      async store(trx, position) {
        if (position.next === null) await endChanges(trx, context.catalogue, [id])
        else if (!isShallow) await setNext(trx, context.catalogue, id, position.next)
        return position.hasGaps ? { hasGaps: true } : {}
      },
    })
  }

  /** Takes one step of a walk. Returns false if there is none. */
  async #walk(context: WalkContext, stop: AbortSignal): Promise<boolean> {
    this.#entries = 0
    this.#tree ??= await this.#nextTree(context)
    if (!this.#tree && !(await this.#beginRound(context, stop))) return false
    if (this.#tree) this.#round?.forgetAhead()
    const walk = this.#tree?.walk ?? this.#round
    if (!walk) return false
    const { listingsAtOnce: atOnce, isFree: isFast } = this.#pace
    const { entries, isDone, catalogue } = await walk.step({ atOnce, isFast }, stop)
    this.#entries = entries
    this.#catalogue = catalogue
    if (!isDone) return true
    if (this.#tree) this.#tree = null
    else this.#round = null
    return true
  }

  async #nextTree(context: WalkContext): Promise<{ change: CatalogueChange; walk: Walk } | null> {
    const [change] = await listChanges(context.db, context.catalogue, { isTree: true, limit: 1 })
    return change ? { change, walk: this.#walkOf(context, change, false) } : null
  }

  /** Begins a round if one is due, or continues one. Returns whether there is one. */
  async #beginRound(context: WalkContext, stop: AbortSignal): Promise<boolean> {
    if (this.#round) return true
    const nextRoundAt = new Date(Date.now() + this.#context.interval * hour)
    if (!this.#catalogue.round) {
      const renewed = await renewCatalogue(context.db, context)
      if (!renewed) throw new CatalogueLeaseLost()
      this.#catalogue = renewed
    }
    if (!this.#catalogue.round) {
      if (this.#catalogue.nextRoundAt.getTime() > Date.now()) return false
      if (this.#catalogue.indexedAt === null) await this.#context.onNew(context.catalogue, stop)
      this.#catalogue = await changeCatalogue(context.db, context, async () => ({
        roundStartedAt: new Date(),
        roundNext: null,
        roundHasGaps: false,
        roundIsFirst: this.#catalogue.entries === 0,
        nextRoundAt,
      }))
    }
    const { round } = this.#catalogue
    if (!round) return false
    this.#round = new Walk(context, '' as StoragePath, {
      from: round.next,
      hasGaps: round.hasGaps,
      isFirst: round.isFirst,
      isShallow: false,
      // Before everything was listed once, nobody knows what is new. A first round may have begun again.
      isOutside: this.#catalogue.indexedAt !== null,
      store: async (_trx, { next, hasGaps }) =>
        next === null
          ? { roundStartedAt: null, roundNext: null, indexedAt: round.startedAt, hasGaps }
          : { roundNext: next, roundHasGaps: hasGaps },
    })
    return true
  }
}
