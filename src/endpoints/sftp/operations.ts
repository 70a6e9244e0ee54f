/** Performs the requests of a session: each calls a service, and returns the response. */
import { authorize, needs } from '../../auth/needs.ts'
import { requireScope } from '../../auth/policy.ts'
import { includesScope } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { FileEntry } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { plainFolder, type ShownEntry } from './attributes.ts'
import { SftpChanges } from './entry-changes.ts'
import { status } from './errors.ts'
import { openListing, SftpTargets, takeNames } from './folders.ts'
import { closeReads, Handles, maxHandles, readerOf, type SftpHandle, type WritingHandle } from './handles.ts'
import {
  attributesResponse,
  dataHeader,
  dataResponse,
  handleResponse,
  limitsResponse,
  nameFields,
  namesResponse,
  type OpenMode,
  okResponse,
  type SftpOperation,
  spaceResponse,
  statusResponse,
} from './messages.ts'
import { PathOrder, type PathUse } from './path-order.ts'
import { type SftpPath, type SftpTarget, splitPath, top } from './paths.ts'
import { Turns } from './turns.ts'
import { WrittenFile } from './written-file.ts'

/** Bytes of a step of `copy-data`. */
export const copyBytes = 256 * 1024

type OperationOf<Kind extends SftpOperation['kind']> = Extract<SftpOperation, { kind: Kind }>

export interface OperationsContext {
  services: Services
  /**
   * Returns the viewer of the connection as of now.
   * @param signal ends the wait for the rate limit @param slug of the storage that the viewer is about to use @throws KEY_REVOKED, ...
   */
  viewer: (signal: AbortSignal, slug: string | null) => Promise<Viewer>
  userId: string
  /** Aborts when the session ends. */
  signal: AbortSignal
}

export class Operations {
  readonly #context: OperationsContext
  readonly #handles: Handles
  readonly #order = new PathOrder()
  readonly #targets: SftpTargets
  readonly #changes: SftpChanges

  constructor(context: OperationsContext) {
    this.#context = context
    this.#handles = new Handles(context.userId)
    this.#targets = new SftpTargets(context.services.providers)
    this.#changes = new SftpChanges(context, this.#handles, this.#targets, written => this.#store(written))
  }

