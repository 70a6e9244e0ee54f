/**
 * Changes that others make. Pages say which folder they show, and the changes of that folder leave to them.
 *
 * This file has one subscription to the folders of all pages of this browser, because HTTP/1.1 has six connections to a server.
 */
import type { StorageLocation } from '../../api/locations.ts'
import { StowageError, sessionClient } from '../../api/server.ts'
import { type Follow, followInterval, type Notice } from './messages.ts'

/** The end of a page at a channel. */
export interface Port {
  postMessage(notice: Notice): void
  onmessage: ((event: MessageEvent<Follow>) => void) | null
}

const document = `subscription FolderChanges($providerId: ID!, $path: String!, $others: [LocationInput!]) {
  entryChanged(providerId: $providerId, path: $path, others: $others) { kind providerId path }
}`
type Change = NonNullable<Notice['change']>

/** The maximum number of locations of one subscription. */
const maxFolders = 50
/** Milliseconds of silence after which a page counts as closed. */
const closedAfter = 4 * followInterval
/** Milliseconds in which several pages change their folders together. */
const settleTime = 100
/** Milliseconds until a subscription that ended begins again, unless a page changes its folder before. */
const retryTime = 30_000
/** Milliseconds for which the previous subscription continues, because its last changes may still arrive. */
const overlapTime = 1000

const keyOf = ({ providerId, path }: StorageLocation) => `${providerId} ${path}`

interface Stream {
  folders: ReadonlyMap<string, StorageLocation>
  /** False also while the client connects again. */
  isConnected: boolean
  end: AbortController
}

export class Hub {
  readonly #pages = new Map<Port, { folder: StorageLocation | null; seenAt: number }>()
  #url = ''
  /** The stream that sends changes. */
  #current: Stream | null = null
  /** The stream that replaces it as soon as it sends changes. A refused one leaves the current one as it is. */
  #next: Stream | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #updateAt = Number.POSITIVE_INFINITY

  add(port: Port): void {
    port.onmessage = ({ data: { url, folder } }) => {
      this.#url = url
      const previous = this.#pages.get(port)?.folder
      this.#pages.set(port, { folder, seenAt: Date.now() })
      const isSame = previous && folder && keyOf(previous) === keyOf(folder)
      this.#updateWithin(isSame ? retryTime : settleTime)
    }
  }

  #updateWithin(delay: number): void {
    const at = Date.now() + delay
    if (at >= this.#updateAt) return
    clearTimeout(this.#timer)
    this.#updateAt = at
    this.#timer = setTimeout(() => {
      this.#updateAt = Number.POSITIVE_INFINITY
      this.#update()
    }, delay)
  }

  #update(): void {
    for (const [port, { seenAt }] of this.#pages) if (Date.now() - seenAt > closedAfter) this.#pages.delete(port)
    const folders = new Map<string, StorageLocation>()
    for (const { folder } of this.#pages.values()) {
      if (folder && folders.size < maxFolders) folders.set(keyOf(folder), folder)
    }
    const followed = (this.#next ?? this.#current)?.folders
    if (followed && [...folders.keys()].every(key => followed.has(key)) && folders.size > 0) return
    this.#next?.end.abort()
    this.#next = null
    if (folders.size > 0) void this.#follow(folders)
    else this.#current?.end.abort()
  }

  async #follow(folders: ReadonlyMap<string, StorageLocation>): Promise<void> {
    const stream: Stream = { folders, isConnected: false, end: new AbortController() }
    this.#next = stream
    try {
      await this.#read(stream)
    } catch (error) {
      if (!stream.end.signal.aborted && error instanceof StowageError) this.#tell({ isRefused: true })
    } finally {
      if (this.#current === stream) this.#current = null
      if (this.#next === stream) this.#next = null
      this.#updateWithin(retryTime)
    }
  }

  async #read(stream: Stream): Promise<void> {
    const { folders, end } = stream
    const [first, ...others] = folders.values()
    if (!first) return
    const server = sessionClient({ url: this.#url })
    const changes = server.subscribe<{ entryChanged: Change }, object>(
      document,
      { ...first, others },
      {
        signal: end.signal,
        shouldRetry: ({ retryable }) => {
          stream.isConnected = false
          return retryable
        },
        onOpen: () => {
          stream.isConnected = true
        },
      },
    )
    // A stream begins with a change of each folder. Those of the previous one are up to date.
    let known = new Set<string>()
    for await (const { entryChanged: change } of changes) {
      if (this.#next === stream) known = this.#replaceCurrent(stream)
      const isKnown = change.kind === 'TREE_CHANGED' && known.delete(keyOf(change))
      if (!isKnown) this.#tell({ change })
    }
  }

  /** Returns the keys of the folders of which no change was missed. */
  #replaceCurrent(stream: Stream): Set<string> {
    const previous = this.#current
    this.#current = stream
    this.#next = null
    if (!previous) return new Set()
    setTimeout(() => previous.end.abort(), overlapTime)
    return new Set(previous.isConnected ? previous.folders.keys() : [])
  }

  #tell(notice: Notice): void {
    for (const port of this.#pages.keys()) port.postMessage(notice)
  }
}
