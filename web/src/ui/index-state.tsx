import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts } from '../texts/search.tsx'
import { Time } from './time.tsx'

const CataloguesQuery = graphql(`
  query Catalogues {
    providers { id catalogue { state entries indexedAt } }
  }
`)

/** Milliseconds between two looks at the catalogues, while one of them is filled, or soon will be, and otherwise. */
const fillingInterval = 2000
const idleInterval = 30_000
const isFilling = (state: string) => state === 'WAITING' || state === 'INDEXING'

function useCatalogue(providerId: string) {
  const { data } = useQuery({
    queryKey: [...queryKeys.providers, 'catalogues'],
    queryFn: ({ signal }) => ask(CataloguesQuery, {}, { signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.providers.some(({ catalogue }) => isFilling(catalogue.state)) ? fillingInterval : idleInterval,
  })
  return data?.providers.find(({ id }) => id === providerId)?.catalogue
}

/**
 * Shows a line while the storage is indexed for the first time.
 * @param isDetailed whether to say the state of the index at other times, too
 */
export function IndexState({ providerId, isDetailed = false }: { providerId: string; isDetailed?: boolean }) {
  const catalogue = useCatalogue(providerId)
  if (!catalogue) return null
  const { state, entries, indexedAt } = catalogue
  if (state === 'INDEXING') {
    return (
      <div className="index-state" role="status">
        <div className="index-line" aria-hidden="true" />
        <span className="help">{texts.indexing(entries)}</span>
      </div>
    )
  }
  if (!isDetailed) return null
  const sentences = { OFF: texts.isOff, WAITING: texts.waiting, FAILED: texts.failed, READY: null }
  return (
    <>
      {sentences[state] !== null && <p className="help">{sentences[state]}</p>}
      {indexedAt !== null && <p className="help">{texts.indexed(<Time at={indexedAt} as="distance" />, entries)}</p>}
    </>
  )
}
