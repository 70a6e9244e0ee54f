import { useSyncExternalStore } from 'react'
import { stowage } from '../../api/client.ts'
import { save } from './save.ts'

/** Bytes. Collected parts of this size become blobs, which browsers can move from memory to the disk. */
const partSize = 8 * 1024 * 1024
/** Milliseconds between two updates of the page. */
const updateInterval = 200
/** Milliseconds after which the browser has surely begun to save a file. */
const saveTime = 60_000

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
      const url = URL.createObjectURL(await this.#collect(body, onProgress))
      save(url, this.name)
      setTimeout(() => URL.revokeObjectURL(url), saveTime)
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
let version = 0
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function update(): void {
  clearTimeout(timer)
  timer = undefined
  version += 1
  for (const listener of listeners) listener()
}

/** Starts a download and shows it in the dock. */
export function addDownload(download: ArchiveDownload): void {
  downloads = [...downloads, download]
  update()
  const onProgress = () => {
    timer ??= setTimeout(update, updateInterval)
  }
  void download.run(onProgress).then(() => (download.isCanceled ? removeDownload(download) : update()))
}

export function removeDownload(...removed: readonly ArchiveDownload[]): void {
  downloads = downloads.filter(download => !removed.includes(download))
  update()
}

export function cancelDownloads(): void {
  for (const download of downloads) download.cancel()
  removeDownload(...downloads)
}

/** Returns the downloads since the page was loaded, without those that were closed. */
export function useDownloads(): readonly ArchiveDownload[] {
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => version,
  )
  return downloads
}
