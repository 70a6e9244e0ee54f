import { ProgressBar } from '../ui/progress-bar.tsx'
import { percentOf } from './describe.ts'
import type { Job } from './operations.ts'

export function JobProgressBar({ job, label }: { job: Job; label: string }) {
  return <ProgressBar label={label} percent={percentOf(job)} state={job.state.toLowerCase()} />
}
