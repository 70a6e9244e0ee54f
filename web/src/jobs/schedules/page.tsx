import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { usePermissions } from '../../api/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { titleOf } from '../describe.ts'
import { useStorageNames } from '../panel.tsx'
import { DeleteScheduleMutation, type ListedSchedule, listSchedules, UpdateScheduleMutation } from './operations.ts'
import { EditScheduleDialog, NewScheduleDialog } from './schedule-dialog.tsx'
import { type ScheduleAction, ScheduleRow } from './schedule-row.tsx'

/** Milliseconds between two queries, because runs start by themselves. */
const refreshInterval = 10_000

type OpenSchedule = { kind: 'new' } | { kind: 'edit' | 'delete'; schedule: ListedSchedule }

/** The schedules: one's own, and those of everybody for administrators. */
export function SchedulesPage() {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const { data: storages = new Map<string, string>() } = useStorageNames()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: queryKeys.schedules,
    queryFn: ({ signal, pageParam }) => listSchedules(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }) => (pageInfo.hasNextPage ? pageInfo.endCursor : null),
    refetchInterval: refreshInterval,
  })
  const [open, setOpen] = useState<OpenSchedule | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.schedules })
  const enable = useMutation({
    mutationFn: ({ id, enabled }: ListedSchedule) => ask(UpdateScheduleMutation, { input: { id, enabled: !enabled } }),
    onError: notifyError,
    onSettled: reload,
  })
  const act = (schedule: ListedSchedule, action: ScheduleAction) => {
    if (action !== 'enable') setOpen({ kind: action, schedule })
    else if (!enable.isPending) enable.mutate(schedule)
  }
  const schedules = data?.pages.flatMap(({ nodes }) => nodes) ?? []
  return (
    <>
      <PageTitle>Schedules</PageTitle>
      <div className="page-head">
        <h1>Schedules</h1>
        {canWrite && (
          <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
            New schedule
          </Button>
        )}
      </div>
      <p className="help">
        A schedule keeps a copy of a folder up to date, in the same storage or in another one. It writes only files that
        differ.
      </p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the schedules" />}
      {data && schedules.length === 0 && (
        <div className="empty">
          <p>No schedules yet.</p>
          {canWrite && <p>Create one with “New schedule”, such as a nightly copy of a folder.</p>}
        </div>
      )}
      {schedules.length > 0 && (
        <RowTable label="Schedules" columns={['Schedule', 'Times', 'Last run', 'Next run']}>
          {schedules.map(schedule => (
            <ScheduleRow
              key={schedule.id}
              schedule={schedule}
              title={titleOf(schedule.job, storages)}
              onAction={action => act(schedule, action)}
            />
          ))}
        </RowTable>
      )}
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          Show more
        </Button>
      )}
      {open?.kind === 'new' && <NewScheduleDialog onSaved={reload} onClose={close} />}
      {open?.kind === 'edit' && (
        <EditScheduleDialog
          schedule={open.schedule}
          title={titleOf(open.schedule.job, storages)}
          onSaved={reload}
          onClose={close}
        />
      )}
      {open?.kind === 'delete' && (
        <Confirm
          title={`Delete “${open.schedule.name}”?`}
          action="Delete"
          onConfirm={async () => {
            await ask(DeleteScheduleMutation, { id: open.schedule.id })
            await reload()
          }}
          onClose={close}
        >
          <p>The copy stays, but is not updated any more. A job that is running continues.</p>
        </Confirm>
      )}
    </>
  )
}
