/**
 * The text of files, for searches. Files of a catalogue enter a process of `extractor/`. Their words leave to the database, and
 * the words around a hit (`snippet.ts`) leave to people.
 *
 * This file reads the text of files, for catalogues with the mode CONTENT: one server on each, under a lease. A file that cannot
 * be read costs one attempt, which is remembered until the file changes. A failure of the back end ends the turn, and is tried
 * again later.
 */
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { nameOf, type StoragePath } from '../../../auth/path.ts'
import {
  type ContentReading,
  claimReading,
  dropContents,
  failContent,
  fillContents,
  hasContentWork,
  listWaiting,
  releaseReading,
  removeContents,
  renewReading,
  storeContent,
  type WaitingContent,
} from '../../../db/catalogue/contents.ts'
import type { Database } from '../../../db/client.ts'
import { findProviders } from '../../../db/providers.ts'
import { AppError, type Reason } from '../../../errors.ts'
import { LeaseKeeper } from '../../../lib/lease-keeper.ts'
import { mapAtMost } from '../../../lib/limiter.ts'
import { type Polling, startClaiming } from '../../../lib/polling.ts'
import type { Storage } from '../../../storage/index.ts'
import type { ProviderReader } from '../../../storage/provider-reader.ts'
import { Undecodable } from '../../decoding/processes.ts'
import { programFinder } from '../../decoding/programs.ts'
import { isGone } from '../entry.ts'
import { gramsOfPath } from '../names.ts'
import { Pace, secondsToRetry } from '../pace.ts'
import { Extractors } from './extractors.ts'
import { maxBytes, textKindOf } from './kinds.ts'

/** Milliseconds between two searches for work. */
const pollInterval = 2000
/** Milliseconds after which another catalogue gets a turn. */
const turn = 30_000
/** Milliseconds between two renewals of a lease, and without one after which it counts as lost. */
const renewInterval = 10_000
const leaseTimeout = 35_000
/** The files of one batch. */
const batchSize = 200
/** The files that are added at once when a catalogue gets the mode CONTENT, and the rows that are removed at once. */
const fillSize = 5000
/** The files that one server reads at once. */
const filesAtOnce = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)))
/** Characters. */
const maxFailure = 200

interface ContentContext {
  db: Database
  storage: Storage
  /** The value of PATH. */
  searchPath: string
  onError: (error: unknown) => void
}

export function startContentWorker({ db, storage, searchPath, onError }: ContentContext): Pick<Polling, 'stop'> {
  const extractors = new Extractors()
  const findTesseract = programFinder('tesseract', searchPath)
  const polling = startClaiming({
    interval: pollInterval,
    atOnce: 1,
    isAnyDue: () => hasContentWork(db),
    claim: () => claimReading(db, randomUUID()),
    work: (reading, signal) => workOn({ db, storage, extractors, findTesseract, onError }, reading, signal),
    onError,
  })
  return {
    async stop() {
      const stopped = polling.stop()
      // A process would work on its file to the end.
      extractors.close()
      await stopped
    },
  }
}

type WorkContext = Omit<ContentContext, 'searchPath'> & {
  extractors: Extractors
  findTesseract: () => Promise<string | null>
}

/** Works on one catalogue until nothing is left to do, or the turn is over. */
async function workOn(context: WorkContext, reading: ContentReading, stop: AbortSignal): Promise<void> {
  const { db, onError } = context
  const lost = new AbortController()
  const signal = AbortSignal.any([stop, lost.signal])
  using _keeper = new LeaseKeeper({
    interval: renewInterval,
    timeout: leaseTimeout,
    isExact: true,
    renew: () => renewReading(db, reading),
    onLost: () => lost.abort(),
    onError,
  })
  try {
    if (reading.isOver) await remove(db, reading.catalogue, signal)
    else await read(context, reading, signal)
    await releaseReading(db, reading, null)
  } catch (error) {
    if (signal.aborted) return releaseReading(db, reading, null)
    await releaseReading(db, reading, secondsToRetry(reading.failures))
    // The status of the provider shows what its back end reports.
    if (!(error instanceof AppError)) throw error
  }
}

