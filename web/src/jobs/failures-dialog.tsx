import { useInfiniteQuery } from '@tanstack/react-query'
import { common } from '../texts/common.ts'
import { errorText } from '../texts/errors.ts'
import { texts } from '../texts/jobs.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Details, ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { type Job, listFailures } from './operations.ts'

/** Lists what a job could not process, with the reasons. */
export function FailuresDialog({ job, title, onClose }: { job: Job; title: string; onClose: () => void }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['job-failures', job.id, job.progress.failed],
    queryFn: ({ signal, pageParam }) => listFailures(job.id, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }) => (pageInfo.hasNextPage ? pageInfo.endCursor : null),
  })
  const failures = data?.pages.flatMap(({ nodes }) => nodes) ?? []
  return (
    <Dialog title={texts.failuresOf(title)} onClose={onClose} size="large">
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={texts.loadingFailures} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls */}
      <ul className="failure-list" tabIndex={0} aria-label={texts.failures}>
        {failures.map(({ path, reason, message }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: one path can fail twice, and the list only grows
          <li key={index}>
            <strong>{path}</strong>
            <p>{errorText({ reason, message })}</p>
            <Details>{reason}</Details>
          </li>
        ))}
      </ul>
      <div className="dialog-actions">
        {hasNextPage && (
          <Button className="at-start" onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
            {common.showMore}
          </Button>
        )}
        <Button onPress={onClose} autoFocus>
          {common.close}
        </Button>
      </div>
    </Dialog>
  )
}
