/**
 * A thread that works on small files. A file takes one message instead of about ten calls that each pass through the thread
 * pool of libuv, and jobs that arrive together share a message.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StorageError } from '../../../contract.ts'
import { isChange, type SmallJob, type SmallResult } from './jobs.ts'

/** The number of threads. One does more small files than the main thread can send, and each takes about 10 MB. */
const maxThreads = 1
/** The number of jobs in a message. Fewer jobs give each result sooner; more jobs cost less. */
const maxJobs = 8
/** The number of jobs that wait, which bounds the memory of their bytes. */
const maxWaiting = 256
/** Milliseconds after which a thread counts as stuck: its disk may hang. */
const defaultStuckAfter = 250
/** MiB of V8's heap in a thread. The bytes of files are outside of it. */
const heap = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

interface Task {
  job: SmallJob
  /** The device. */
  disk: bigint
  signal: AbortSignal
  settle(result: SmallResult | Promise<never>): void
}

// Node strips types from the sources; a build has JavaScript.
const threadFile = new URL(`./thread${extname(import.meta.url)}`, import.meta.url)

interface ThreadOptions {
  /** The module that the threads run. */
  file: URL
  /** Milliseconds. */
  stuckAfter: number
}

export class SmallFileThreads {
  readonly #options: ThreadOptions
  readonly #threads = new Set<Thread>()
  readonly #waiting: Task[] = []
  #willDispatch = false
  #isBroken = false

  /** Tests set options. */
  constructor({ file = threadFile, stuckAfter = defaultStuckAfter }: Partial<ThreadOptions> = {}) {
    this.#options = { file, stuckAfter }
  }

  /**
   * Resolves with null where no thread can do the job soon: the first one is starting, or all are stuck.
   * @param signal ends the wait for a thread, but not the job
   * @throws the signal's reason; UNAVAILABLE where the job may or may not be done
   */
  async run(job: SmallJob, signal: AbortSignal): Promise<SmallResult> {
    const disk = job.root.dev
    if (this.#waiting.length >= maxWaiting || !this.#canRun(disk)) return null
    return await new Promise(settle => {
      this.#waiting.push({ job, disk, signal, settle })
      if (!this.#willDispatch) setImmediate(() => this.#dispatch())
      this.#willDispatch = true
    })
  }

  #canRun(disk: bigint): boolean {
    const ready = [...this.#threads].filter(thread => thread.isReady)
    if (ready.length === 0) this.#start()
    return ready.some(({ stuckOn }) => stuckOn === null) && !ready.some(({ stuckOn }) => stuckOn === disk)
  }

  #dispatch(): void {
    this.#willDispatch = false
    const idle = [...this.#threads].filter(thread => thread.isIdle)
    idle.forEach((thread, index) => {
      const count = Math.min(maxJobs, Math.ceil(this.#waiting.length / (idle.length - index)))
      const tasks = this.#take(count)
      if (tasks.length > 0) thread.run(tasks)
    })
    if (this.#waiting.length > 0) this.#start()
  }

  /** Takes tasks of one disk, so that a disk that hangs delays no other. */
  #take(count: number): Task[] {
    const tasks: Task[] = []
    const [first] = this.#waiting
    for (let index = 0; index < this.#waiting.length && tasks.length < count; ) {
      const task = this.#waiting[index]
      if (!task || task.disk !== first?.disk) {
        index += 1
        continue
      }
      this.#waiting.splice(index, 1)
      if (task.signal.aborted) task.settle(Promise.reject(task.signal.reason))
      else tasks.push(task)
    }
    return tasks
  }

  /** Returns the waiting tasks that would have to wait for a stuck thread. */
  #giveUp(): void {
    for (const task of this.#waiting.splice(0)) {
      if (this.#canRun(task.disk)) this.#waiting.push(task)
      else task.settle(null)
    }
    this.#dispatch()
  }

  #start(): void {
    const isStarting = [...this.#threads].some(thread => !thread.isReady)
    if (this.#isBroken || isStarting || this.#threads.size >= maxThreads) return
    const thread = new Thread(this.#options, {
      onIdle: () => this.#dispatch(),
      onStuck: () => this.#giveUp(),
      onEnd: (error, wasReady) => {
        this.#threads.delete(thread)
        this.#isBroken ||= !wasReady
        this.#giveUp()
        if (wasReady) return
        process.emitWarning(`The threads for small files do not start, so those files are slower: ${error}`)
      },
    })
    this.#threads.add(thread)
  }
}

interface ThreadEvents {
  onIdle(): void
  onStuck(): void
  onEnd(error: unknown, wasReady: boolean): void
}

class Thread {
  /** The disk that the thread has waited for too long, if any. */
  stuckOn: bigint | null = null
  isReady = false
  readonly #worker: Worker
  readonly #events: ThreadEvents
  readonly #stuckAfter: number
  #tasks: readonly Task[] = []
  #timer: NodeJS.Timeout | undefined

  constructor({ file, stuckAfter }: ThreadOptions, events: ThreadEvents) {
    this.#stuckAfter = stuckAfter
    this.#events = events
    this.#worker = new Worker(file, { name: 'small files', resourceLimits: heap })
    this.#worker.unref()
    let failure: unknown
    this.#worker.on('message', (results: SmallResult[] | null) => this.#finish(results))
    this.#worker.on('error', error => {
      failure = error
    })
    this.#worker.once('exit', () => this.#end(failure))
  }

  get isIdle(): boolean {
    return this.isReady && this.#tasks.length === 0
  }

  run(tasks: readonly Task[]): void {
    this.#tasks = tasks
    this.#timer = setTimeout(() => {
      this.stuckOn = tasks[0]?.disk ?? null
      this.#events.onStuck()
    }, this.#stuckAfter)
    this.#worker.ref()
    this.#worker.postMessage(tasks.map(({ job }) => job))
  }

  #finish(results: readonly SmallResult[] | null): void {
    this.isReady = true
    const tasks = this.#release()
    for (const [index, { settle }] of tasks.entries()) settle(results?.[index] ?? null)
    this.#events.onIdle()
  }

  #end(error: unknown): void {
    const wasReady = this.isReady
    this.isReady = false
    const lost = new StorageError('UNAVAILABLE', 'The server lost a thread: try again.', { cause: error })
    for (const { job, settle } of this.#release()) settle(isChange(job) ? Promise.reject(lost) : null)
    this.#events.onEnd(error, wasReady)
  }

  #release(): readonly Task[] {
    const tasks = this.#tasks
    this.#tasks = []
    this.stuckOn = null
    clearTimeout(this.#timer)
    this.#worker.unref()
    return tasks
  }
}
