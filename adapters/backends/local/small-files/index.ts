/**
 * The fast way for files of at most 64 KiB, in a thread with synchronous calls: a job enters, and an entry or null leaves. The
 * provider takes the general way for null. `jobs.ts` has the messages, `threads.ts` the queue, and `thread.ts` runs in the thread.
 */
import { randomUUID } from 'node:crypto'
import { notFound } from '../../../bases/errors.ts'
import type { Entry } from '../../../contract.ts'
import { pathOf, type Root } from '../open.ts'
import { nextMicroseconds } from '../staging.ts'
import type { Destination } from '../write.ts'
import {
  type SmallCopied,
  type SmallFile,
  type SmallRead,
  type SmallResult,
  type SmallStored,
  type SmallTarget,
  slowSync,
  smallBytes,
} from './jobs.ts'
import { SmallFileThreads } from './threads.ts'

/** The threads of this process. They start with the first job. */
const sharedThreads = new SmallFileThreads()

/** Milliseconds for which a disk that syncs slowly gets no writes from the threads. */
const slowTime = 10_000
/** The number of slow syncs, one after the other, that show a slow disk. On a busy machine, a thread may wait for a processor. */
const slowSyncs = 3

/**
 * The fast way for small files. Each method returns null for a file that has to take the general way, for whatever reason,
 * having changed nothing.
 */
export class SmallFiles {
  readonly #threads: Pick<SmallFileThreads, 'run'>
  /** When each disk may get writes again, as of `performance.now()`. */
  readonly #slowUntil = new Map<bigint, number>()
  /** The slow syncs of each disk since the last fast one. */
  readonly #slowSyncs = new Map<bigint, number>()

  constructor(threads: Pick<SmallFileThreads, 'run'> = sharedThreads) {
    this.#threads = threads
  }

  async read(
    root: Root,
    segments: readonly string[],
    { maxBytes = smallBytes, signal }: { maxBytes?: number; signal: AbortSignal },
  ): Promise<SmallFile | null> {
    const result = await this.#threads.run(readJob(root, segments, maxBytes), signal)
    return result && 'bytes' in result ? result : null
  }

  async write(destination: Destination, bytes: Uint8Array): Promise<Entry | null> {
    const { root, modifiedAt, signal } = destination
    if (bytes.length > smallBytes || this.#isSlow(root)) return null
    const job = { kind: 'write' as const, ...targetOf(destination), bytes, modifiedAt }
    return this.#stored(root, await this.#threads.run(job, signal))
  }

  /** The copy has the time of its source. */
  async copy(from: readonly string[], destination: Destination): Promise<Entry | null> {
    const { root, signal } = destination
    if (this.#isSlow(root)) return null
    const source = readJob(root, from, smallBytes)
    return this.#stored(root, await this.#threads.run({ kind: 'copy', ...targetOf(destination), from: source }, signal))
  }

  /** Copies files of one folder into another under the same names. Each result is null for a file that was not copied. */
  async copyAll(
    root: Root,
    { from, to }: { from: readonly string[]; to: readonly string[] },
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<(Entry | null)[]> {
    const copies: (Entry | null)[] = []
    const paths = { from: pathOf(root, from), to: pathOf(root, to) }
    while (copies.length < names.length && !this.#isSlow(root)) {
      const unique = { stagedName: randomUUID(), microseconds: nextMicroseconds() }
      const job = { kind: 'copies' as const, root, ...paths, names: names.slice(copies.length), ...unique }
      const result = this.#changed(root, await this.#threads.run(job, signal))
      if (!result || !('copies' in result)) break
      copies.push(...result.copies)
    }
    return names.map((_, index) => copies[index] ?? null)
  }

  /** @throws NOT_FOUND */
  async stat(root: Root, segments: readonly string[], signal: AbortSignal): Promise<Entry | null> {
    const job = { kind: 'stat' as const, root, path: pathOf(root, segments), name: segments.at(-1) ?? '' }
    const result = await this.#threads.run(job, signal)
    if (!result || !('entries' in result)) return null
    const [entry] = result.entries
    if (!entry) throw notFound()
    return entry
  }

  /**
   * Returns the entry of each name in a directory, or null for a name that is missing or not served.
   * @param directory must stay open until this settles
   * @param names as Latin-1, one character per byte
   */
  async stats(
    root: Root,
    directory: { fd: number },
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly (Entry | null)[] | null> {
    const result = await this.#threads.run({ kind: 'stats', root, fd: directory.fd, names }, signal)
    return result && 'entries' in result ? result.entries : null
  }

  /** Returns the entries of a directory that has at most `limit` entries, sorted by the bytes of their names; null for any other. */
  async list(root: Root, segments: readonly string[], limit: number, signal: AbortSignal): Promise<Entry[] | null> {
    const result = await this.#threads.run({ kind: 'list', root, path: pathOf(root, segments), limit }, signal)
    return result && 'entries' in result ? result.entries.filter(entry => entry !== null) : null
  }

  #isSlow({ dev }: Root): boolean {
    return performance.now() < (this.#slowUntil.get(dev) ?? 0)
  }

  #stored(root: Root, result: SmallResult): Entry | null {
    const changed = this.#changed(root, result)
    return changed && 'entry' in changed ? changed.entry : null
  }

  /** @throws an error of a system call after which a file is visible */
  #changed({ dev }: Root, result: SmallResult): SmallStored | SmallCopied | null {
    if (result && 'code' in result) throw Object.assign(new Error(result.message), result)
    if (!result || !('syncTime' in result)) return null
    this.#noteSync(dev, result.syncTime > slowSync)
    return result
  }

  #noteSync(disk: bigint, isSlow: boolean): void {
    const count = isSlow ? (this.#slowSyncs.get(disk) ?? 0) + 1 : 0
    this.#slowSyncs.set(disk, count)
    if (count >= slowSyncs) this.#slowUntil.set(disk, performance.now() + slowTime)
  }
}

function readJob(root: Root, segments: readonly string[], maxBytes: number): SmallRead {
  const limit = Math.min(maxBytes, smallBytes)
  return { kind: 'read', root, path: pathOf(root, segments), name: segments.at(-1) ?? '', maxBytes: limit }
}

function targetOf({ root, parents, name, overwrite }: Destination): SmallTarget {
  return {
    root,
    parent: pathOf(root, parents),
    name,
    overwrite,
    stagedName: randomUUID(),
    microseconds: nextMicroseconds(),
  }
}
