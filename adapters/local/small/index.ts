import { randomUUID } from 'node:crypto'
import type { Entry } from '../../contract.ts'
import { pathOf } from '../open-directly.ts'
import type { Root } from '../root.ts'
import type { Destination } from '../store.ts'
import { nextMicroseconds } from '../unique-time.ts'
import { type SmallFile, type SmallRead, type SmallResult, type SmallTarget, smallBytes } from './jobs.ts'
import { slowSync } from './run.ts'
import { SmallFileThreads } from './threads.ts'

/** The threads of this process. They start with the first job. */
const sharedThreads = new SmallFileThreads()

/** Milliseconds for which a disk that synced slowly gets no writes from the threads. */
const slowTime = 10_000

/**
 * The fast way for small files. Each method returns null for a file that has to take the general way, for whatever reason,
 * having changed nothing.
 */
export class SmallFiles {
  readonly #threads: Pick<SmallFileThreads, 'run'>
  /** When each disk may get writes again, as of `performance.now()`. */
  readonly #slowUntil = new Map<bigint, number>()

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

  async stat(root: Root, segments: readonly string[], signal: AbortSignal): Promise<Entry | null> {
    const job = { kind: 'stat' as const, root, path: pathOf(root, segments), name: segments.at(-1) ?? '' }
    const result = await this.#threads.run(job, signal)
    return (result && 'entries' in result && result.entries[0]) || null
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

  #isSlow({ dev }: Root): boolean {
    return performance.now() < (this.#slowUntil.get(dev) ?? 0)
  }

  /** @throws an error of a system call after which the file is visible */
  #stored({ dev }: Root, result: SmallResult): Entry | null {
    if (result && 'code' in result) throw Object.assign(new Error(result.message), result)
    if (!result || !('syncTime' in result)) return null
    if (result.syncTime > slowSync) this.#slowUntil.set(dev, performance.now() + slowTime)
    return result.entry
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
