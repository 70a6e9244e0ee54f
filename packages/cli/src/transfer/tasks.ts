/** Yields the tasks of `cp`: one for each file of the sources, and for each empty folder. */
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { needsRecursion, notAFile } from '../errors.ts'
import type { LocalOperand } from '../operand.ts'
import { childPath, display, nameOf, parentOf, type RemotePath, type Server } from '../server.ts'
import { itemOf, LocalTree } from '../trees/local-tree.ts'
import { RemoteTree } from '../trees/remote-tree.ts'
import type { ConflictPolicy } from './conflict.ts'
import { type Destination, findLocal, itemOfEntry, makeTop, sourceName } from './destination.ts'
import { downloadRoute, uploadRoute } from './route.ts'
import type { Task, Transfer } from './transfer.ts'
import type { UploadRecords } from './upload-records.ts'

interface Plan<Source, Target> {
  server: Server
  transfer: Transfer
  sources: readonly Source[]
  target: Target
  destination: Destination
  policy: ConflictPolicy
  isRecursive: boolean
}

interface UploadPlan extends Plan<LocalOperand, RemotePath> {
  followsLinks: boolean
  records: UploadRecords
}

type Tasks = AsyncGenerator<Task, void, undefined>

/** Reports a source that cannot be read. */
export async function* downloadTasks(plan: Plan<RemotePath, LocalOperand>): Tasks {
  for (const source of plan.sources) {
    try {
      yield* tasksOfDownload(plan, source)
    } catch (error) {
      plan.transfer.fail(error, display(source))
    }
  }
}

/** Reports a source that cannot be read. */
export async function* uploadTasks(plan: UploadPlan): Tasks {
  for (const source of plan.sources) {
    try {
      yield* tasksOfUpload(plan, source)
    } catch (error) {
      plan.transfer.fail(error, source.path)
    }
  }
}

async function* tasksOfDownload(plan: Plan<RemotePath, LocalOperand>, source: RemotePath): Tasks {
  const { server, transfer, target, destination, policy } = plan
  const item = itemOfEntry(await server.stat(source))
  const remote = new RemoteTree(server, source, transfer.signal)
  if (item.kind === 'folder' && !plan.isRecursive) throw needsRecursion()
  // The content of a storage itself has no name, so it goes directly into the folder.
  const isContent = source.path === '/' && destination.isInto
  const folder = destination.isInto ? target.path : dirname(target.path)
  const name = destination.isInto ? nameOf(source.path) : basename(target.path)
  const local = new LocalTree(folder, { followsLinks: false })
  const existing = destination.isInto && !isContent ? await findLocal(local.pathOf([name])) : destination.existing
  if (item.kind === 'folder') {
    const top = isContent
      ? { name: '', isAtTarget: existing !== null }
      : await makeTop({ name, policy, existing }, candidate => local.makeFolder([candidate]))
    const route = downloadRoute(server, remote, local, isContent ? [] : [top.name])
    yield* transfer.treeTasks(route, top)
    return
  }
  if (plan.sources.length === 1) transfer.options.progress.expectFile(item.size)
  const route = downloadRoute(server, remote, local, [name])
  yield () => transfer.copy(route, { steps: [], source: item, target: existing })
}

async function* tasksOfUpload(plan: UploadPlan, source: LocalOperand): Tasks {
  const { server, transfer, target, destination, policy, records } = plan
  const { signal } = transfer
  const name = sourceName(source.path)
  // A link that the person names is followed.
  const item = itemOf(name, await stat(source.path))
  const local = new LocalTree(source.path, { followsLinks: plan.followsLinks })
  const path = destination.isInto && name !== '' ? childPath(target.path, name) : target.path
  const remote = (at: string) => new RemoteTree(server, { ...target, path: at }, signal)
  if (item.kind === 'folder') {
    if (!plan.isRecursive) throw needsRecursion()
    const existing = await existingAt(plan, path)
    const isTop = name !== '' || !destination.isInto
    const top = isTop
      ? await makeTop({ name: nameOf(path), policy, existing }, folder =>
          server.createFolder({ ...target, path: childPath(parentOf(path), folder) }),
        )
      : { name: nameOf(path), isAtTarget: existing !== null || path === '/' }
    const tree = remote(path === '/' ? path : childPath(parentOf(path), top.name))
    yield* transfer.treeTasks(uploadRoute(server, local, tree, records), top)
    return
  }
  if (item.kind === 'other') throw notAFile()
  if (plan.sources.length === 1) transfer.options.progress.expectFile(item.size)
  const route = uploadRoute(server, local, remote(path), records)
  const isCompared = policy === 'skip' || policy === 'newer'
  yield () =>
    transfer.attempt(source.path, async () => {
      const existing = isCompared ? await existingAt(plan, path) : null
      await transfer.copy(route, { steps: [], source: item, target: existing })
    })
}

/** Returns what has the path that a source gets. */
async function existingAt({ server, target, destination }: UploadPlan, path: string) {
  if (path === target.path) return destination.existing
  const entry = await server.find({ ...target, path })
  return entry ? itemOfEntry(entry) : null
}
