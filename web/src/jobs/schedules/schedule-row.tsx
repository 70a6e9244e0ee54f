import { usePermissions } from '../../api/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/time.tsx'
import { JobActions } from '../actions.tsx'
import { statusOf } from '../describe.ts'
import type { ListedSchedule } from './operations.ts'
import { describeTimes, ownTimeZone } from './times.ts'
import '../jobs.css'
import './schedules.css'

export type ScheduleAction = 'edit' | 'enable' | 'delete'

export function ScheduleRow({
  schedule,
  title,
  onAction,
}: {
  schedule: ListedSchedule
  /** Describes what its jobs do. */
  title: string
  onAction: (action: ScheduleAction) => void
}) {
  const { canWrite } = usePermissions()
  const { id, name, cron, timeZone, enabled, error, nextRunAt, job } = schedule
  const nameId = `schedule-${id}`
  return (
    <tr className={enabled ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId}>
          {name}
        </div>
        <div className="help">
          {title}
          {job.deleteExtra && ', deletes extra files'}
        </div>
      </td>
      <td data-label="Times">
        {describeTimes(cron)}
        {timeZone !== ownTimeZone && <div className="help">{timeZone}</div>}
      </td>
      <td data-label="Last run">
        <LastRun schedule={schedule} title={title} />
      </td>
      <td data-label="Next run">
        {nextRunAt ? <Time at={nextRunAt} as="distance" /> : <span className="badge warn">Disabled</span>}
        {error && <div className="job-error">{error.message}</div>}
      </td>
      <td className="actions-cell">
        {canWrite && (
          <div className="actions">
            <Button onPress={() => onAction('enable')} aria-describedby={nameId}>
              {enabled ? 'Disable' : 'Enable'}
            </Button>
            <Button onPress={() => onAction('edit')} aria-describedby={nameId}>
              Edit
            </Button>
            <Button variant="danger" onPress={() => onAction('delete')} aria-describedby={nameId}>
              Delete
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
        'Never'
      )}
      {isSkipped && (
        <div className="help">
          Skipped <Time at={lastSkippedAt} as="distance" />
        </div>
      )}
    </>
  )
}
