import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSearchParams } from 'react-router'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/audit.ts'
import { common } from '../../texts/common.ts'
import { AdminOnly } from '../../ui/admin-only.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { notify } from '../../ui/toasts.tsx'
import './audit.css'
import { EventTable } from './event-table.tsx'
import { exportEvents, maxExported } from './export.ts'
import { filterOf, searchOf, toInput } from './filter.ts'
import { FilterForm } from './filter-form.tsx'
import { listEvents } from './operations.ts'

const pageSize = 50

export function AuditPage() {
  return (
    <AdminOnly title={texts.auditLog}>
      <AuditLog />
    </AdminOnly>
  )
}

function AuditLog() {
  const [search, setSearch] = useSearchParams()
  const draft = useMemo(() => filterOf(search), [search])
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...queryKeys.auditEvents, draft],
    queryFn: ({ signal, pageParam }) => listEvents(toInput(draft), { first: pageSize, after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }) => (pageInfo.hasNextPage ? pageInfo.endCursor : null),
  })
  const download = useMutation({
    mutationFn: () => exportEvents(toInput(draft), new AbortController().signal),
    onSuccess: ({ hasMore }) => {
      if (hasMore) notify(texts.onlyNewest(maxExported))
    },
  })
  const events = data?.pages.flatMap(({ nodes }) => nodes) ?? []
  return (
    <>
      <div className="page-head">
        <h1>{texts.auditLog}</h1>
        <Button onPress={() => download.mutate()} isPending={download.isPending}>
          {texts.downloadCsv}
        </Button>
      </div>
      <p className="help">{texts.auditHelp}</p>
      <FilterForm draft={draft} onChange={changed => setSearch(searchOf(changed), { replace: true })} />
      {download.error && <ErrorBox error={download.error} />}
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingEvents} />}
      {data && events.length === 0 && <p role="status">{texts.noEvents}</p>}
      {events.length > 0 && <EventTable events={events} />}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          {common.showMore}
        </Button>
      )}
    </>
  )
}
