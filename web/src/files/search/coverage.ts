import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/search.tsx'
import type { Coverage } from './operations.ts'

/** Returns sentences about what the catalogues do not have; none if a search has covered everything. */
export function coverageNotes(coverage: readonly Coverage[]): string[] {
  const incomplete = coverage.filter(({ isComplete }) => !isComplete)
  const off = incomplete.filter(({ provider }) => provider.catalogue.mode === 'OFF')
  const isNew = ({ provider }: Coverage) =>
    provider.catalogue.state === 'INDEXING' || provider.catalogue.state === 'WAITING'
  const unread = coverage.filter(
    ({ provider, isComplete, isContentComplete }) =>
      provider.catalogue.mode === 'CONTENT' && isComplete && !isContentComplete,
  )
  const others = incomplete.filter(each => !off.includes(each))
  const namesOf = (some: readonly Coverage[]) => formatList(some.map(({ provider }) => provider.name))
  const { coverage: sentences } = texts
  return [
    { some: others.filter(isNew), sentence: sentences.indexing },
    { some: others.filter(each => !isNew(each)), sentence: sentences.partial },
    { some: unread, sentence: sentences.unread },
    { some: off, sentence: sentences.off },
  ].flatMap(({ some, sentence }) => (some.length === 0 ? [] : sentence(namesOf(some))))
}
