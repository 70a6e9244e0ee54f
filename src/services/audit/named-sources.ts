import { cut } from './event.ts'

interface NamedSource {
  providerId: string
  path: string
}

/** Characters of the sources that an event names. */
const maxNamed = 10_000

/**
 * Returns how many sources an action has, and all but the first, whose paths have up to `maxNamed` characters together. The
 * first source is the location of the event.
 */
export function namedSources(sources: readonly NamedSource[]): { sources: number; otherSources?: NamedSource[] } {
  const otherSources: NamedSource[] = []
  let length = 0
  for (const { providerId, path } of sources.slice(1)) {
    const named = { providerId: cut(providerId), path: cut(path) }
    length += named.providerId.length + named.path.length
    if (length > maxNamed) break
    otherSources.push(named)
  }
  return { sources: sources.length, ...(otherSources.length > 0 && { otherSources }) }
}
