import { common } from '../texts/common.ts'
import { errorText } from '../texts/errors.ts'
import { texts } from '../texts/jobs.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Details } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { ShowMore, usePages } from '../ui/pages.tsx'
import { type Job, listFailures } from './jobs.ts'

/** Lists what a job could not process, with the reasons. */
export function FailuresDialog({ job, title, onClose }: { job: Job; title: string; onClose: () => void }) {
  const { query, nodes: failures = [] } = usePages(['job-failures', job.id, job.progress.failed], (after, signal) =>
    listFailures(job.id, after, signal),
  )
  return (
    <Dialog title={texts.failuresOf(title)} onClose={onClose} size="large">
      <LoadState query={query} label={texts.loadingFailures} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls */}
      <ul className="failure-list" tabIndex={0} aria-label={texts.failures}>
        {failures.map(({ path, reason, message }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: one path can fail twice, and the list only grows
          <li key={index}>
            <strong dir="ltr">{path}</strong>
            <p>{errorText({ reason, message })}</p>
            <Details>{reason}</Details>
          </li>
        ))}
      </ul>
      <div className="dialog-actions">
        <ShowMore query={query} className="at-start" />
        <Button onPress={onClose} autoFocus>
          {common.close}
        </Button>
      </div>
    </Dialog>
  )
}
