/** Resumable uploads. Their state is in the database, so any server can continue them. */
import type { Readable } from 'node:stream'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { formatPath, root, type StoragePath } from '../../auth/path.ts'
import { grant } from '../../auth/policy.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { UploadRecord } from '../../db/uploads/record.ts'
import { findReserving, findUnfinishedEmptyUpload, findUpload } from '../../db/uploads/uploads.ts'
import { AppError } from '../../errors.ts'
import { BudgetShare } from '../../lib/byte-budget.ts'
import { timeToKeep } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { type ConflictBehavior, candidates, isMissing, nameTaken, statOrNull } from '../files/conflict.ts'
import { type LocationInput, locationOf } from '../files/entry.ts'
import { requireFits, uploadUnderWay } from '../files/upload.ts'
import type { Members } from '../people/members.ts'
import type { UploadServices } from './active-upload.ts'
import { finish } from './finish.ts'
import type { Lease } from './lease.ts'
import { blockFor, checksumBudget, isUploadId, newUploadId } from './limits.ts'
import { outlasting } from './outlasting.ts'
import { type Checksum, receive, verifyChecksum } from './receive.ts'
import { abortAtBackEnd, isUnfinished, noteEnded, sweep, unfinishedFacts } from './sweep.ts'

export type { UploadRecord } from '../../db/uploads/record.ts'

export interface NewResumableUpload extends LocationInput {
  conflict: ConflictBehavior
  /** Bytes; null if the client declares the size later. */
  size: number | null
  mimeType: string | null
  /** The modification time for the file, which is ignored where the back end cannot store it. */
  modifiedAt: Date | null
  /** The client's metadata, returned unchanged. */
  metadata: string
}

/** An upload with its lease, which this request has until it disposes of the upload. */
export interface OpenUpload extends AsyncDisposable {
  readonly record: UploadRecord
  /** @throws TOO_LARGE */
  setSize(size: number): Promise<void>
  /**
   * Resolves with the new offset. With a checksum, nothing is stored until the whole body is verified.
   * @throws TOO_LARGE, UPLOAD_LOCKED, CHECKSUM_MISMATCH; for the last byte also the errors of `Files.upload`
   */
  write(body: Readable, signal: AbortSignal, checksum: Checksum | null): Promise<number>
  /** Cancels the upload. A file that is already complete stays. */
  remove(): Promise<void>
}

/** The bytes that a request is about to send. The length is null if it is not announced. */
export interface NextBytes {
  offset: number
  length: number | null
}

interface StartedUpload {
  viewer: Viewer
  lease: Lease
  location: WriteLocation
}

export type ResumableUploads = ReturnType<typeof createResumableUploads>

/** Milliseconds for a back end that is being disconnected. It may not respond at all. */
const abandonTimeout = 10_000

