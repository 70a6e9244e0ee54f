/** Lists tape archives (tar, POSIX.1-2017 pax), also compressed ones. Their entries lie between the contents, so a bounded part is read. */
import { createTarDecoder } from 'modern-tar'
import type { ViewedFile } from '../../viewer.ts'
import { type ArchivedEntry, pathOf } from './entry.ts'

/** Bytes of the archive, and of what a compressed one contains. */
const maxRead = 64 * 1024 * 1024
const maxContent = 512 * 1024 * 1024

/** @throws StowageError; Error if the file is no archive */
export async function* entriesOf(file: ViewedFile, signal: AbortSignal): AsyncGenerator<ArchivedEntry | 'cut'> {
  const end = new AbortController()
  const { body } = await file.read(null, AbortSignal.any([signal, end.signal]))
  const isCompressed = /gz$/i.test(file.name)
  const read = new Bound(maxRead)
  const content = new Bound(maxContent)
  const raw = isCompressed ? body.pipeThrough(read.counting()).pipeThrough(new DecompressionStream('gzip')) : body
  const reader = raw
    .pipeThrough(content.counting())
    .pipeThrough(createTarDecoder({ strict: true }))
    .getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const { name, type, size, mtime } = value.header
      yield {
        path: pathOf(name),
        isFolder: type === 'directory',
        size: type === 'file' && size >= 0 ? size : null,
        // A time that no date can have would stop the page.
        modifiedAt: mtime && !Number.isNaN(mtime.getTime()) ? mtime : null,
        isEncrypted: false,
      }
      await value.body.cancel()
    }
  } catch (error) {
    if (!read.isPassed && !content.isPassed) throw error
    yield 'cut'
  } finally {
    end.abort()
    await reader.cancel().catch(() => {})
  }
}

/** Ends a stream with an error after a number of bytes. */
class Bound {
  #left: number

  constructor(bytes: number) {
    this.#left = bytes
  }

  get isPassed(): boolean {
    return this.#left < 0
  }

  counting(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (chunk, controller) => {
        this.#left -= chunk.length
        if (this.#left < 0) controller.error(new Error('The rest of the archive is not read.'))
        else controller.enqueue(chunk)
      },
    })
  }
}
