/** Uploads in parts that come in any order and at once. Their state is in the database, so any server can continue them. */
import type { Readable } from 'node:stream'
import { authorize, needs } from '../../../auth/needs.ts'
import { isWithin, root, type StoragePath } from '../../../auth/path.ts'
import { type Grant, grantBasePaths } from '../../../auth/policy.ts'
import { requireViewer, type Viewer } from '../../../auth/viewer.ts'
import {
  deletePart,
  findPart,
  insertPart,
  listMultipartUploads,
  listParts,
  type UploadPart,
} from '../../../db/uploads/parts.ts'
import type { UploadRecord } from '../../../db/uploads/record.ts'
import { findUpload } from '../../../db/uploads/uploads.ts'
import { AppError } from '../../../errors.ts'
import { exactBody } from '../../../storage/body-streams.ts'
import { timeToKeep } from '../../../storage/validate-entry.ts'
import type { ConflictBehavior } from '../../files/conflict.ts'
import { entryAt, type FileEntry, type LocationInput } from '../../files/entry.ts'
import {
  checkedBody,
  type Digests,
  requireFits,
  tooLarge,
  verifyCondition,
  type WriteCondition,
} from '../../files/upload.ts'
import type { ActiveUpload, UploadServices } from '../active-upload.ts'
import { finish } from '../finish.ts'
import { locked } from '../lease.ts'
import { blockFor, isUploadId, newUploadId } from '../limits.ts'
import { outlasting } from '../outlasting.ts'
import { abortAtBackEnd, isUnfinished, unfinishedFacts } from '../sweep.ts'
import { createNativeUploads, endedUpload, missingPart } from './native-upload.ts'
import { appendPart, appendWaiting, PartReservation, ReceivedPart } from './parts.ts'

export type { UploadPart } from '../../../db/uploads/parts.ts'
export { isEndedUpload } from './native-upload.ts'

export const maxParts = 10_000
/** Bytes: 5 GiB. */
const maxPartBytes = 5 * 2 ** 30

/** One upload of one credential. */
export interface UploadName extends LocationInput {
  uploadId: string
}

export interface NewMultipartUpload extends LocationInput {
  mimeType: string | null
  /** The modification time for the file, which is ignored where the back end cannot store it. */
  modifiedAt: Date | null
  /** The facts that the endpoint needs at the end of the upload. */
  metadata: string
}

export interface NewPart {
  body: Readable
  /** Bytes, if the client declared a size. */
  size: number | undefined
  digests: Digests
}

export type MultipartUploads = ReturnType<typeof createMultipartUploads>

