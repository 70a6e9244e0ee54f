/** Lists ZIP archives. Ranges of the file are read, so its size has to be known. */
import { Reader, ZipReader } from '@zip.js/zip.js/index-native.js'
import type { ViewedFile } from '../../viewer.ts'
import { readBytes, TooLarge } from '../bytes.ts'
import { type ArchivedEntry, pathOf } from './entry.ts'

/** Bytes of the directory. */
const maxRead = 16 * 1024 * 1024

/** @throws TooLarge; StowageError; Error if the file is no ZIP archive */
export async function* entriesOf(file: ViewedFile, signal: AbortSignal): AsyncGenerator<ArchivedEntry | 'cut'> {
  const archive = new ZipReader(new RangeReader(file, signal, maxRead), { useWebWorkers: false })
  for await (const { filename, directory, uncompressedSize, lastModDate, encrypted } of archive.getEntriesGenerator()) {
    yield {
      path: pathOf(filename),
      isFolder: directory,
      size: uncompressedSize,
      // Programs that know no time write the first one that the format has.
      modifiedAt: lastModDate.getFullYear() > 1980 ? lastModDate : null,
      isEncrypted: encrypted,
    }
  }
}

/** Reads a file by range, up to a number of bytes. */
export class RangeReader extends Reader<void> {
  readonly #file: ViewedFile
  readonly #signal: AbortSignal
  #left: number

  constructor(file: ViewedFile, signal: AbortSignal, limit: number) {
    super()
    if (file.size === null) throw new TooLarge()
    this.size = file.size
    this.#file = file
    this.#signal = signal
    this.#left = limit
  }

  override async readUint8Array(start: number, length: number): Promise<Uint8Array> {
    this.#left -= length
    if (this.#left < 0) throw new TooLarge()
    if (length === 0) return new Uint8Array()
    return readBytes(await this.#file.read({ start, end: start + length - 1 }, this.#signal), length)
  }
}
