/** Creates, deletes and renames entries, also those that the session is writing. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Services } from '../../services/index.ts'
import type { SftpTargets } from './folders.ts'
import type { Handles } from './handles.ts'
import type { SftpOperation } from './messages.ts'
import type { SftpTarget } from './paths.ts'
import type { WrittenFile } from './written-file.ts'

export class SftpChanges {
  readonly #services: Services
  readonly #signal: AbortSignal
  readonly #handles: Handles
  readonly #targets: SftpTargets
  readonly #store: (written: WrittenFile) => Promise<void>

  /** @param store makes the content of a file visible */
  constructor(
    { services, signal }: { services: Services; signal: AbortSignal },
    handles: Handles,
    targets: SftpTargets,
    store: (written: WrittenFile) => Promise<void>,
  ) {
    this.#services = services
    this.#signal = signal
    this.#handles = handles
    this.#targets = targets
    this.#store = store
  }

  /** @throws as `OpenFiles.requireFolder`, `Files.createFolder` and `Files.delete` */
  async change(
    viewer: Viewer,
    { kind, path }: Extract<SftpOperation, { kind: 'mkdir' | 'rmdir' | 'remove' }>,
  ): Promise<void> {
    const target = await this.#targets.of(viewer, path)
    if (kind === 'mkdir') await this.#createFolder(viewer, target)
    else await this.#delete(viewer, kind, target)
  }

  async #createFolder(viewer: Viewer, target: SftpTarget): Promise<void> {
    const { files, openFiles } = this.#services
    if (may(() => authorize(viewer, needs.create, target))) await openFiles.requireFolder(viewer, target, this.#signal)
    await files.createFolder(viewer, target, this.#signal)
  }

  async #delete(viewer: Viewer, kind: 'rmdir' | 'remove', target: SftpTarget): Promise<void> {
    const { files } = this.#services
    const only = kind === 'remove' ? 'file' : 'directory'
    const deleting = () => files.delete(viewer, target, { recursive: false, only }, this.#signal).catch(explainNotEmpty)
    if (kind === 'rmdir' && this.#handles.hasWrittenBelow(target.sftpPath)) throw isWriting('NOT_EMPTY')
    const written = kind === 'remove' ? this.#handles.writtenAt(target.sftpPath) : undefined
    if (!written) {
      await deleting()
      return
    }
    await written.turns.exclude(async () => {
      // A new file may not have been stored yet.
      await deleting().catch(ignoreMissing)
      written.remove()
    })
  }

  /** @throws as `OpenFiles.requireFolder` and `Files.move`; IN_USE; ALREADY_EXISTS */
  async rename(viewer: Viewer, { path, to, replaces }: Extract<SftpOperation, { kind: 'rename' }>): Promise<void> {
    const { files, openFiles } = this.#services
    const [from, target] = [await this.#targets.of(viewer, path), await this.#targets.of(viewer, to)]
    const input = {
      providerId: from.providerId,
      path: from.path,
      toProviderId: target.providerId,
      toPath: target.path,
      conflict: replaces ? ('REPLACE' as const) : ('FAIL' as const),
    }
    if (path !== to && may(() => authorize(viewer, needs.move, input))) {
      await openFiles.requireFolder(viewer, target, this.#signal)
    }
    const move = () => files.move(viewer, input, this.#signal)
    const written = this.#handles.writtenAt(path)
    const replaced = path === to ? undefined : this.#handles.writtenAt(to)
    if (this.#handles.hasWrittenBelow(path)) throw isWriting('IN_USE')
    if (replaced && !replaces) throw isWriting('ALREADY_EXISTS')
    if (written && path !== to) {
      await written.turns.exclude(async () => {
        // A file that has not been stored cannot be renamed.
        await this.#store(written)
        const { etag } = await move()
        written.rename(viewer, target, etag)
      })
    } else await move()
    replaced?.remove()
  }
}

/** Returns whether a change is permitted. The service that is called next refuses any other one, and records it. */
function may(authorizeChange: () => unknown): boolean {
  try {
    authorizeChange()
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

function explainNotEmpty(error: unknown): never {
  if (!(error instanceof AppError) || error.reason !== 'NOT_EMPTY') throw error
  throw new AppError('NOT_EMPTY', 'The folder is not empty: delete what is in it first.')
}

function isWriting(reason: 'NOT_EMPTY' | 'IN_USE' | 'ALREADY_EXISTS'): AppError {
  return new AppError(reason, 'This session is writing a file there: close it first.')
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof AppError) || error.reason !== 'NOT_FOUND') throw error
}