export function createResumableUploads(context: UploadServices, members: Pick<Members, 'findVisible'>) {
  const { db, storage, reservations, audit, scans, leases, activate, maxBytesAt } = context

  /** Opens the destination of an upload. */
  const at = (
    viewer: Viewer | null,
    { providerId, conflict }: { providerId: string; conflict: ConflictBehavior },
    path: StoragePath,
  ): Promise<WriteLocation> =>
    storage.writeAt(grant(viewer, { scope: 'write', providerId, path, isNew: conflict !== 'REPLACE' }))

  function openUpload(viewer: Viewer, lease: Lease, location: WriteLocation): OpenUpload {
    const upload = activate(viewer, lease, location)
    return {
      get record() {
        return lease.record
      },
      async setSize(size) {
        requireFits(size, upload.maxBytes)
        await location.reserve({ uploadId: lease.record.id, bytes: size, adds: false })
        await lease.save({ size })
      },
      async write(body, signal, checksum) {
        // Also aborts when the grant ends.
        using active = storage.activeGrants.register([location.grant], lease.lost)
        const stop = AbortSignal.any([signal, lease.wanted, active.signal])
        using late = outlasting(signal, () => lease.record.isScanned && lease.record.finishing)
        const work = AbortSignal.any([late.signal, active.signal])
        using buffer = new BudgetShare(checksumBudget)
        const verified = checksum ? await verifyChecksum(body, checksum, buffer, stop) : body
        if (lease.record.storedPath === null) await receive(upload, verified, work, stop)
        return lease.record.received
      },
      async remove() {
        const { record } = lease
        await abortAtBackEnd(context, record)
        await lease.delete()
        if (isUnfinished(record)) audit.noteUnfinished(viewer, 'UPLOAD', unfinishedFacts(record))
      },
      [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
    }
  }

  async function create(viewer: Viewer | null, input: NewResumableUpload, signal: AbortSignal): Promise<StartedUpload> {
    const { providerId, conflict, size } = input
    const [granted] = authorize(viewer, conflict === 'REPLACE' ? needs.create : needs.add, input)
    const { path, viewer: present } = granted
    if (path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, including its name.')
    const first = await storage.writeAt(granted)
    requireFits(size ?? undefined, maxBytesAt(first))
    const earlier = size === 0 ? await findInterruptedEmpty(present, input, signal) : null
    if (earlier) return { viewer: present, lease: earlier, location: await at(viewer, input, pathOf(earlier)) }
    const isScanned = await scans.applies(present)
    const insert = async (location: WriteLocation) => {
      await location.requireChangeable()
      return leases.insert({
        id: newUploadId(),
        workspaceId: present.member.workspaceId,
        userId: present.member.userId,
        credentialKind: present.kind,
        credentialId: present.credentialId,
        providerId,
        path: location.path,
        conflict,
        mimeType: input.mimeType,
        metadata: input.metadata,
        size,
        block: blockFor(location.resumable, size),
        isMultipart: false,
        hasNativeParts: false,
        isScanned,
        modifiedAt: timeToKeep(input) ?? null,
      })
    }
    let isReserved = false
    for (const candidate of conflict === 'RENAME' ? candidates(path, 'file') : [path]) {
      const location = candidate === path ? first : await at(viewer, input, candidate)
      // The row below reserves the name. Here a reservation would disturb another upload to the name, which may be at its end.
      isReserved = conflict !== 'REPLACE' && reservations.has(providerId, candidate)
      if (isReserved) continue
      if (conflict !== 'REPLACE' && (await statOrNull(location, signal))) continue
      const lease = await insert(location)
      isReserved = !lease
      if (!lease) continue
      await reserve(location, lease)
      return { viewer: present, lease, location }
    }
    throw isReserved ? await describeUnderWay(present, granted) : nameTaken(path)
  }

  /** @throws QUOTA_EXCEEDED */
  async function reserve(location: WriteLocation, lease: Lease): Promise<void> {
    const { id, size } = lease.record
    try {
      await location.reserve({ uploadId: id, bytes: size ?? 0, adds: false })
    } catch (error) {
      await lease.delete()
      await lease[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Describes the upload that reserves a path, and names a member only to those who may see them. */
  async function describeUnderWay(viewer: Viewer, at: { providerId: string; path: StoragePath }): Promise<AppError> {
    const record = viewer.kind === 'SHARE' ? null : await findReserving(db, at)
    if (!record) return uploadUnderWay(at.path)
    const { id, createdAt: startedAt, touchedAt: lastActiveAt, received, size } = record
    const member = isOfMember(record) ? await members.findVisible(viewer, record.userId) : null
    const by = member && { id: member.userId, name: member.name, email: member.email }
    return uploadUnderWay(at.path, { upload: { id, startedAt, lastActiveAt, received, size, by } })
  }

  /**
   * Finds the interrupted upload of the same empty file. An empty file is complete when its upload is created, so a client
   * that got no response creates it again.
   */
  async function findInterruptedEmpty(
    { kind, credentialId }: Viewer,
    { providerId, metadata }: NewResumableUpload,
    signal: AbortSignal,
  ): Promise<Lease | null> {
    const find = () => findUnfinishedEmptyUpload(db, { providerId, metadata, credentialKind: kind, credentialId })
    const earlier = await find()
    if (!earlier) return null
    try {
      return await leases.take(
        earlier.id,
        async () => {
          if (!(await find())) throw new AppError('NOT_FOUND')
        },
        signal,
      )
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  return {
    /**
     * @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ROOT_IS_FIXED, ALREADY_EXISTS, TOO_LARGE,
     * TOO_MANY_UPLOADS
     */
    async create(viewer: Viewer | null, input: NewResumableUpload, signal: AbortSignal): Promise<OpenUpload> {
      const started = await create(viewer, input, signal).catch(error => {
        // Only a failed start is recorded here: `finish` records the rest.
        const { providerId, path, conflict } = input
        if (viewer) audit.note(viewer, 'UPLOAD', { location: { providerId, path }, details: { conflict } }, error)
        throw error
      })
      return await complete(started, signal)
    },

    /**
     * Takes the lease over from any other request. An upload made with another credential counts as missing.
     * @param next the bytes that the request is about to send; after a request that ends at their offset, it waits for its end
     * @throws NOT_FOUND, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, UPLOAD_LOCKED
     */
    async open(viewer: Viewer | null, id: string, signal: AbortSignal, next?: NextBytes): Promise<OpenUpload> {
      const present = requireViewer(viewer)
      const { kind, credentialId } = present
      const find = async () => {
        const found = isUploadId(id)
          ? await findUpload(db, id, { credentialKind: kind, credentialId, isMultipart: false })
          : null
        if (!found)
          throw new AppError(
            'NOT_FOUND',
            'There is no such upload: it has expired, or somebody took it over. Begin a new one.',
          )
        return found
      }
      const { providerId, conflict, path } = await find()
      grant(viewer, { scope: 'write', providerId, path: path as StoragePath, isNew: conflict !== 'REPLACE' })
      const lease = await leases.take(id, find, signal, next?.offset)
      if (next && next.length !== null) lease.end = next.offset + next.length
      try {
        return openUpload(present, lease, await at(viewer, { providerId, conflict }, path as StoragePath))
      } catch (error) {
        await lease[Symbol.asyncDispose]()
        throw error
      }
    },

    /**
     * Ends the unfinished upload of any member that reserves a path, so that another upload can begin there.
     * @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND, UPLOAD_LOCKED
     */
    takeOver(
      viewer: Viewer | null,
      input: Asked<typeof needs.create> & { uploadId: string },
      requestSignal: AbortSignal,
    ): Promise<{ path: string }> {
      const { uploadId } = input
      return audit.recorded(viewer, 'UPLOAD_TAKE_OVER', { location: locationOf(input) }, async recording => {
        const [granted] = authorize(viewer, needs.create, input)
        // Refuses a provider of another workspace.
        await storage.writeAt(granted)
        const requireReserving = async () => {
          if ((await findReserving(db, granted))?.id !== uploadId) throw endedMeanwhile()
        }
        return storage.activeGrants.run([granted], requestSignal, async signal => {
          await using lease = await leases.take(uploadId, requireReserving, signal)
          const { record } = lease
          if (record.storedPath !== null) throw endedMeanwhile()
          const { credentialId, received, size, userId } = record
          const subject = isOfMember(record)
            ? ({ kind: 'MEMBER', id: userId } as const)
            : ({ kind: 'SHARE', id: credentialId } as const)
          recording.add({ bytes: received, subject, details: { size } })
          await abortAtBackEnd(context, record, signal)
          await lease.delete()
          await noteEnded(context, record)
          return { path: formatPath(granted.path) }
        })
      })
    },

    /** The maximum size of a file, before the limits of its provider. */
    maxBytes: context.maxUploadBytes,

    /** Deletes uploads that nobody can continue, until the signal aborts. Several servers may run it at once. */
    sweep: (signal: AbortSignal) => sweep(context, { signal }),
    /** Aborts all unfinished uploads at a back end that is being disconnected. */
    abandon: (providerId: string) => sweep(context, { providerId, time: abandonTimeout }),
  }

  /** Finishes an empty file at once: no more bytes follow. */
  async function complete({ viewer, lease, location }: StartedUpload, signal: AbortSignal): Promise<OpenUpload> {
    try {
      if (lease.record.size === 0) await finish(activate(viewer, lease, location), [], signal)
      return openUpload(viewer, lease, location)
    } catch (error) {
      // The file may exist already, so the upload is kept for a client that creates it again.
      if (!lease.record.finishing) await lease.delete()
      await lease[Symbol.asyncDispose]()
      throw error
    }
  }
}

const pathOf = ({ record }: Lease) => record.path as StoragePath

/** Returns whether a member made the upload, not somebody with the share link of a member. */
const isOfMember = ({ credentialKind }: UploadRecord) => credentialKind !== 'SHARE'

function endedMeanwhile(): AppError {
  return new AppError('NOT_FOUND', 'That upload has ended, or never reserved this path: begin your own.')
}
