/**
 * The main loop of a decoder process. It works on files that anybody may have made, so it runs apart from the server, which bounds its time
 * and memory and ends it if it exceeds them. It opens no network connection and knows no secret. It asks the server for the bytes of
 * the original that it needs.
 */
import { Socket } from 'node:net'
import { type Original, ReadCanceled } from './original.ts'
import { bytesPipe, type FromDecoder, type ToDecoder } from './protocol.ts'

/** Works on the tasks that the server sends, one at a time. @param decode throws if the file cannot be decoded */
export function serveTasks<Task extends { size: number | null }, Result>(
  decode: (original: Original, task: Task) => Promise<Result>,
): void {
  let reading: { chunks: Uint8Array[]; settle: PromiseWithResolvers<Uint8Array> } | null = null
  let received = 0
  /** Ends the current reading once all of its bytes are here. */
  let ending: { sent: number; end: () => void } | null = null

  function send(message: FromDecoder<Result>): void {
    if (process.connected) process.send?.(message)
  }

  async function run(task: Task): Promise<void> {
    const original: Original = {
      size: task.size,
      async read(offset, length) {
        reading = { chunks: [], settle: Promise.withResolvers() }
        send({ read: { offset, length } })
        try {
          return await reading.settle.promise
        } finally {
          reading = null
        }
      },
    }
    try {
      send({ result: await decode(original, task) })
    } catch (error) {
      send(error instanceof ReadCanceled ? { canceled: true } : { failure: String(error) })
    }
  }

  function endReading(): void {
    if (!ending || received < ending.sent) return
    const { end } = ending
    ending = null
    end()
  }

  new Socket({ fd: bytesPipe, readable: true, writable: false }).on('data', bytes => {
    received += bytes.length
    reading?.chunks.push(bytes)
    endReading()
  })
  process.on('message', (message: ToDecoder<Task>) => {
    if ('task' in message) {
      void run(message.task)
      return
    }
    const end =
      'end' in message
        ? () => reading?.settle.resolve(Buffer.concat(reading.chunks))
        : () => reading?.settle.reject(new ReadCanceled())
    ending = { sent: message.sent, end }
    endReading()
  })
  // Without the server, nobody needs the result.
  process.on('disconnect', () => process.exit())
}
