import { percentOf } from './describe.ts'
import type { Job } from './operations.ts'

export function JobProgressBar({ job, label }: { job: Job; label: string }) {
  const percent = percentOf(job)
  return (
    <div
      className="progress-track"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(percent !== null && { 'aria-valuenow': percent })}
    >
      <div className={`progress-fill ${job.state.toLowerCase()}`} style={{ width: `${percent ?? 0}%` }} />
    </div>
  )
}
