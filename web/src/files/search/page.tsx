import { useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'
import { texts } from '../../texts/search.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { EntryList } from '../entry-list/list.tsx'
import { useReload } from '../entry-list/use-reload.ts'
import type { LocatedEntry } from '../operations.ts'
import { Chips } from './chips.tsx'
import { coverageNotes } from './coverage.ts'
import { filtersOf, inputOf, type SearchFilters } from './filters.ts'
import { Highlighted, Snippet } from './highlight.tsx'
import { search } from './operations.ts'
import './page.css'

const pageSize = 50

/** The results of the search that the address names. */
export function SearchPage() {
  const [params] = useSearchParams()
  const filters = useMemo(() => filtersOf(params), [params])
  const text = filters.text.trim()
  return (
    <main className="page search-page">
      <PageTitle>{texts.title(text)}</PageTitle>
      <h1>{text === '' ? texts.open : texts.resultsFor(text)}</h1>
      <Chips filters={filters} />
      {text === '' ? <Beginning /> : <Results key={params.toString()} filters={filters} text={text} />}
    </main>
  )
}

function Beginning() {
  return (
    <div className="empty">
      <Icon name="search" />
      <p className="empty-title">{texts.begin}</p>
      <p>{texts.beginHelp}</p>
    </div>
  )
}

function Results({ filters, text }: { filters: SearchFilters; text: string }) {
  const [now] = useState(Date.now)
  const queryKey = ['search', 'results', filters, now]
  const { query, nodes } = usePages(queryKey, (after, signal) =>
    search(inputOf({ ...filters, text }, now), { first: pageSize, after }, signal),
  )
  const reload = useReload('search')
  const notes = coverageNotes(query.data?.pages[0]?.coverage ?? [])
  const entries = useMemo(
    () =>
      (nodes ?? []).map(
        ({ entry, provider, snippet }): LocatedEntry => ({
          ...entry,
          providerId: provider.id,
          storage: provider.name,
          ...(snippet !== null && { note: <Snippet text={snippet} /> }),
        }),
      ),
    [nodes],
  )
  return (
    <>
      {notes.map(note => (
        <p key={note} className="notice">
          {note}
        </p>
      ))}
      <p className="folder-status" role="status">
        {nodes && nodes.length > 0 && texts.found(nodes.length, query.hasNextPage)}
      </p>
      {query.error && <ErrorBox error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading label={texts.searching} />}
      {nodes?.length === 0 && (
        <div className="empty">
          <Icon name="search" />
          <p className="empty-title">{texts.nothing(text)}</p>
          <p>{texts.nothingHelp}</p>
        </div>
      )}
      {entries.length > 0 && (
        <EntryList
          label={texts.results}
          entries={entries}
          nameOf={({ name }) => <Highlighted text={name} query={text} />}
          onChanged={reload}
        />
      )}
      <ShowMore query={query} className="more-results" />
    </>
  )
}
