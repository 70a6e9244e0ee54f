/**
 * Threads that encrypt and decrypt blocks. One does 150 MB/s, for which the main thread would serve nothing else. They start when a large
 * file is first read or written.
 */
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError } from '../../errors.ts'
import { type BlockJob, blockBytes, runBlockJob } from './blocks.ts'

const maxThreads = Math.min(4, availableParallelism())
/** MiB of V8's heap in a thread. The bytes of blocks are outside of it. */
const heap = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }
/** Bytes that take the main thread less time than a message to another one and back delays it on a busy machine. */
const smallBytes = 2 * blockBytes

type Result = Uint8Array<ArrayBuffer> | null

interface Task {
  job: BlockJob
  settle: PromiseWithResolvers<Result>
}

// Node strips types from the sources; a build has JavaScript.
const threadFile = new URL(`./thread${extname(import.meta.url)}`, import.meta.url)

export class BlockThreads {
  readonly #file: URL
  readonly #idle: BlockThread[] = []
  readonly #waiting: Task[] = []
  #count = 0
  #isBroken = false

  /** @param file the module of the threads. Tests set it */
  constructor(file = threadFile) {
    this.#file = file
  }

  /**
   * Resolves with null if a block is damaged. Jobs begin in the order of the calls.
   * @param job whose bytes must be alone in their buffer, which moves to the thread
   * @throws UNAVAILABLE if the thread was lost
   */
  async run(job: BlockJob): Promise<Result> {
    if (this.#isBroken || job.bytes.length <= smallBytes) return runBlockJob(job)
    const settle = Promise.withResolvers<Result>()
    this.#waiting.push({ job, settle })
    if (this.#idle.length === 0 && this.#count < maxThreads) this.#start()
    this.#dispatch()
    return await settle.promise
  }

  #dispatch(): void {
    for (;;) {
      const [task, thread] = [this.#waiting[0], this.#idle.at(-1)]
      if (!task || !thread) return
      this.#waiting.shift()
      this.#idle.pop()
      thread.run(task)
    }
  }

  #start(): void {
    this.#count += 1
    const thread = new BlockThread(this.#file, {
      onIdle: () => {
        this.#idle.push(thread)
        this.#dispatch()
      },
      onEnd: (error, wasReady) => {
        this.#count -= 1
        const index = this.#idle.indexOf(thread)
        if (index >= 0) this.#idle.splice(index, 1)
        if (wasReady) return this.#replace()
        this.#isBroken = true
        process.emitWarning(`The threads for encryption do not start, so large files are slower: ${error}`)
        for (const { job, settle } of this.#waiting.splice(0)) settle.resolve(runBlockJob(job))
      },
    })
  }

  #replace(): void {
    if (this.#waiting.length > 0) this.#start()
  }
}

class BlockThread {
  readonly #worker: Worker
  #task: Task | null = null
  #isReady = false

  constructor(file: URL, events: { onIdle(): void; onEnd(error: unknown, wasReady: boolean): void }) {
    this.#worker = new Worker(file, { name: 'encryption', resourceLimits: heap })
    let failure: unknown
    this.#worker.on('message', (result: Result | 'ready') => {
      this.#isReady = true
      const task = this.#release()
      if (result !== 'ready') task?.settle.resolve(result)
      events.onIdle()
    })
    this.#worker.on('error', error => {
      failure = error
    })
    this.#worker.once('exit', () => {
      const lost = new AppError('UNAVAILABLE', 'The server lost a thread: try again.', { cause: failure })
      this.#release()?.settle.reject(lost)
      events.onEnd(failure, this.#isReady)
    })
  }

  run(task: Task): void {
    this.#task = task
    this.#worker.ref()
    this.#worker.postMessage(task.job, [task.job.bytes.buffer as ArrayBuffer])
  }

  #release(): Task | null {
    const task = this.#task
    this.#task = null
    this.#worker.unref()
    return task
  }
}
