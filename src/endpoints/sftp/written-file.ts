import type { Viewer } from '../../auth/viewer.ts'
import type { FileWrites, RandomWrites } from '../../services/open-files/index.ts'
import type { WantedAttributes } from './attributes.ts'
import type { SftpTarget } from './paths.ts'
import { notOpen, Turns } from './turns.ts'

/** A file that a session writes. The handles of the session for its path share it, so that each has what the others have written. */
export class WrittenFile {
  readonly turns = new Turns()
  readonly #file: FileWrites
  #target: SftpTarget
  /** The handles that are open, and those of them that write. */
  #handles = 0
  #writers = 0
  /** A modification time that came after the upload had begun. */
  #lateTime: Date | undefined
  #isRemoved = false
  #isOver = false

  constructor(file: FileWrites, target: SftpTarget) {
    this.#file = file
    this.#target = target
  }

  get target(): SftpTarget {
    return this.#target
  }

  /** Whether somebody who opens the path gets this file. */
  get isAtPath(): boolean {
    return this.#writers > 0 && !this.#isRemoved
  }

  /** @throws the reason why the file may no longer be written */
  get writes(): RandomWrites {
    this.#file.signal.throwIfAborted()
    return this.#file.writes
  }

  /** @throws INVALID_INPUT after the last handle was closed */
  open(mayWrite: boolean): void {
    if (this.#isOver) throw notOpen()
    this.#handles += 1
    if (mayWrite) this.#writers += 1
  }

  /** @param position where the bytes go, or the end @throws as `writes` and `RandomWrites.write` */
  write(position: number | 'end', bytes: Buffer): Promise<void> {
    return this.turns.exclude(async () => {
      if (!this.#isRemoved) await this.writes.write(position, bytes)
    })
  }

  /** Sets the size and the time. @throws as `write` */
  change({ size, modifiedAt }: WantedAttributes): Promise<void> {
    return this.turns.exclude(async () => {
      if (this.#isRemoved) return
      if (size !== undefined) await this.writes.truncate(size)
      if (modifiedAt && !this.writes.setTime(modifiedAt)) this.#lateTime = modifiedAt
    })
  }

  /**
   * Makes the content visible. Call it in a turn.
   * @param setTime sets the time of the stored file @throws the errors of an upload
   */
  async store(setTime: (target: SftpTarget, time: Date) => Promise<void>): Promise<void> {
    if (this.#isRemoved) return
    await this.writes.store()
    const time = this.#lateTime
    this.#lateTime = undefined
    if (time) await setTime(this.#target, time)
  }

  /** Follows the file to another path, after the viewer has stored and renamed it. @param etag that of the renamed file */
  rename(viewer: Viewer, target: SftpTarget, etag: string | null): void {
    this.#file.moveTo(viewer, target, etag)
    this.#target = target
  }

  /** From now on, nothing is stored, and what is written is dropped. */
  remove(): void {
    this.#isRemoved = true
  }

  /** Closes a handle. The last one discards what is not stored. */
  async close(mayWrite: boolean): Promise<void> {
    this.#handles -= 1
    if (mayWrite) this.#writers -= 1
    this.#isOver = this.#handles === 0
    if (this.#isOver) await this.turns.last(() => Promise.resolve(this.#file[Symbol.asyncDispose]()))
  }
}