async function remove(db: Database, catalogue: number, signal: AbortSignal): Promise<void> {
  for (let removed = fillSize; removed === fillSize && !signal.aborted; ) {
    removed = await removeContents(db, catalogue, fillSize)
  }
}

async function read(context: WorkContext, reading: ContentReading, signal: AbortSignal): Promise<void> {
  const { db, storage } = context
  const { catalogue } = reading
  const [record] = await findProviders(db, reading.providerId === null ? [] : [reading.providerId])
  if (!record) return
  const endsAt = performance.now() + turn
  const isOurTurn = () => !signal.aborted && performance.now() < endsAt
  const textsOf = (paths: readonly StoragePath[]) =>
    paths
      .filter(path => textKindOf(nameOf(path)) !== null)
      .map(path => ({ path, folders: gramsOfPath(catalogue, path) }))
  while (isOurTurn() && (await fillContents(db, reading, fillSize, textsOf))) {}
  const pace = new Pace(storage, record)
  const reader = await storage.reader(record)
  const atOnce = Math.min(filesAtOnce, pace.listingsAtOnce)
  const tesseract = await context.findTesseract()
  while (isOurTurn()) {
    const waiting = await listWaiting(db, catalogue, batchSize)
    const [skipped, files] = [waiting.filter(isSkipped), waiting.filter(content => !isSkipped(content))]
    await dropContents(
      db,
      catalogue,
      skipped.map(({ path }) => path),
    )
    if (waiting.length === 0) return
    await mapAtMost(atOnce, files, async content => {
      if (!isOurTurn()) return
      await pace.waitForBytes(content.size ?? 0, signal)
      await readFile({ ...context, reader, tesseract }, content, signal)
    })
  }

  /** Returns whether this server cannot read such files. */
  function isSkipped({ path }: WaitingContent): boolean {
    const kind = textKindOf(nameOf(path))
    return kind === null || (kind === 'image' && tesseract === null)
  }
}

/** The file has changed since its entry was stored. The catalogue gets its new version soon. */
class ContentChanged extends Error {}

/** Failures of the back end that concern one file. */
const ofFile: ReadonlySet<Reason> = new Set([
  'BACK_END_FAULT',
  'BACK_END_REFUSED',
  'PRECONDITION_FAILED',
  'RANGE_NOT_SATISFIABLE',
  'NOT_A_FILE',
  'LOCKED',
  'IN_USE',
])

async function readFile(
  {
    db,
    extractors,
    reader,
    tesseract,
  }: Omit<WorkContext, 'findTesseract'> & { reader: ProviderReader; tesseract: string | null },
  content: WaitingContent,
  signal: AbortSignal,
): Promise<void> {
  const { path, size, etag } = content
  const kind = textKindOf(nameOf(path))
  if (kind === null) return
  const limit = maxBytes[kind]
  if (kind !== 'text' && size !== null && size > limit) return failContent(db, content, 'The file is too large.')
  const task = { kind, size, maxBytes: limit, tesseract }
  try {
    const extracted = await extractors.run(task, range => bodyOf(range), signal)
    await storeContent(db, content, extracted)
  } catch (error) {
    signal.throwIfAborted()
    if (!isOwnFailure(error)) throw error
    await failContent(db, content, (error instanceof Error ? error.message : String(error)).slice(0, maxFailure))
  }

  async function* bodyOf({ offset, length }: { offset: number; length: number }) {
    const isWhole = offset === 0 && size !== null && length >= size
    const options = { ...(etag !== null && { ifMatch: etag }), ...(!isWhole && { range: { offset, length } }) }
    const { body, entry } = await reader.read(path, options, signal)
    const isSame = etag !== null && entry.etag !== null ? etag === entry.etag : size === entry.size
    if (!isSame) {
      body.destroy()
      throw new ContentChanged('The file has changed.')
    }
    yield* body
  }
}

/** PostgreSQL's classes of conditions for values that it cannot store: `data_exception` and `program_limit_exceeded`. */
const ofValue = /^(?:22|54)/

function isOwnFailure(error: unknown): boolean {
  if (error instanceof Undecodable || error instanceof ContentChanged || isGone(error)) return true
  if (error instanceof Error && 'code' in error && ofValue.test(String(error.code))) return true
  return error instanceof AppError && ofFile.has(error.reason)
}
