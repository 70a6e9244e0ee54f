import { workConcurrently } from '../../api/concurrency.ts'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import type { Failure } from '../batch.tsx'
import { rename } from '../operations.ts'
import { chainsOf, type Renaming } from './plan.ts'

/** The number of entries that are renamed at the same time. */
const concurrency = 3
/** The end of a name that its temporary name has, so that people recognize it after a failure. */
const keptCharacters = 40

export interface RenameOutcome {
  /** The entries with the names that they had, and their new names as the back end stored them. */
  done: Renaming[]
  failures: Failure[]
}

/**
 * Renames entries of a folder, a few at a time. A failure does not stop the others. After `signal` aborts, no entry begins, except
 * those that exchange their names with others: these are finished, because one of them has a temporary name.
 */
export async function renameAll(
  folder: StorageLocation,
  renamings: readonly Renaming[],
  { signal, onDone }: { signal?: AbortSignal; onDone?: () => void } = {},
): Promise<RenameOutcome> {
  const outcome: RenameOutcome = { done: [], failures: [] }
  const send = (from: string, to: string) => rename({ ...folder, path: childPath(folder.path, from) }, to)
  const step = async ({ entry, name }: Renaming, from = entry.name) => {
    try {
      outcome.done.push({ entry, name: await send(from, name) })
      onDone?.()
    } catch (error) {
      // The list of failures shows the name by which the entry can be found.
      outcome.failures.push({ item: { ...entry, name: from }, error })
    }
  }
  const circle = async (steps: readonly Renaming[]) => {
    const last = steps.at(-1)
    if (!last) return
    const { entry } = last
    const random = crypto.getRandomValues(new Uint32Array(1)).join('')
    const temporary = `renaming-${random}-${[...entry.name].slice(-keptCharacters).join('')}`
    try {
      await send(entry.name, temporary)
    } catch (error) {
      outcome.failures.push(...steps.map(({ entry }) => ({ item: entry, error })))
      return
    }
    for (const renaming of steps.slice(0, -1)) await step(renaming)
    await step(last, temporary)
  }
  await workConcurrently(
    chainsOf(renamings),
    concurrency,
    async ({ steps, isCircle }) => {
      if (isCircle) return circle(steps)
      for (const renaming of steps) {
        if (signal?.aborted) return
        await step(renaming)
      }
    },
    signal,
  )
  return outcome
}
