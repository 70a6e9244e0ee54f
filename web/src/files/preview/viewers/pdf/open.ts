/** Opens a PDF document in a worker. A large one is read by range, as far as its pages are shown. */
import {
  GlobalWorkerOptions,
  getDocument,
  PDFDataRangeTransport,
  type PDFDocumentLoadingTask,
  VerbosityLevel,
} from 'pdfjs-dist/legacy/build/pdf.mjs'
// oxlint-disable-next-line import/default -- the build makes the address
import workerUrl from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url'
import type { ViewedFile } from '../../viewer.ts'
import { readBytes } from '../bytes.ts'

/** Phones are often old, so this is the build for old browsers. */
GlobalWorkerOptions.workerSrc = workerUrl

/** Bytes. A document of this size is read at once. */
const maxAtOnce = 2 * 1024 * 1024
/** Bytes. The worker has room for the whole file. */
export const maxPdf = 512 * 1024 * 1024
/** Bytes of a document whose size the back end does not report. */
export const maxUnknown = 100 * 1024 * 1024
/** Bytes of one request. */
const rangeSize = 512 * 1024

const options = { enableXfa: false, useWasm: false, verbosity: VerbosityLevel.ERRORS } as const

type ReadablePdf = Pick<ViewedFile, 'size' | 'read'>

/** @param onFailed called when a part of the file cannot be read later @throws StowageError; TooLarge */
export async function openPdf(
  { size, read }: ReadablePdf,
  signal: AbortSignal,
  onFailed: (error: unknown) => void,
): Promise<PDFDocumentLoadingTask> {
  if (size !== null && size > maxAtOnce) {
    const range = new PdfRanges(size, read, signal, onFailed)
    return getDocument({ ...options, range, rangeChunkSize: rangeSize, disableAutoFetch: true, disableStream: true })
  }
  const data = await readBytes(await read(null, signal), maxUnknown)
  return getDocument({ ...options, data })
}

class PdfRanges extends PDFDataRangeTransport {
  readonly #read: ViewedFile['read']
  readonly #signal: AbortSignal
  readonly #onFailed: (error: unknown) => void

  constructor(size: number, read: ViewedFile['read'], signal: AbortSignal, onFailed: (error: unknown) => void) {
    super(size, null)
    this.#read = read
    this.#signal = signal
    this.#onFailed = onFailed
  }

  override requestDataRange(begin: number, end: number): void {
    this.#load(begin, end).catch(error => {
      if (!this.#signal.aborted) this.#onFailed(error)
    })
  }

  async #load(begin: number, end: number): Promise<void> {
    const content = await this.#read({ start: begin, end: end - 1 }, this.#signal)
    this.onDataRange(begin, await readBytes(content, end - begin))
  }
}
