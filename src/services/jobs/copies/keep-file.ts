/**
 * Keeps the copies of one file: copies what is new or changed, reads what is due, and plans repairs. It leaves alone what somebody has changed
 * in a copy, and what it cannot decide.
 */
import { AppError } from '../../../errors.ts'
import { isSameVersion } from '../../../storage/content-tracker.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { nameTaken, statOrNull, taken } from '../../files/conflict.ts'
import { copyFile, isSameObject } from '../../files/copying.ts'
import { type JobRun, passingBytes, writable } from '../job-run.ts'
import { noteRead, type ReadContent } from '../reading.ts'
import { keepsVersions } from '../remove.ts'
import {
  agree,
  checkOf,
  claimAt,
  countFinding,
  type FileWork,
  findingOf,
  isContested,
  keepingOf,
  nameOfSide,
  providersOf,
  readSide,
  report,
  type Side,
  seenOf,
} from './file-work.ts'
import { hasOtherSizeOnly, isUnwritten, stateOf, winnerOf } from './judge.ts'

const day = 24 * 60 * 60 * 1000

/** @throws as the back ends, if the original cannot be read */
export async function keepFile(work: FileWork): Promise<void> {
  const { run, tally, original, copies } = work
  const { file } = original
  // An export differs each time.
  if (!file || file.size === null || file.isExport) {
    tally.skipped += 1
    return
  }
  if (isContested(work) || hasOtherSizeOnly(seenOf(work, original, file))) {
    return report(work, original, unclear(original))
  }
  work.content = claimAt(work, original)
  if (copies.every(copy => isUpToDate(work, copy))) {
    tally.skipped += 1
    return
  }
  await run.limits.run(providersOf(run), async () => {
    run.signal.throwIfAborted()
    if (copies.some(({ row }) => row && isDue(work, row.checkedAt))) await contentOf(work)
    for (const copy of copies) {
      if (work.isBlocked) return
      if (work.only !== null && work.only !== copy.source) continue
      await tally.attempt(
        run,
        { ...work.at, state: 'FILE', finding: findingOf('FAILED', copy.source) },
        async isRetry => {
          if (isRetry) copy.file = await statOrNull(copy.location, run.signal)
          await keepCopy(work, copy)
        },
      )
    }
    tally.add(file.size)
  })
}

function isDue({ run }: FileWork, checkedAt: Date): boolean {
  const { startedAt, createdAt } = run.job
  return checkedAt < (startedAt ?? createdAt) && Date.now() - checkedAt.getTime() >= keepingOf(run).recheckDays * day
}

function isUpToDate(work: FileWork, { row, file }: Side): boolean {
  const { content, original } = work
  if (!row || !content || !original.file || file?.kind !== 'file' || isDue(work, row.checkedAt)) return false
  const isSame = isUnwritten(row.copy, file) && isUnwritten(row.original, original.file)
  return isSame && row.sha256.equals(content) && !row.isDeleted
}

/** Reads the original, unless it is read already. Returns null if its copies have to stay as they are. */
async function contentOf(work: FileWork): Promise<Buffer | null> {
  if (work.isBlocked) return null
  if (work.content && work.reads.has(work.original)) return work.content
  work.isBlocked = true
  const { run, tally, original } = work
  const read = await readSide(work, original)
  if (!read) {
    tally.skipped += 1
    return null
  }
  const state = stateOf(seenOf(work, original, read.entry), read)
  if (state === 'DAMAGED') await decideDamage(work, read)
  else if (state === 'UNCLEAR') report(work, original, unclear(original))
  else {
    await noteRead(run.db, original.location, read)
    work.isBlocked = false
    work.content = read.sha256
    return read.sha256
  }
  return null
}

async function keepCopy(work: FileWork, copy: Side): Promise<void> {
  const { original } = work
  const { row, file } = copy
  if (!file) return keepMissingCopy(work, copy)
  if (file.kind === 'directory') throw new AppError('NOT_A_FILE', `${nameOfSide(copy)} is a folder.`)
  if (original.file && isSameObject(original.file, file)) {
    throw new AppError('ALREADY_EXISTS', `${nameOfSide(copy)} and its original are the same file.`)
  }
  if (row && hasOtherSizeOnly(seenOf(work, copy, file))) return report(work, copy, unclear(copy))
  const isUnchanged = row && claimAt(work, copy)?.equals(row.sha256)
  if (row && isUnchanged && !isDue(work, row.checkedAt)) {
    if (work.content?.equals(row.sha256)) return agree(work, copy, row.sha256, { checkedAt: row.checkedAt })
    return copyTo(work, copy)
  }
  await judgeCopy(work, copy)
}

