import type { Conflict } from '../../../client/src/index.ts'
import type { LocalTree } from '../local/local-tree.ts'
import type { RemoteTree } from '../remote/remote-tree.ts'
import type { Server } from '../remote/server.ts'
import { downloadFile } from './download-file.ts'
import type { Item, Steps, Tree } from './tree.ts'
import { uploadFile } from './upload-file.ts'
import type { UploadRecords } from './upload-records.ts'

export interface CopyFileOptions {
  conflict: Conflict
  signal: AbortSignal
  onBytes: (bytes: number) => void
}

/** The way from one tree to another. */
export interface Route {
  source: Tree
  target: Tree
  /** Whether a copy has the modification time of its source. */
  keepsTimes: boolean
  /** Copies a file and resolves with the path of the copy as a person writes it. */
  copy(steps: Steps, source: Item, options: CopyFileOptions): Promise<string>
}

export function uploadRoute(server: Server, local: LocalTree, remote: RemoteTree, records: UploadRecords): Route {
  return {
    source: local,
    target: remote,
    keepsTimes: false,
    async copy(steps, _source, options) {
      const target = remote.pathOf(steps)
      const path = await uploadFile(server, { local: local.pathOf(steps), target }, { ...options, records })
      return `${target.storage.name}:${path}`
    },
  }
}

/** @param to the steps in the local tree that the downloaded tree, or file, gets */
export function downloadRoute(server: Server, remote: RemoteTree, local: LocalTree, to: Steps): Route {
  const below = (steps: Steps) => [...to, ...steps]
  return {
    source: remote,
    target: {
      accepts: name => local.accepts(name),
      display: steps => local.display(below(steps)),
      list: steps => local.list(below(steps)),
      makeFolder: steps => local.makeFolder(below(steps)),
      remove: steps => local.remove(below(steps)),
    },
    keepsTimes: true,
    async copy(steps, { modifiedAt }, options) {
      const target = below(steps)
      const path = local.pathOf(target)
      await local.requireFolder(target.slice(0, -1))
      return downloadFile(server, { source: remote.pathOf(steps), local: path, listedTime: modifiedAt }, options)
    },
  }
}
