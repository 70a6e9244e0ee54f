/** Schedules: the page that lists them, and the dialogs that create and change them. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts as copyTexts } from '../../texts/copies.ts'
import { errorText } from '../../texts/errors.ts'
import { texts } from '../../texts/jobs.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { JobActions } from '../actions.tsx'
import { statusOf, titleOf } from '../describe.ts'
import { useStorageNames } from '../jobs.ts'
import { CheckedCopies } from './copies.tsx'
import { NewCopiesDialog } from './copies-dialog.tsx'
import {
  DeleteScheduleMutation,
  type ListedSchedule,
  listSchedules,
  RunScheduleMutation,
  UpdateScheduleMutation,
} from './operations.ts'
import { EditScheduleDialog, NewScheduleDialog } from './schedule-dialog.tsx'
import { describeTimes, ownTimeZone } from './times.ts'
import '../jobs.css'

/** Milliseconds between two queries, because runs start by themselves. */
const refreshInterval = 10_000

type OpenSchedule = { kind: 'new' | 'new-copies' } | { kind: 'edit' | 'delete'; schedule: ListedSchedule }

/** The schedules: one's own, and those of everybody for administrators. */
export function SchedulesPage() {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const storages = useStorageNames()
  const { query, nodes: schedules } = usePages(queryKeys.schedules, listSchedules, refreshInterval)
  const [open, setOpen] = useState<OpenSchedule | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.schedules })
  const change = useMutation({
    mutationFn: async ({
      schedule: { id, enabled },
      action,
    }: {
      schedule: ListedSchedule
      action: 'run' | 'enable'
    }) => {
      if (action === 'run') await ask(RunScheduleMutation, { id })
      else await ask(UpdateScheduleMutation, { input: { id, enabled: !enabled } })
    },
    onError: notifyError,
    onSettled: reload,
  })
  const act = (schedule: ListedSchedule, action: ScheduleAction) => {
    if (action === 'edit' || action === 'delete') setOpen({ kind: action, schedule })
    else if (!change.isPending) change.mutate({ schedule, action })
  }
  const isKept = ({ job }: ListedSchedule) => job.kind === 'KEEP_COPIES'
  const kept = schedules?.filter(isKept) ?? []
  const others = schedules?.filter(schedule => !isKept(schedule)) ?? []
  const row = (schedule: ListedSchedule) => (
    <ScheduleRow key={schedule.id} schedule={schedule} storages={storages} onAction={action => act(schedule, action)} />
  )
  return (
    <>
      <PageHead title={texts.schedules}>
        {canWrite && (
          <>
            <Button onPress={() => setOpen({ kind: 'new-copies' })}>{copyTexts.newCopies}</Button>
            <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
              {texts.newSchedule}
            </Button>
          </>
        )}
      </PageHead>
      <p className="help">{texts.schedulesHelp}</p>
      <LoadState query={query} label={texts.loadingSchedules} />
      {schedules?.length === 0 && (
        <div className="empty">
          <p>{texts.noSchedules}</p>
          {canWrite && <p>{texts.noSchedulesHelp}</p>}
        </div>
      )}
      {others.length > 0 && (
        <RowTable label={texts.schedules} columns={[texts.schedule, texts.times, texts.lastRun, texts.nextRun]}>
          {others.map(row)}
        </RowTable>
      )}
      {kept.length > 0 && (
        <section>
          <h2>{copyTexts.copies}</h2>
          <p className="help">{copyTexts.copiesHelp}</p>
          <RowTable
            label={copyTexts.copies}
            columns={[texts.schedule, texts.times, copyTexts.lastCheck, texts.nextRun]}
          >
            {kept.map(row)}
          </RowTable>
        </section>
      )}
      <ShowMore query={query} />
      {open?.kind === 'new' && <NewScheduleDialog onSaved={reload} onClose={close} />}
      {open?.kind === 'new-copies' && <NewCopiesDialog onSaved={reload} onClose={close} />}
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
          title={common.deleteTitle(open.schedule.name)}
          action={common.delete}
          onConfirm={async () => {
            await ask(DeleteScheduleMutation, { id: open.schedule.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.deleteScheduleHelp}</p>
        </Confirm>
      )}
    </>
  )
}

type ScheduleAction = 'run' | 'edit' | 'enable' | 'delete'

function ScheduleRow({
  schedule,
  storages,
  onAction,
}: {
  schedule: ListedSchedule
  /** The names of the storages by their ids. */
  storages: ReadonlyMap<string, string>
  onAction: (action: ScheduleAction) => void
}) {
  const { canWrite } = usePermissions()
  const { id, name, cron, timeZone, enabled, error, nextRunAt, job } = schedule
  const nameId = `schedule-${id}`
  const title = titleOf(job, storages)
  return (
    <tr className={enabled ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId} dir="auto">
          {name}
        </div>
        <div className="help">
          {title}
          {job.deleteExtra && texts.deletesExtra}
        </div>
      </td>
      <td data-label={texts.times}>
        {describeTimes(cron)}
        {timeZone !== ownTimeZone && <div className="help">{timeZone}</div>}
      </td>
      <td data-label={texts.lastRun}>
        <LastRun schedule={schedule} title={title} />
        <CheckedCopies schedule={schedule} storages={storages} />
      </td>
      <td data-label={texts.nextRun}>
        {nextRunAt ? <Time at={nextRunAt} as="distance" /> : <span className="badge warn">{texts.disabled}</span>}
        {error && <div className="job-error">{errorText(error)}</div>}
      </td>
      <td className="actions-cell">
        {canWrite && (
          <div className="actions">
            <Button onPress={() => onAction('run')} aria-describedby={nameId}>
              {texts.runNow}
            </Button>
            <Button onPress={() => onAction('enable')} aria-describedby={nameId}>
              {enabled ? texts.disable : texts.enable}
            </Button>
            <Button onPress={() => onAction('edit')} aria-describedby={nameId}>
              {common.edit}
            </Button>
            <Button variant="danger" onPress={() => onAction('delete')} aria-describedby={nameId}>
              {common.delete}
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}

function LastRun({ schedule: { lastJob, lastSkippedAt }, title }: { schedule: ListedSchedule; title: string }) {
  const isSkipped = lastSkippedAt !== null && (!lastJob || lastSkippedAt > lastJob.createdAt)
  return (
    <>
      {lastJob ? (
        <>
          <Time at={lastJob.endedAt ?? lastJob.createdAt} as="distance" />
          <div className={lastJob.state === 'FAILED' ? 'job-error' : 'help'}>{statusOf(lastJob)}</div>
          <div className="last-run">
            <JobActions job={lastJob} title={title} />
          </div>
        </>
      ) : (
        common.never
      )}
      {isSkipped && (
        <div className="help">
          {texts.skippedRun} <Time at={lastSkippedAt} as="distance" />
        </div>
      )}
    </>
  )
}
