/**
 * What a decoder process runs. It works on files that anybody may have made, so it runs apart from the server, which bounds its time
 * and memory and ends it if it exceeds them. It opens no network connection and knows no secret. It asks the server for the bytes of
 * the original that it needs.
 */
import { type Original, ReadCanceled } from './original.ts'
import type { FromDecoder, ToDecoder } from './protocol.ts'

/** Works on the tasks that the server sends, one at a time. @param decode throws if the file cannot be decoded */
export function serveTasks<Task extends { size: number | null }, Result>(
  decode: (original: Original, task: Task) => Promise<Result>,
): void {
  let reading: { chunks: Uint8Array[]; settle: PromiseWithResolvers<Uint8Array> } | null = null

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

  process.on('message', (message: ToDecoder<Task>) => {
    if ('task' in message) void run(message.task)
    else if ('bytes' in message) reading?.chunks.push(message.bytes)
    else if ('end' in message) reading?.settle.resolve(Buffer.concat(reading.chunks))
    else reading?.settle.reject(new ReadCanceled())
  })
  // Without the server, nobody needs the result.
  process.on('disconnect', () => process.exit())
}