async function keepMissingCopy(work: FileWork, copy: Side): Promise<void> {
  const { row } = copy
  // The original has changed since, so its new content is copied in any case.
  if (!row || !work.content?.equals(row.sha256)) return copyTo(work, copy)
  const message = `${nameOfSide(copy)} is missing.`
  await repairOrReport(work, copy, { kind: 'MISSING', from: work.original, sha256: row.sha256, message })
}

async function judgeCopy(work: FileWork, copy: Side): Promise<void> {
  const { run, tally, original } = work
  const { row } = copy
  const claim = claimAt(work, copy)
  // It was read before, and nobody has written to it since.
  const isForeign = claim && work.content && !claim.equals(work.content) && !row?.sha256.equals(claim)
  if (isForeign && !(row && isDue(work, row.checkedAt))) return report(work, copy, changed(copy, row !== null))
  const read = await readSide(work, copy)
  if (!read) {
    tally.skipped += 1
    return
  }
  const state = stateOf(seenOf(work, copy, read.entry), read)
  const isEdited = row !== null && !work.content?.equals(row.sha256)
  if (state === 'UNCLEAR') return report(work, copy, unclear(copy))
  const isClaimed = work.content !== null && !isEdited && state !== 'DAMAGED'
  const content = isClaimed ? work.content : await contentOf(work)
  if (!content) return
  if (state === 'DAMAGED') {
    const message = `${nameOfSide(copy)} is damaged: it has other bytes than were written, and nothing has changed it since.`
    if (!row) return report(work, copy, { kind: 'DAMAGED', reason: 'DAMAGED', message })
    // The edit of the original replaces the damaged bytes.
    if (!row.sha256.equals(content)) return copyTo(work, copy)
    return repairOrReport(work, copy, { kind: 'DAMAGED', from: original, sha256: content, message })
  }
  await noteRead(run.db, copy.location, read)
  // An original that nobody has read is due.
  const checkedAt = work.reads.has(original) ? new Date() : (row?.checkedAt ?? new Date(0))
  if (read.sha256.equals(content)) return agree(work, copy, content, { checkedAt })
  if (state === 'GOOD') return copyTo(work, copy)
  report(work, copy, changed(copy, row !== null))
}

/** Copies the original, over the copy as it was seen, unless its bytes turn out to be those of the copy, or not those that it should have. */
async function copyTo(work: FileWork, copy: Side): Promise<void> {
  const { run, tally, original } = work
  const { signal } = run
  const source = original.file
  if (!source) return
  const claim = work.content
  const onBytes = passingBytes(run, original.location, copy.location)
  let passed: Buffer | null = null
  let isSame = false
  const verify = async (sha256: Buffer | null) => {
    passed = sha256
    if (!sha256 || (claim && !sha256.equals(claim))) throw new AppError('DAMAGED')
    isSame = copy.file !== null && copy.row?.sha256.equals(sha256) === true
    if (isSame) throw new AppError('PRECONDITION_FAILED')
    await requireUnchanged(run, copy)
  }
  const options = { overwrite: copy.file !== null, signal, onBytes, verify }
  const copied = await copyFile(original.location, source, writable(copy.location), options).catch((error: unknown) => {
    if (isSame || (error instanceof AppError && error.reason === 'DAMAGED')) return null
    throw error
  })
  if (copied === taken) throw nameTaken(copy.location.path)
  if (!copied && !isSame) return rejectOriginal(work)
  if (copied) {
    const counts = checkOf(run, tally, copy.source)
    counts.copiedFiles += 1
    counts.copiedBytes += copied.copy.size ?? 0
    copy.file = copied.copy
  }
  if (!passed) throw new Error('A copy between two storages has no checksum')
  const now = await statOrNull(original.location, signal)
  // The bytes can be those of a version that came after the listing.
  const isOriginalKnown = now !== null && isSameVersion(source, now)
  if (isOriginalKnown) work.content = passed
  // The copy itself was not read if it already had the bytes.
  const checkedAt = isSame && copy.row ? copy.row.checkedAt : new Date()
  await agree(work, copy, passed, { checkedAt, isOriginalKnown })
}

/** Decides about an original whose bytes were not those that it should have. @throws BACK_END_FAULT if they are now */
async function rejectOriginal(work: FileWork): Promise<void> {
  const { run, original } = work
  const now = await statOrNull(original.location, run.signal)
  const isWritten = !now || !original.file || !isSameVersion(original.file, now)
  if (isWritten) throw new AppError('PRECONDITION_FAILED', `${nameOfSide(original)} was changed while it was copied.`)
  if (work.reads.has(original)) {
    work.isBlocked = true
    return report(work, original, damaged(original))
  }
  if (await contentOf(work)) {
    throw new AppError(
      'BACK_END_FAULT',
      `${nameOfSide(original)} had other bytes when it was copied than when it was read.`,
    )
  }
}

