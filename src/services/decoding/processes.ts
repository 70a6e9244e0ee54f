/**
 * The decoding of files in processes apart from the server. Stored files enter, and the results of decoders leave, such as
 * thumbnails and texts. `cache.ts` keeps thumbnails and renditions.
 *
 * This file has the decoder processes, which work on files that anybody may have made. They start when the first file needs one,
 * work on one file each, and end when nothing was asked for some time. A process that takes too long or too much memory is
 * killed, with everything that it started.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { bytesPipe, type FromDecoder, type ReadRequest, type ToDecoder } from './protocol.ts'

export interface DecoderBounds {
  /** Milliseconds in which a process works without asking for bytes. */
  workTime: number
  /** Bytes of resident memory of a process. */
  memory: number
  /** Bytes of the original for one task. */
  read: number
  /** Milliseconds until an idle process ends. */
  idle: number
  /** Whether a task ends with its signal, and its process too. Worth it where a task takes longer than the start of a process. */
  endsWithSignal?: boolean
}

/** Milliseconds between two looks at the memory of a process. */
const memoryInterval = 100
/** A decoder reads a few parts of a file. */
const maxReads = 16

/** The file cannot be decoded: its content is damaged, too large, or none that the decoder knows. */
export class Undecodable extends Error {
  override name = 'Undecodable'
}

/** Returns a part of the original as it arrives. */
export type ReadOriginal = (range: ReadRequest) => AsyncIterable<Uint8Array>

export class DecoderProcesses<Task, Result> {
  readonly #file: string
  readonly #bounds: DecoderBounds
  readonly #idle: DecoderProcess<Task, Result>[] = []
  readonly #all = new Set<DecoderProcess<Task, Result>>()

  /** @param file the main module of the processes, which calls `serveTasks` */
  constructor(file: string, bounds: DecoderBounds) {
    this.#file = file
    this.#bounds = bounds
  }

  /**
   * Works on a file. The caller bounds how many run at once.
   * @throws Undecodable; what `read` throws; the reason of the signal
   */
  async run(task: Task, read: ReadOriginal, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    const decoder = this.#takeIdle() ?? this.#start()
    try {
      return await decoder.run(task, read, signal)
    } finally {
      if (decoder.isReady) this.#keep(decoder)
    }
  }

  close(): void {
    for (const decoder of this.#all) decoder.kill()
  }

  /** One that was just killed stays in the list until the system reports its end. */
  #takeIdle(): DecoderProcess<Task, Result> | undefined {
    let decoder = this.#idle.pop()
    while (decoder && !decoder.isReady) decoder = this.#idle.pop()
    return decoder
  }

  #start(): DecoderProcess<Task, Result> {
    const decoder = new DecoderProcess<Task, Result>(this.#file, this.#bounds, () => {
      this.#all.delete(decoder)
      const index = this.#idle.indexOf(decoder)
      if (index >= 0) this.#idle.splice(index, 1)
    })
    this.#all.add(decoder)
    return decoder
  }

  #keep(decoder: DecoderProcess<Task, Result>): void {
    this.#idle.push(decoder)
    decoder.endWhenIdle(this.#bounds.idle)
  }
}

/** One process. The events of the child settle the promise of the current task. */
class DecoderProcess<Task, Result> {
  readonly #bounds: DecoderBounds
  readonly #child: ChildProcess
  /** The pipe for the bytes of originals. */
  readonly #pipe: Socket
  #sentBytes = 0
  #onMessage: ((message: FromDecoder<Result>) => void) | null = null
  #onEnd: ((error: Error) => void) | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #hasEnded = false
  #isKilled = false

