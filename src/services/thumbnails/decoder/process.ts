/**
 * The main module of a decoder process. It turns files that anybody may have made into small images, so it runs apart from the
 * server, which bounds its time and memory and ends it if it exceeds them. It opens no network connection and knows no secret.
 * It asks the server for the bytes of the original that it needs.
 */
import { decode } from './decode.ts'
import { type Original, ReadCanceled } from './original.ts'
import type { FromDecoder, Task, ToDecoder } from './protocol.ts'

interface Reading {
  chunks: Uint8Array[]
  settle: PromiseWithResolvers<Uint8Array>
}

let reading: Reading | null = null

process.on('message', (message: ToDecoder) => {
  if ('task' in message) void run(message.task)
  else if ('bytes' in message) reading?.chunks.push(message.bytes)
  else if ('end' in message) reading?.settle.resolve(Buffer.concat(reading.chunks))
  else reading?.settle.reject(new ReadCanceled())
})
// Without the server, nobody needs the image.
process.on('disconnect', () => process.exit())

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
    send({ image: await decode(original, task) })
  } catch (error) {
    send(error instanceof ReadCanceled ? { canceled: true } : { failure: String(error) })
  }
}

function send(message: FromDecoder): void {
  if (process.connected) process.send?.(message)
}