/** Nothing replaces what somebody has written meanwhile. @throws PRECONDITION_FAILED */
export async function requireUnchanged(
  { signal }: JobRun,
  { location, file }: Pick<Side, 'location' | 'file'>,
): Promise<void> {
  if (!file) return
  if (file.etag === null && file.modifiedAt === null) {
    const message = `The storage of "/${location.path}" says neither when a file was changed nor which version it has, so nothing replaces files there: keep the copies in another storage.`
    throw new AppError('PRECONDITION_FAILED', message)
  }
  const now = await statOrNull(location, signal)
  if (now && isSameVersion(file, now)) return
  throw new AppError(
    'PRECONDITION_FAILED',
    `"/${location.path}" was changed while the job worked on it, so it stays as it is.`,
  )
}

/** Decides about an original with other bytes than it should have: the record, the original and each copy have one voice each. */
async function decideDamage(work: FileWork, read: ReadContent): Promise<void> {
  const { run, tally, original, copies } = work
  const expected = claimAt(work, original)
  if (!expected) return report(work, original, damaged(original))
  const readings = await Promise.all(
    copies.map(async copy => ({ copy, read: copy.file?.kind === 'file' ? await readSide(work, copy) : null })),
  )
  const contents = readings.flatMap(each => each.read?.sha256 ?? [])
  const winner = winnerOf([expected, read.sha256, ...contents], expected, read.sha256)
  const good = readings.find(each => each.read?.sha256.equals(expected))?.copy
  if (winner === 'FOUND' && !read.isWrong) {
    await noteRead(run.db, original.location, read)
    work.content = read.sha256
    for (const { copy, read: own } of readings) {
      if (!own?.sha256.equals(read.sha256) || own.isWrong) continue
      await noteRead(run.db, copy.location, own)
      await agree(work, copy, read.sha256, { checkedAt: new Date() })
    }
    // The report lists or counts the one decision that takes unexpected bytes for the right ones.
    checkOf(run, tally, original.source).settled += 1
    if (run.progress.room > 0) {
      work.found.push({ ...work.at, state: 'KEPT', finding: findingOf('UNCLEAR', original.source) })
    }
    run.progress.room -= 1
    return
  }
  if (winner !== 'EXPECTED' || !good) return report(work, original, damaged(original))
  const repair = { kind: 'DAMAGED', from: good, sha256: expected } as const
  await repairOrReport(work, original, { ...repair, message: damaged(original).message })
  for (const { copy, read: own } of readings) {
    if (!own || !copy.row?.sha256.equals(expected) || stateOf(seenOf(work, copy, own.entry), own) !== 'DAMAGED')
      continue
    await repairOrReport(work, copy, { ...repair, message: damaged(copy).message })
  }
}

interface Repair {
  kind: 'DAMAGED' | 'MISSING'
  from: Side
  sha256: Buffer
  message: string
}

/** Plans a repair. Without `repair`, or if nothing would keep the damaged content, it lists a failure instead. */
export async function repairOrReport(work: FileWork, side: Side, repair: Repair): Promise<void> {
  const { run, at, found } = work
  const { kind, from, sha256, message } = repair
  const reason = kind === 'MISSING' ? 'NOT_FOUND' : 'DAMAGED'
  const good = `${nameOfSide(from)} has its content.`
  if (!keepingOf(run).repair) return report(work, side, { kind, reason, message: `${message} ${good}` })
  if (kind === 'DAMAGED' && !(await keepsVersions(writable(side.location)))) {
    const advice = `It stays, because its storage keeps no versions, so the damaged bytes would be lost: set its versionCount. ${good}`
    return report(work, side, { kind, reason, message: `${message} ${advice}` })
  }
  countFinding(work, side, kind)
  const seen = side.file && seenVersion(side.file)
  const finding = { ...findingOf(kind, side.source), from: from.source, sha256: sha256.toString('hex'), seen }
  found.push({ ...at, state: 'LISTED', finding })
}

function seenVersion({ size, etag, modifiedAt, fileId, contentTag }: CheckedEntry) {
  return { size, etag, modifiedAt: modifiedAt?.getTime() ?? null, fileId, contentTag: contentTag ?? null }
}

function damaged(side: Side) {
  const message = `${nameOfSide(side)} is damaged: it has other bytes than were stored, and nothing has changed it since.`
  return { kind: 'DAMAGED', reason: 'DAMAGED', message } as const
}

function unclear(side: Side) {
  const message = `${nameOfSide(side)} may be damaged: its size or its bytes have changed, but its time has not. It stays as it is: compare it with its copies.`
  return { kind: 'UNCLEAR', reason: 'DAMAGED', message } as const
}

function changed(side: Side, isEdit: boolean) {
  const what = isEdit ? 'was changed there' : 'exists there with another content'
  const message = `${nameOfSide(side)} ${what}, so it is not a copy and stays as it is: move it away to get a copy.`
  return { kind: 'CHANGED', reason: 'PRECONDITION_FAILED', message } as const
}