  constructor(file: string, bounds: DecoderBounds, onEnd: () => void) {
    this.#bounds = bounds
    // With a group of its own, `kill` reaches the programs that the process starts.
    this.#child = fork(file, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ipc'],
      env: {},
      detached: true,
      execArgv: ['--max-old-space-size=256'],
    })
    const ended = (error: Error) => {
      if (this.#hasEnded) return
      this.#hasEnded = true
      clearTimeout(this.#idleTimer)
      onEnd()
      this.#onEnd?.(error)
    }
    this.#child.on('exit', () => ended(new Undecodable('The decoder ended.')))
    // A process that does not start says nothing about the file.
    this.#child.on('error', ended)
    this.#child.on('message', (message: FromDecoder<Result>) => this.#onMessage?.(message))
    const pipe = this.#child.stdio[bytesPipe] as Socket
    // The exit of the process reports that it no longer reads.
    pipe.on('error', () => {})
    this.#pipe = pipe
    // Neither the process nor its channels keep the server from ending.
    this.#child.unref()
    this.#child.channel?.unref()
    pipe.unref()
  }

  /** Whether it can take another task. */
  get isReady(): boolean {
    return !this.#hasEnded && !this.#isKilled && this.#child.connected && this.#onMessage === null
  }

  kill(): void {
    this.#isKilled = true
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

  async run(task: Task, read: ReadOriginal, signal: AbortSignal): Promise<Result> {
    clearTimeout(this.#idleTimer)
    const { workTime, memory, endsWithSignal = false } = this.#bounds
    const result = Promise.withResolvers<Result>()
    // It can fail before the task is sent and the result awaited.
    result.promise.catch(() => {})
    const fail = (error: unknown) => {
      result.reject(error)
      this.kill()
    }
    const onAbort = () => fail(signal.reason)
    if (endsWithSignal) signal.addEventListener('abort', onAbort)
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const allowWork = () => {
      clearTimeout(timer)
      if (isOver) return
      timer = setTimeout(() => fail(new Undecodable('The decoder took too long.')), workTime)
    }
    const memoryTimer = setInterval(async () => {
      if ((await residentBytes(this.#child.pid)) > memory) fail(new Undecodable('The decoder took too much memory.'))
    }, memoryInterval)
    const sendBytes = async (bytes: Uint8Array) => {
      allowWork()
      await this.#sendBytes(bytes)
      clearTimeout(timer)
    }
    const reader = new Reader(read, this.#bounds.read, sendBytes)
    let readError: unknown
    this.#onEnd = error => result.reject(error)
    this.#onMessage = message => {
      if ('result' in message) result.resolve(message.result)
      else if ('failure' in message) result.reject(new Undecodable(message.failure))
      else if ('canceled' in message) result.reject(readError)
      else {
        clearTimeout(timer)
        reader.answer(message.read, signal).then(
          async () => {
            allowWork()
            await this.#send({ end: true, sent: this.#sentBytes })
          },
          async error => {
            readError = error
            // A decoder that does not confirm in time is killed.
            allowWork()
            await this.#send({ cancel: true, sent: this.#sentBytes })
          },
        )
      }
    }
    try {
      allowWork()
      await this.#send({ task })
      return await result.promise
    } finally {
      isOver = true
      clearTimeout(timer)
      clearInterval(memoryTimer)
      signal.removeEventListener('abort', onAbort)
      this.#onMessage = null
      this.#onEnd = null
    }
  }

  /** Waits until the pipe has taken the bytes, so that a slow process holds the reading back. */
  #sendBytes(bytes: Uint8Array): Promise<void> {
    this.#sentBytes += bytes.length
    // After an error, the process is about to end.
    return new Promise(resolve => this.#pipe.write(bytes, () => resolve()))
  }

  #send(message: ToDecoder<Task>): Promise<void> {
    return new Promise(resolve => {
      if (this.#hasEnded || !this.#child.connected) resolve()
      else this.#child.send(message, () => resolve())
    })
  }
}

/** Answers the requests of one task for parts of the original. */
class Reader {
  readonly #read: ReadOriginal
  readonly #send: (bytes: Uint8Array) => Promise<void>
  #bytesLeft: number
  #readsLeft = maxReads

  constructor(read: ReadOriginal, maxBytes: number, send: (bytes: Uint8Array) => Promise<void>) {
    this.#read = read
    this.#bytesLeft = maxBytes
    this.#send = send
  }

  /** @throws Undecodable if the decoder asks for too much; what the reading throws */
  async answer(range: ReadRequest, signal: AbortSignal): Promise<void> {
    this.#readsLeft -= 1
    this.#bytesLeft -= range.length
    if (this.#readsLeft < 0 || this.#bytesLeft < 0) throw new Undecodable('The decoder reads too much of the file.')
    let left = range.length
    if (left === 0) return
    for await (const chunk of this.#read(range)) {
      signal.throwIfAborted()
      const bytes = chunk.subarray(0, left)
      left -= bytes.length
      await this.#send(bytes)
      if (left === 0) return
    }
  }
}

/** Returns the resident memory of a process, where the system reports it (proc_pid_statm(5)); else 0. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '')
  return Number(text.split(' ')[1] ?? 0) * pageBytes
}

/** Bytes. Linux uses pages of this size on x86-64, and on most machines with ARM. */
const pageBytes = 4096