  /** Returns the response to a request. @throws AppError */
  run(id: number, operation: SftpOperation): Promise<Buffer> {
    switch (operation.kind) {
      case 'read':
        return this.#read(id, operation)
      case 'write':
        return this.#write(id, operation)
      case 'close':
        return this.#close(id, operation.handle)
      case 'open':
        return this.#ordered([operation.path], operation.mode.writes ? 'entry' : 'look', viewer =>
          this.#open(id, viewer, operation),
        )
      case 'stat':
        return this.#ordered([operation.path], 'look', async viewer =>
          attributesResponse(id, await this.#stat(viewer, operation.path), mayWrite(viewer)),
        )
      case 'opendir':
        return this.#ordered([operation.path], 'look', viewer => this.#openFolder(id, viewer, operation.path))
      case 'readdir':
        return this.#readFolder(id, operation.handle)
      case 'fstat':
        return this.#handleAttributes(id, operation.handle)
      case 'setstat':
        return this.#ordered([operation.path], 'entry', viewer => this.#setAttributes(id, viewer, operation))
      case 'fsetstat':
        return this.#setHandleAttributes(id, operation)
      case 'fsync':
        return this.#sync(id, operation.handle)
      case 'mkdir':
      case 'rmdir':
      case 'remove':
        return this.#ordered([operation.path], 'tree', async viewer => {
          await this.#changes.change(viewer, operation)
          return okResponse(id)
        })
      case 'rename':
        return this.#ordered([operation.path, operation.to], 'tree', async viewer => {
          await this.#changes.rename(viewer, operation)
          return okResponse(id)
        })
      case 'realpath':
        return Promise.resolve(namesResponse(id, [nameFields({ ...plainFolder, name: operation.path }, false)]))
      case 'statvfs':
        return this.#ordered([operation.path], 'look', viewer => this.#space(id, viewer, operation.path))
      case 'copy-data':
        return this.#copyData(id, operation)
      case 'limits':
        return Promise.resolve(limitsResponse(id, maxHandles))
      case 'refused':
        return Promise.reject(operation.error)
      case 'unsupported':
        return Promise.resolve(
          statusResponse(id, status.unsupported, 'This server has no links, and not every extension of the protocol.'),
        )
    }
  }

  /** Discards what is open. */
  close(reason: unknown): Promise<void> {
    return this.#handles.closeAll(reason)
  }

  #ordered(paths: readonly SftpPath[], use: PathUse, work: (viewer: Viewer) => Promise<Buffer>): Promise<Buffer> {
    return this.#order.run(paths, use, async () => work(await this.#viewer(paths[0])))
  }

  async #stat(viewer: Viewer, path: SftpPath): Promise<ShownEntry> {
    if (path === top) {
      requireScope(viewer, 'read')
      return plainFolder
    }
    const { files } = this.#context.services
    const target = await this.#targets.of(viewer, path)
    if (files.wayDown(viewer, target)) return plainFolder
    const written = this.#handles.writtenAt(path)
    if (!written) return files.stat(viewer, target, this.#context.signal)
    authorize(viewer, needs.read, target)
    return written.writes.entry
  }

  async #open(id: number, viewer: Viewer, { path, mode, attributes }: OperationOf<'open'>): Promise<Buffer> {
    const target = await this.#targets.of(viewer, path)
    const { services, signal } = this.#context
    const handle = await this.#handles.add(async (): Promise<SftpHandle> => {
      const open = this.#handles.writtenAt(path)
      if (!open && !mode.writes) {
        const reads = await services.openFiles.read(viewer, target, signal)
        return { kind: 'reads', reads, sent: 0, turns: new Turns() }
      }
      const written = open ?? new WrittenFile(await services.openFiles.write(viewer, target, mode, signal), target)
      written.open(mode.writes)
      try {
        if (open) await this.#share(viewer, open, mode)
        else if (attributes.modifiedAt) await written.change({ size: undefined, modifiedAt: attributes.modifiedAt })
      } catch (error) {
        await written.close(mode.writes)
        throw error
      }
      return { kind: 'written', written, mayRead: mode.reads, mayWrite: mode.writes, appends: mode.appends }
    })
    return handleResponse(id, handle)
  }

  /** Prepares a file that the session is writing for one more handle. @throws ALREADY_EXISTS, as `authorize` and `RandomWrites.truncate` */
  async #share(viewer: Viewer, written: WrittenFile, mode: OpenMode): Promise<void> {
    authorize(viewer, mode.writes ? needs.create : needs.read, written.target)
    if (mode.isNew) throw new AppError('ALREADY_EXISTS', 'This session is writing the file already.')
    if (mode.writes && mode.truncates) await written.change({ size: 0, modifiedAt: undefined })
  }

  async #read(id: number, { handle: name, position, length }: OperationOf<'read'>): Promise<Buffer> {
    const handle = this.#handles.get(name)
    const buffer = Buffer.allocUnsafeSlow(dataHeader + length)
    const bytes = await readerOf(handle)(buffer, dataHeader, position, length)
    if (handle.kind === 'reads') handle.sent += bytes
    return bytes === 0 && length > 0 ? statusResponse(id, status.endOfFile) : dataResponse(id, buffer, bytes)
  }

  async #write(id: number, { handle: name, position, bytes }: OperationOf<'write'>): Promise<Buffer> {
    const { written, appends } = this.#writable(name)
    await written.write(appends ? 'end' : position, bytes)
    return okResponse(id)
  }

  #writable(name: string): WritingHandle {
    const handle = this.#handles.get(name)
    if (handle.kind !== 'written' || !handle.mayWrite)
      throw new AppError('INVALID_INPUT', 'The file is not open for writing.')
    return handle
  }

  async #close(id: number, name: string): Promise<Buffer> {
    const handle = this.#handles.take(name)
    if (handle.kind !== 'written') {
      await handle.turns.last(() => closeReads(handle)).finally(() => this.#handles.remove(name))
      return okResponse(id)
    }
    const { written, mayWrite } = handle
    // The next operation at the path finds the file closed.
    await this.#order.run([written.target.sftpPath], 'entry', async () => {
      try {
        if (mayWrite) await written.turns.exclude(() => this.#store(written))
      } finally {
        await written.close(mayWrite).finally(() => this.#handles.remove(name))
      }
    })
    return okResponse(id)
  }

  /** Makes the content of a file visible. A credential that has ended stores nothing. */
  async #store(written: WrittenFile): Promise<void> {
    const viewer = await this.#viewer(written.target.sftpPath)
    const { services, signal } = this.#context
    await written.store((target, time) => services.openFiles.setTime(viewer, target, time, signal))
  }

  /** @throws what ends the session, KEY_REVOKED, RATE_LIMITED, ... */
  async #viewer(path: SftpPath = top): Promise<Viewer> {
    const { viewer, signal } = this.#context
    const present = await viewer(signal, splitPath(path)?.slug ?? null)
    signal.throwIfAborted()
    return present
  }

  async #openFolder(id: number, viewer: Viewer, path: SftpPath): Promise<Buffer> {
    const handle = await this.#handles.add(async () => {
      const { waiting, pages } = await openListing(this.#context, this.#targets, viewer, path)
      return { kind: 'folder', waiting, pages, turns: new Turns() }
    })
    return handleResponse(id, handle)
  }

  async #readFolder(id: number, name: string): Promise<Buffer> {
    const handle = this.#handles.get(name)
    if (handle.kind !== 'folder') throw new AppError('INVALID_INPUT', 'This is no open folder.')
    return handle.turns.exclude(async () => {
      const isWritable = mayWrite(await this.#viewer())
      while (handle.waiting.length === 0) {
        const page: FileEntry[] | null | undefined = await handle.pages?.next()
        if (!page) return statusResponse(id, status.endOfFile)
        handle.waiting = page
      }
      return namesResponse(id, takeNames(handle.waiting, isWritable))
    })
  }

  async #handleAttributes(id: number, name: string): Promise<Buffer> {
    const handle = this.#handles.get(name)
    const { turns } = handle.kind === 'written' ? handle.written : handle
    return turns.exclude(async () => attributesResponse(id, entryOf(handle), mayWrite(await this.#viewer())))
  }

  async #setHandleAttributes(id: number, { handle: name, attributes }: OperationOf<'fsetstat'>): Promise<Buffer> {
    const { size, modifiedAt } = attributes
    if (size === undefined && modifiedAt === undefined) {
      this.#handles.get(name)
      return okResponse(id)
    }
    await this.#writable(name).written.change(attributes)
    return okResponse(id)
  }

  async #setAttributes(id: number, viewer: Viewer, { path, attributes }: OperationOf<'setstat'>): Promise<Buffer> {
    const { size, modifiedAt } = attributes
    const { services, signal } = this.#context
    // Owners and permissions mean nothing here. Clients set them for every file, and take a refusal for a failure.
    if (size === undefined && modifiedAt === undefined) {
      await this.#stat(viewer, path)
      return okResponse(id)
    }
    const target = await this.#targets.of(viewer, path)
    const written = this.#handles.writtenAt(path)
    if (written) {
      await written.change(attributes)
      return okResponse(id)
    }
    if (size !== undefined) await this.#truncate(viewer, target, size)
    if (modifiedAt) await services.openFiles.setTime(viewer, target, modifiedAt, signal)
    return okResponse(id)
  }

  async #truncate(viewer: Viewer, target: SftpTarget, size: number): Promise<void> {
    const mode = { creates: false, truncates: size === 0, isNew: false }
    await using file = await this.#context.services.openFiles.write(viewer, target, mode, this.#context.signal)
    await file.writes.truncate(size)
    await file.writes.store()
  }

  async #sync(id: number, name: string): Promise<Buffer> {
    const { written } = this.#writable(name)
    await this.#order.run([written.target.sftpPath], 'entry', () => written.turns.exclude(() => this.#store(written)))
    return okResponse(id)
  }

  async #space(id: number, viewer: Viewer, path: SftpPath): Promise<Buffer> {
    const { services, signal } = this.#context
    if (path === top) {
      requireScope(viewer, 'read')
      return spaceResponse(id, null)
    }
    const target = await this.#targets.of(viewer, path)
    if (services.files.wayDown(viewer, target)) return spaceResponse(id, null)
    const limited = await services.quotas.spaceAt(viewer, target)
    if (limited) return spaceResponse(id, limited)
    const quota = await services.providers.quota(
      viewer,
      await services.providers.get(viewer, target.providerId),
      signal,
    )
    const used = quota?.used ?? null
    const available = quota?.total == null || used === null ? null : Math.max(0, quota.total - used)
    return spaceResponse(id, { used, available })
  }

  async #copyData(id: number, { from, position, length, to, at }: OperationOf<'copy-data'>): Promise<Buffer> {
    const [source, { written, appends }] = [this.#handles.get(from), this.#writable(to)]
    if (source.kind === 'written' && source.written === written)
      throw new AppError('INVALID_INPUT', 'A file cannot be copied into itself.')
    const read = readerOf(source)
    // A length of 0 means everything to the end.
    const end = length === 0 ? Number.POSITIVE_INFINITY : position + length
    for (let copied = 0; position + copied < end; ) {
      this.#context.signal.throwIfAborted()
      const buffer = Buffer.allocUnsafe(Math.min(copyBytes, end - position - copied))
      const bytes = await read(buffer, 0, position + copied, buffer.length)
      if (bytes === 0) break
      if (source.kind === 'reads') source.sent += bytes
      await written.write(appends ? 'end' : at + copied, buffer.subarray(0, bytes))
      copied += bytes
    }
    return okResponse(id)
  }
}

function entryOf(handle: SftpHandle): ShownEntry {
  if (handle.kind === 'folder') return plainFolder
  if (handle.kind === 'reads') return handle.reads.entry
  return handle.written.writes.entry
}

function mayWrite({ scope }: Viewer): boolean {
  return includesScope(scope, 'write')
}
