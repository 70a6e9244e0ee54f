import { usePermissions } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { errorText } from '../../texts/errors.ts'
import { texts } from '../../texts/jobs.ts'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/time.tsx'
import { JobActions } from '../actions.tsx'
import { statusOf } from '../describe.ts'
import type { ListedSchedule } from './operations.ts'
import { describeTimes, ownTimeZone } from './times.ts'
import '../jobs.css'
import './schedules.css'

export type ScheduleAction = 'run' | 'edit' | 'enable' | 'delete'

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
          {job.deleteExtra && texts.deletesExtra}
        </div>
      </td>
      <td data-label={texts.times}>
        {describeTimes(cron)}
        {timeZone !== ownTimeZone && <div className="help">{timeZone}</div>}
      </td>
      <td data-label={texts.lastRun}>
        <LastRun schedule={schedule} title={title} />
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
