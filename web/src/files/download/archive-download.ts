import { stowage } from '../../api/client.ts'
import { Notifier, useNotified } from '../../lib/notifier.ts'
import { saveBlob } from '../../lib/save-file.ts'

/** Bytes. Collected parts of this size become blobs, which browsers can move from memory to the disk. */
const partSize = 8 * 1024 * 1024

/** One archive of several entries, which this page downloads and then saves. */
export class ArchiveDownload {
  readonly name: string
  /** The bytes of all files; the archive is a little larger, or smaller if it is compressed. */
  readonly size: number
  received = 0
  state: 'running' | 'done' | 'failed' = 'running'
  error: unknown = null
  readonly #controller = new AbortController()
  readonly #selection: { providerId: string; paths: readonly string[] }

  constructor(options: { providerId: string; paths: readonly string[]; name: string; size: number }) {
    const { providerId, paths, name, size } = options
    this.name = name
    this.size = size
    this.#selection = { providerId, paths }
  }

  get count(): number {
    return this.#selection.paths.length
  }

  get isCanceled(): boolean {
    return this.#controller.signal.aborted
  }

  cancel(): void {
    this.#controller.abort()
  }

  async run(onProgress: () => void): Promise<void> {
    try {
      const body = await stowage.files.archive({ ...this.#selection, signal: this.#controller.signal })
      saveBlob(await this.#collect(body, onProgress), this.name)
      this.state = 'done'
    } catch (error) {
      this.error = error
      this.state = 'failed'
    }
  }

  async #collect(body: ReadableStream<Uint8Array>, onProgress: () => void): Promise<Blob> {
    const parts: Blob[] = []
    let chunks: Uint8Array<ArrayBuffer>[] = []
    let collected = 0
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return new Blob([...parts, ...chunks], { type: 'application/zip' })
      chunks.push(value as Uint8Array<ArrayBuffer>)
      collected += value.length
      this.received += value.length
      onProgress()
      if (collected < partSize) continue
      parts.push(new Blob(chunks))
      chunks = []
      collected = 0
    }
  }
}

let downloads: readonly ArchiveDownload[] = []
const changes = new Notifier()

/** Starts a download and shows it in the dock. */
export function addDownload(download: ArchiveDownload): void {
  downloads = [...downloads, download]
  changes.notify()
  void download
    .run(() => changes.notifySoon())
    .then(() => (download.isCanceled ? removeDownload(download) : changes.notify()))
}

export function removeDownload(...removed: readonly ArchiveDownload[]): void {
  downloads = downloads.filter(download => !removed.includes(download))
  changes.notify()
}

export function cancelDownloads(): void {
  for (const download of downloads) download.cancel()
  removeDownload(...downloads)
}

/** Returns the downloads since the page was loaded, without those that were closed. */
export function useDownloads(): readonly ArchiveDownload[] {
  return useNotified(changes, () => downloads)
}

/** The server limits the number of entries of an archive. */
export const maxSelected = 1000

/** Lets the browser save the response to a form. @param onFailed called if the response is not a download */
export function saveByForm(url: string, fields: Readonly<Record<string, string>>, onFailed: () => void): void {
  const frame = document.createElement('iframe')
  frame.name = `download-${Date.now()}`
  frame.hidden = true
  const form = document.createElement('form')
  Object.assign(form, { method: 'post', action: url, target: frame.name, hidden: true })
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input')
    Object.assign(input, { type: 'hidden', name, value })
    form.append(input)
  }
  document.body.append(frame, form)
  // A download leaves the frame empty, so anything else that it loads is an error.
  frame.addEventListener('load', () => {
    if (frame.contentDocument?.URL === 'about:blank') return
    frame.remove()
    onFailed()
  })
  form.submit()
  form.remove()
}
