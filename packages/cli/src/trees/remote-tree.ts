import { childPath, display, type RemotePath, type Server } from '../server.ts'
import type { Item, Steps, Tree } from './tree.ts'

/** A folder of a storage. */
export class RemoteTree implements Tree {
  readonly #server: Server
  readonly #top: RemotePath
  readonly #signal: AbortSignal

  /** @param top the folder; it can be missing */
  constructor(server: Server, top: RemotePath, signal: AbortSignal) {
    this.#server = server
    this.#top = top
    this.#signal = signal
  }

  /** The server checks new names. */
  accepts(): boolean {
    return true
  }

  display(steps: Steps): string {
    return display(this.pathOf(steps))
  }

  pathOf(steps: Steps): RemotePath {
    return { ...this.#top, path: steps.reduce(childPath, this.#top.path) }
  }

  async list(steps: Steps): Promise<Map<string, Item>> {
    const { providerId, path } = this.pathOf(steps)
    const items = new Map<string, Item>()
    for await (const entry of this.#server.stowage.files.list({ providerId, path, signal: this.#signal })) {
      const { name, kind, size, modifiedAt } = entry
      items.set(name, { name, kind, size, modifiedAt })
    }
    return items
  }

  makeFolder(steps: Steps): Promise<boolean> {
    return this.#server.createFolder(this.pathOf(steps))
  }

  async remove(steps: Steps, { kind }: Item): Promise<void> {
    await this.#server.delete(this.pathOf(steps), { recursive: kind === 'folder' })
  }
}
