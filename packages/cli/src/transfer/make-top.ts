import { nameTaken } from '../errors.ts'
import { candidateNames } from '../local/names.ts'
import type { ConflictPolicy } from './conflict.ts'
import type { Place } from './place.ts'

interface TopFolder {
  name: string
  /** Whether the folder existed, so that its content is added to it. */
  isAtTarget: boolean
}

/**
 * Prepares the folder that a copied folder becomes, as a job does: `fail` and `rename` need a name that is free, and the
 * others add to a folder that exists.
 * @param make creates a folder of a name, and returns false if it is taken
 * @param existing what has the name already
 * @throws CommandError if the name is taken
 */
export async function makeTop(
  { name, policy, existing }: { name: string; policy: ConflictPolicy } & Pick<Place, 'existing'>,
  make: (name: string) => Promise<boolean>,
): Promise<TopFolder> {
  if (policy === 'fail' || policy === 'rename') {
    for (const candidate of policy === 'rename' ? candidateNames(name, 'folder') : [name]) {
      if (await make(candidate)) return { name: candidate, isAtTarget: false }
    }
    throw nameTaken(name)
  }
  if (existing && existing.kind !== 'folder') throw nameTaken(name)
  return { name, isAtTarget: existing !== null }
}
