import { expandAtOnce } from '../../../client/src/index.ts'
import type { Item, Steps, Tree } from '../trees/tree.ts'

/** A file of one of the trees, an empty folder of the source, a folder that only the target has, or what cannot be copied. */
export interface Compared {
  steps: Steps
  /** Null if only the target has the entry. */
  source: Item | null
  /** Null if the name is free at the target. */
  target: Item | null
}

interface PendingFolder {
  steps: Steps
  source: Item
  /** Whether the target has the folder, too. */
  isAtTarget: boolean
}

const top: Item = { name: '', kind: 'folder', size: null, modifiedAt: null }

/** Folders that are listed at once. */
const maxListings = 8

/**
 * Compares two trees, several folders at once and in no particular order. A folder that cannot be listed is reported to
 * `onFailure`, and the others are compared unless that throws.
 */
export function compare(
  trees: { source: Tree; target: Tree },
  { isAtTarget, onFailure }: { isAtTarget: boolean; onFailure: (error: unknown, steps: Steps) => void },
): AsyncGenerator<Compared, void, undefined> {
  return expandAtOnce({ steps: [], source: top, isAtTarget }, maxListings, async (folder: PendingFolder) => {
    try {
      return await compareFolder(trees, folder)
    } catch (error) {
      onFailure(error, folder.steps)
      return { results: [], found: [] }
    }
  })
}

async function compareFolder(
  { source, target }: { source: Tree; target: Tree },
  { steps, source: self, isAtTarget }: PendingFolder,
): Promise<{ results: Compared[]; found: PendingFolder[] }> {
  const nothing = new Map<string, Item>()
  const [from, to] = await Promise.all([source.list(steps), isAtTarget ? target.list(steps) : nothing])
  const compared: Compared[] = []
  const folders: PendingFolder[] = []
  // Files create their folders; only an empty folder has to be created by itself.
  if (from.size === 0 && !isAtTarget) compared.push({ steps, source: self, target: null })
  for (const item of from.values()) {
    const existing = to.get(item.name) ?? null
    const below = [...steps, item.name]
    const isFolder = item.kind === 'folder' && (existing ?? item).kind === 'folder' && target.accepts(item.name)
    if (isFolder) folders.push({ steps: below, source: item, isAtTarget: existing !== null })
    else compared.push({ steps: below, source: item, target: existing })
  }
  for (const item of to.values()) {
    if (!from.has(item.name)) compared.push({ steps: [...steps, item.name], source: null, target: item })
  }
  return { results: compared, found: folders }
}