export function createMultipartUploads(services: UploadServices) {
  const { db, storage, audit, leases, activate } = services
  const native = createNativeUploads(services)

  /** Only clients of S3 upload in this way. */
  const openAt = async (granted: Grant<'write'>) => (await storage.writeAt(granted)).overLocked

  /** Finds an upload of this credential to this path. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND */
  async function find(viewer: Viewer | null, { uploadId, ...at }: UploadName) {
    const [granted] = authorize(viewer, needs.create, at)
    const { kind: credentialKind, credentialId } = granted.viewer
    const wanted = { credentialKind, credentialId, isMultipart: true }
    const record = isUploadId(uploadId) ? await findUpload(db, uploadId, wanted) : null
    if (!record || record.providerId !== at.providerId || record.path !== granted.path) throw endedUpload()
    return { granted, record }
  }

  /** Takes the lease over from any other request. */
  async function open(granted: Grant<'write'>, { id }: UploadRecord, signal: AbortSignal): Promise<ActiveUpload> {
    const { kind: credentialKind, credentialId } = granted.viewer
    const stillThere = async () => {
      if (!(await findUpload(db, id, { credentialKind, credentialId, isMultipart: true }))) throw endedUpload()
    }
    const location = await openAt(granted)
    return activate(granted.viewer, await leases.take(id, stillThere, signal), location)
  }

  /**
   * Appends a part if it is its turn, otherwise stores it.
   * @param upload null if another request has the lease
   * @returns by how many bytes the parts of the upload have grown
   * @throws PART_MISSING for a part that was appended with other bytes, UPLOAD_LOCKED, TOO_MANY_UPLOADS
   */
  async function store(
    upload: ActiveUpload | null,
    record: UploadRecord,
    part: Pick<UploadPart, 'number' | 'size' | 'md5'>,
    received: ReceivedPart,
    signal: AbortSignal,
  ): Promise<number> {
    const { number } = part
    const appended = (upload?.lease.record ?? record).appendedParts
    const earlier = await findPart(db, record.id, number)
    const isSame = earlier !== null && isSameContent(earlier, part)
    if (isSame && (earlier.content !== null || number <= appended)) return 0
    if (earlier && !isSame && earlier.content === null) throw alreadyAppended(number)
    // Nobody appends the earlier bytes meanwhile, because this request has the lease.
    if (earlier && !upload) throw locked()
    if (earlier) await deletePart(db, record.id, earlier)
    const { gathered } = received
    const content = upload && gathered && number === appended + 1 ? null : await received.store()
    const other = await insertPart(db, record.id, { ...part, content })
    if (other && !isSameContent(other, part)) throw locked()
    if (!other && content !== null) received.keep()
    if (upload && gathered && content === null) await appendPart(upload, { ...part, content }, gathered, signal)
    return other ? 0 : part.size - (earlier?.size ?? 0)
  }

  /**
   * Stores a part, and returns the MD5 of its bytes in hex.
   * @throws as `find`, TOO_LARGE, DIGEST_MISMATCH, PART_MISSING, TOO_MANY_UPLOADS
   */
  async function put(
    viewer: Viewer | null,
    name: UploadName,
    number: number,
    { body, size, digests }: NewPart,
    requestSignal: AbortSignal,
  ): Promise<string> {
    const { granted, record } = await find(viewer, name)
    if (record.storedPath !== null) throw endedUpload()
    requireFits(size, maxPartBytes)
    return storage.activeGrants.run([granted], requestSignal, async signal => {
      const checked = checkedBody({ body, size, digests }, { maxBytes: maxPartBytes, tooLarge, algorithm: 'md5' })
      const location = await openAt(granted)
      await using reserved = new PartReservation(location, record.id)
      if (size !== undefined) await reserved.reach(size)
      if (record.hasNativeParts) {
        const { md5, growth } = await native.put(granted, record, { number, size, checked }, signal)
        reserved.keep(growth)
        return md5
      }
      await using received = new ReceivedPart(db, record)
      await received.read(size === undefined ? reserved.metered(checked.body) : checked.body, signal)
      const md5 = Buffer.from(checked.hashes().get('md5') ?? '', 'hex')
      await using lease = await leases.takeFree(record.id)
      const upload = lease && activate(granted.viewer, lease, location)
      const growth = await store(upload, record, { number, size: received.size, md5 }, received, signal)
      reserved.keep(growth)
      if (upload) await appendWaiting(upload, signal)
      return md5.toString('hex')
    })
  }

  return {
    /**
     * Begins an upload and returns its id.
     * @throws INVALID_PATH, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ROOT_IS_FIXED, TOO_MANY_UPLOADS
     */
    async create(viewer: Viewer | null, input: NewMultipartUpload, requestSignal: AbortSignal): Promise<string> {
      const [granted] = authorize(viewer, needs.create, input)
      const { kind, credentialId, member } = granted.viewer
      if (granted.path === root) throw new AppError('ROOT_IS_FIXED', 'Give the path of the file, including its name.')
      const location = await openAt(granted)
      await location.requireChangeable({ keeps: true })
      const hasNativeParts = location.resumable !== null && location.resumable.minPartSize !== null
      await using lease = await leases.insert({
        id: newUploadId(),
        workspaceId: member.workspaceId,
        userId: member.userId,
        credentialKind: kind,
        credentialId,
        providerId: input.providerId,
        path: granted.path,
        conflict: 'REPLACE',
        mimeType: input.mimeType,
        metadata: input.metadata,
        size: null,
        block: blockFor(location.resumable, null),
        isMultipart: true,
        hasNativeParts,
        isScanned: await services.scans.applies(granted.viewer),
        modifiedAt: timeToKeep(input) ?? null,
      })
      if (!lease) throw new AppError('INTERNAL')
      await location.reserve({ uploadId: lease.record.id, bytes: 0, adds: false }).catch(async error => {
        await lease.delete()
        throw error
      })
      if (hasNativeParts) await native.begin(activate(granted.viewer, lease, location), requestSignal)
      return lease.record.id
    },

    put,

    /** Returns the metadata that the upload was created with, and whether its file was stored before. @throws as `find` */
    async metadataOf(viewer: Viewer | null, name: UploadName): Promise<{ metadata: string; isStored: boolean }> {
      const { metadata, storedPath } = (await find(viewer, name)).record
      return { metadata, isStored: storedPath !== null }
    },

    /** Stores a range of an existing file as a part. @throws as `put`; as `Files.download` for the source */
    copy(
      viewer: Viewer | null,
      name: UploadName,
      number: number,
      { range, ...location }: LocationInput & { range: { offset: number; length: number } | null },
      signal: AbortSignal,
    ): Promise<string> {
      const { providerId: toProviderId, path: toPath } = name
      const facts = { location, to: { providerId: toProviderId, path: toPath }, details: { part: number } }
      return audit.recorded(viewer, 'PART_COPY', facts, async recording => {
        const [from] = authorize(viewer, needs.copy, { ...location, toProviderId, toPath })
        await find(viewer, name)
        const { body, entry } = await (await storage.readAt(from)).read(signal, range ? { range } : {})
        let bytes = 0
        const count = (chunk: Uint8Array) => {
          bytes += chunk.length
          return undefined
        }
        try {
          if (range && entry.size !== null && range.offset + range.length > entry.size) {
            throw new AppError(
              'RANGE_NOT_SATISFIABLE',
              `The source has ${entry.size} bytes: the range must lie inside it.`,
            )
          }
          const size = range?.length ?? entry.size ?? undefined
          const part = { body: exactBody(body, size ?? null, count), size, digests: {} }
          return await put(viewer, name, number, part, signal)
        } finally {
          body.destroy()
          recording.add({ bytes })
        }
      })
    },

    /** @throws as `find` */
    async parts(
      viewer: Viewer | null,
      name: UploadName,
      page: { after: number; limit: number },
    ): Promise<{ parts: UploadPart[]; hasMore: boolean }> {
      const { record } = await find(viewer, name)
      if (record.storedPath !== null) throw endedUpload()
      const found = await listParts(db, record.id, { after: page.after, limit: page.limit + 1 })
      return { parts: found.slice(0, page.limit), hasMore: found.length > page.limit }
    },

    /** Lists the unfinished uploads of this credential below its base paths. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async list(viewer: Viewer | null, providerId: string): Promise<UploadRecord[]> {
      const bases = grantBasePaths(viewer, providerId)
      const { kind: credentialKind, credentialId } = requireViewer(viewer)
      const found = await listMultipartUploads(db, { providerId, credentialKind, credentialId })
      return found.filter(({ path }) => bases.some(base => isWithin(path as StoragePath, base.path)))
    },

    /**
     * Makes the file visible: the parts in the order of their numbers. May be repeated after a lost response.
     * @param parts each number with the MD5 that `put` returned
     * @throws as `find`, PART_MISSING, PRECONDITION_FAILED, ALREADY_EXISTS, as `Files.upload`
     */
    async complete(
      viewer: Viewer | null,
      name: UploadName,
      parts: readonly { number: number; md5: string }[],
      conditions: { conflict: ConflictBehavior; condition?: WriteCondition | undefined },
      requestSignal: AbortSignal,
    ): Promise<FileEntry> {
      const { granted, record } = await find(viewer, name)
      using late = record.isScanned ? outlasting(requestSignal, () => true) : null
      return await storage.activeGrants.run([granted], late?.signal ?? requestSignal, async signal => {
        const upload = await open(granted, record, signal)
        await using lease = upload.lease
        const { location } = upload
        if (lease.record.storedPath === null) {
          await verifyCondition(location, conditions.condition, signal)?.()
          if (lease.record.hasNativeParts) await native.complete(upload, parts, conditions.conflict, signal)
          else await completeAppended(upload, parts, conditions.conflict, signal)
        }
        return entryAt(location, await location.stat(signal))
      })
    },

    /** Cancels an upload and frees its bytes. @throws as `find` */
    async abort(viewer: Viewer | null, name: UploadName, signal: AbortSignal): Promise<void> {
      const { granted, record } = await find(viewer, name)
      const upload = await open(granted, record, signal)
      await using lease = upload.lease
      if (lease.record.storedPath !== null) throw endedUpload()
      await abortAtBackEnd(services, lease.record)
      await lease.delete()
      if (isUnfinished(lease.record)) audit.noteUnfinished(granted.viewer, 'UPLOAD', unfinishedFacts(lease.record))
    },
  }

  async function completeAppended(
    upload: ActiveUpload,
    wanted: readonly { number: number; md5: string }[],
    conflict: ConflictBehavior,
    signal: AbortSignal,
  ): Promise<void> {
    const { lease, maxBytes } = upload
    await appendAll(upload, wanted, signal)
    const { received } = lease.record
    requireFits(received, maxBytes)
    await lease.save({ size: received, conflict })
    await finish(upload, [], signal)
  }

  /** Appends the parts that are not appended yet, and drops those that the client leaves out. @throws PART_MISSING */
  async function appendAll(
    upload: ActiveUpload,
    wanted: readonly { number: number; md5: string }[],
    signal: AbortSignal,
  ): Promise<void> {
    const { lease } = upload
    const stored = new Map((await listParts(db, lease.record.id)).map(part => [part.number, part]))
    for (const { number, md5 } of wanted) {
      const part = stored.get(number)
      const isAppended = number <= lease.record.appendedParts
      if (part?.md5.toString('hex') !== md5 || (!isAppended && part.content === null)) throw missingPart(number)
    }
    const numbers = new Set(wanted.map(({ number }) => number))
    for (const part of stored.values()) {
      if (numbers.has(part.number)) continue
      if (part.number <= lease.record.appendedParts) throw alreadyAppended(part.number)
      await deletePart(db, lease.record.id, part)
    }
    for (const { number } of wanted) {
      const part = stored.get(number)
      if (part && number > lease.record.appendedParts) await appendPart(upload, part, null, signal)
    }
  }
}

function isSameContent(a: Pick<UploadPart, 'size' | 'md5'>, b: Pick<UploadPart, 'size' | 'md5'>): boolean {
  return a.size === b.size && a.md5.equals(b.md5)
}

function alreadyAppended(number: number): AppError {
  return new AppError(
    'PART_MISSING',
    `Part ${number} is already part of the file with other bytes: abort the upload, and begin a new one.`,
  )
}
