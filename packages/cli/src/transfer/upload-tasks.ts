import { stat } from 'node:fs/promises'
import { needsRecursion, notAFile } from '../errors.ts'
import { itemOf, LocalTree } from '../local/local-tree.ts'
import type { LocalOperand } from '../operand.ts'
import { RemoteTree } from '../remote/remote-tree.ts'
import { childPath, nameOf, parentOf, type RemotePath, type Server } from '../remote/server.ts'
import type { ConflictPolicy } from './conflict.ts'
import { makeTop } from './make-top.ts'
import { itemOfEntry, type Place, sourceName } from './place.ts'
import { uploadRoute } from './route.ts'
import type { Task, Transfer } from './transfer.ts'
import type { UploadRecords } from './upload-records.ts'

interface UploadPlan {
  server: Server
  transfer: Transfer
  sources: readonly LocalOperand[]
  target: RemotePath
  place: Place
  policy: ConflictPolicy
  isRecursive: boolean
  followsLinks: boolean
  records: UploadRecords
}

/** Yields the tasks that upload the sources. Reports a source that cannot be read. */
export async function* uploadTasks(plan: UploadPlan): AsyncGenerator<Task, void, undefined> {
  for (const source of plan.sources) {
    try {
      yield* tasksOf(plan, source)
    } catch (error) {
      plan.transfer.fail(error, source.path)
    }
  }
}

async function* tasksOf(plan: UploadPlan, source: LocalOperand): AsyncGenerator<Task, void, undefined> {
  const { server, transfer, target, place, policy, records } = plan
  const { signal } = transfer
  const name = sourceName(source.path)
  // A link that the person names is followed.
  const item = itemOf(name, await stat(source.path))
  const local = new LocalTree(source.path, { followsLinks: plan.followsLinks })
  const path = place.isInto && name !== '' ? childPath(target.path, name) : target.path
  const remote = (at: string) => new RemoteTree(server, { ...target, path: at }, signal)
  if (item.kind === 'folder') {
    if (!plan.isRecursive) throw needsRecursion()
    const existing = await existingAt(plan, path)
    const isTop = name !== '' || !place.isInto
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
async function existingAt({ server, target, place }: UploadPlan, path: string) {
  if (path === target.path) return place.existing
  const entry = await server.find({ ...target, path })
  return entry ? itemOfEntry(entry) : null
}
