import { basename, dirname } from 'node:path'
import { needsRecursion } from '../errors.ts'
import { LocalTree } from '../local/local-tree.ts'
import type { LocalOperand } from '../operand.ts'
import { RemoteTree } from '../remote/remote-tree.ts'
import { display, nameOf, type RemotePath, type Server } from '../remote/server.ts'
import type { ConflictPolicy } from './conflict.ts'
import { makeTop } from './make-top.ts'
import { findLocal, itemOfEntry, type Place } from './place.ts'
import { downloadRoute } from './route.ts'
import type { Task, Transfer } from './transfer.ts'

interface DownloadPlan {
  server: Server
  transfer: Transfer
  sources: readonly RemotePath[]
  target: LocalOperand
  place: Place
  policy: ConflictPolicy
  isRecursive: boolean
}

/** Yields the tasks that download the sources. Reports a source that cannot be read. */
export async function* downloadTasks(plan: DownloadPlan): AsyncGenerator<Task, void, undefined> {
  for (const source of plan.sources) {
    try {
      yield* tasksOf(plan, source)
    } catch (error) {
      plan.transfer.fail(error, display(source))
    }
  }
}

async function* tasksOf(plan: DownloadPlan, source: RemotePath): AsyncGenerator<Task, void, undefined> {
  const { server, transfer, target, place, policy } = plan
  const item = itemOfEntry(await server.stat(source))
  const remote = new RemoteTree(server, source, transfer.signal)
  if (item.kind === 'folder' && !plan.isRecursive) throw needsRecursion()
  // The content of a storage itself has no name, so it goes directly into the folder.
  const isContent = source.path === '/' && place.isInto
  const folder = place.isInto ? target.path : dirname(target.path)
  const name = place.isInto ? nameOf(source.path) : basename(target.path)
  const local = new LocalTree(folder, { followsLinks: false })
  const existing = place.isInto && !isContent ? await findLocal(local.pathOf([name])) : place.existing
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
