/**
 * The decoder processes. They start when the first thumbnail needs one, work on one file each, and end when nothing was asked for some time.
 * A process that takes too long or too much memory is killed, with everything that it started.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FromDecoder, ReadRequest, Task, ToDecoder } from './decoder/protocol.ts'

const decoderFile = fileURLToPath(new URL(`./decoder/process${extname(import.meta.url)}`, import.meta.url))

export interface DecoderBounds {
  /** Milliseconds in which a process works without asking for bytes. */
  workTime: number
  /** Bytes of resident memory of a process. */
  memory: number
  /** Bytes of the original for one thumbnail. */
  read: number
  /** Milliseconds until an idle process ends. */
  idle: number
}

const defaultBounds: DecoderBounds = {
  workTime: 15_000,
  memory: 1024 * 1024 * 1024,
  read: 160 * 1024 * 1024,
  idle: 30_000,
}

/** Milliseconds between two looks at the memory of a process. */
const memoryInterval = 100
/** A decoder reads a few parts of a file. */
const maxReads = 16

/** The file has no thumbnail: its content is damaged, too large, or none that the decoder knows. */
export class NoThumbnail extends Error {
  override name = 'NoThumbnail'
}

/** Returns a part of the original as it arrives. */
export type ReadOriginal = (range: ReadRequest) => AsyncIterable<Uint8Array>

export class Decoders {
  readonly #bounds: DecoderBounds
  readonly #idle: DecoderProcess[] = []
  readonly #all = new Set<DecoderProcess>()

  constructor(bounds: DecoderBounds = defaultBounds) {
    this.#bounds = bounds
  }

  /**
   * Makes a thumbnail. The caller bounds how many run at once.
   * @throws NoThumbnail; what `read` throws; the reason of the signal
   */
  async run(task: Task, read: ReadOriginal, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted()
    const decoder = this.#idle.pop() ?? this.#start()
    try {
      return await decoder.run(task, read, signal)
    } finally {
      if (decoder.isReady) this.#keep(decoder)
    }
  }

  close(): void {
    for (const decoder of this.#all) decoder.kill()
  }

  #start(): DecoderProcess {
    const decoder = new DecoderProcess(this.#bounds, () => {
      this.#all.delete(decoder)
      const index = this.#idle.indexOf(decoder)
      if (index >= 0) this.#idle.splice(index, 1)
    })
    this.#all.add(decoder)
    return decoder
  }

  #keep(decoder: DecoderProcess): void {
    this.#idle.push(decoder)
    decoder.endWhenIdle(this.#bounds.idle)
  }
}

/** One process. The events of the child settle the promise of the current task. */
class DecoderProcess {
  readonly #bounds: DecoderBounds
  readonly #child: ChildProcess
  #onMessage: ((message: FromDecoder) => void) | null = null
  #onEnd: ((error: Error) => void) | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #hasEnded = false

  constructor(bounds: DecoderBounds, onEnd: () => void) {
    this.#bounds = bounds
    // With a group of its own, `kill` reaches the programs that the process starts.
    this.#child = fork(decoderFile, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {},
      detached: true,
      execArgv: ['--max-old-space-size=256'],
    })
    const ended = () => {
      if (this.#hasEnded) return
      this.#hasEnded = true
      clearTimeout(this.#idleTimer)
      onEnd()
      this.#onEnd?.(new NoThumbnail('The decoder ended.'))
    }
    this.#child.on('exit', ended)
    this.#child.on('error', ended)
    this.#child.on('message', (message: FromDecoder) => this.#onMessage?.(message))
    // Neither the process nor its channel keeps the server from ending.
    this.#child.unref()
    this.#child.channel?.unref()
  }

  /** Whether it can take another task. */
  get isReady(): boolean {
    return !this.#hasEnded && this.#child.connected && this.#onMessage === null
  }

  kill(): void {
    if (this.#hasEnded || this.#child.pid === undefined) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }

  endWhenIdle(milliseconds: number): void {
    this.#idleTimer = setTimeout(() => this.kill(), milliseconds).unref()
  }

  async run(task: Task, read: ReadOriginal, signal: AbortSignal): Promise<Uint8Array> {
    clearTimeout(this.#idleTimer)
    const { workTime, memory } = this.#bounds
    const result = Promise.withResolvers<Uint8Array>()
    const fail = (error: unknown) => {
      result.reject(error)
      this.kill()
    }
    let timer: NodeJS.Timeout | undefined
    const allowWork = () => {
      clearTimeout(timer)
      timer = setTimeout(() => fail(new NoThumbnail('The decoder took too long.')), workTime)
    }
    const memoryTimer = setInterval(async () => {
      if ((await residentBytes(this.#child.pid)) > memory) fail(new NoThumbnail('The decoder took too much memory.'))
    }, memoryInterval)
    const reader = new Reader(read, this.#bounds.read, message => this.#send(message))
    let readError: unknown
    this.#onEnd = error => result.reject(error)
    this.#onMessage = message => {
      if ('image' in message) result.resolve(message.image)
      else if ('failure' in message) result.reject(new NoThumbnail(message.failure))
      else if ('canceled' in message) result.reject(readError)
      else {
        clearTimeout(timer)
        reader.answer(message.read, signal).then(allowWork, async error => {
          readError = error
          // A decoder that does not confirm in time is killed.
          allowWork()
          await this.#send({ cancel: true })
        })
      }
    }
    try {
      allowWork()
      await this.#send({ task })
      return await result.promise
    } finally {
      clearTimeout(timer)
      clearInterval(memoryTimer)
      this.#onMessage = null
      this.#onEnd = null
    }
  }

  /** Waits until the channel has taken the message, so that a slow process holds the reading back. */
  #send(message: ToDecoder): Promise<void> {
    return new Promise(resolve => {
      if (this.#hasEnded || !this.#child.connected) resolve()
      else this.#child.send(message, () => resolve())
    })
  }
}

/** Answers the requests of one task for parts of the original. */
class Reader {
  readonly #read: ReadOriginal
  readonly #send: (message: ToDecoder) => Promise<void>
  #bytesLeft: number
  #readsLeft = maxReads

  constructor(read: ReadOriginal, maxBytes: number, send: (message: ToDecoder) => Promise<void>) {
    this.#read = read
    this.#bytesLeft = maxBytes
    this.#send = send
  }

  /** @throws NoThumbnail if the decoder asks for too much; what the reading throws */
  async answer(range: ReadRequest, signal: AbortSignal): Promise<void> {
    this.#readsLeft -= 1
    this.#bytesLeft -= range.length
    if (this.#readsLeft < 0 || this.#bytesLeft < 0) throw new NoThumbnail('The decoder reads too much of the file.')
    let left = range.length
    if (left > 0) {
      for await (const chunk of this.#read(range)) {
        signal.throwIfAborted()
        const bytes = chunk.subarray(0, left)
        left -= bytes.length
        await this.#send({ bytes })
        if (left === 0) break
      }
    }
    await this.#send({ end: true })
  }
}

/** Returns the resident memory of a process, where the system reports it (proc_pid_statm(5)); else 0. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '')
  return Number(text.split(' ')[1] ?? 0) * pageBytes
}

/** Bytes. Linux uses pages of this size on x86-64, and on most machines with ARM. */
const pageBytes = 4096
