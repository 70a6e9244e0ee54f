/** The findings of the last check of kept copies, and its report. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, stowage } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { saveBlob } from '../../lib/save-file.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/copies.ts'
import { errorText } from '../../texts/errors.ts'
import { formatList } from '../../texts/format.ts'
import { texts as jobTexts } from '../../texts/jobs.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { Time } from '../../ui/time.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import type { ListedSchedule } from './operations.ts'

const FindingsQuery = graphql(`
  query CopyFindings($id: ID!, $after: String) {
    job(id: $id) { copyReport { findings(first: 50, after: $after) {
      nodes { kind providerId path isRestored foundAt message }
      pageInfo { hasNextPage endCursor }
    } } }
  }
`)

type Report = NonNullable<NonNullable<ListedSchedule['lastJob']>['copyReport']>
type CheckedFolder = Report['locations'][number]
type Findings = NonNullable<NonNullable<ResultOf<typeof FindingsQuery>['job']>['copyReport']>['findings']

async function listFindings(id: string, after: string | null, signal: AbortSignal): Promise<Findings> {
  const { job } = await ask(FindingsQuery, { id, after }, { signal })
  return job.copyReport?.findings ?? { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }
}

function whereIs({ providerId, path }: { providerId: string; path: string }, storages: ReadonlyMap<string, string>) {
  return jobTexts.inStorage(storages.get(providerId) ?? null, path)
}

type CheckJob = NonNullable<ListedSchedule['lastJob']>

/** Returns whether a check has read all files: each of its failures is a file that it has found damaged, missing or changed. */
function isComplete({ state, error, progress, copyReport }: CheckJob): boolean {
  if (state !== 'FAILED') return state === 'SUCCEEDED'
  const found = copyReport?.locations.map(each => each.damaged + each.missing + each.changed - each.restored) ?? []
  return !error && progress.failed <= found.reduce((sum, each) => sum + each, 0)
}

function stateOf({ damaged, missing, changed, restored }: CheckedFolder, job: CheckJob): string {
  const isOver = job.state === 'FAILED' || job.state === 'CANCELED'
  const none = isComplete(job) ? texts.intact : isOver ? texts.incomplete : texts.checking
  const parts = [
    damaged > 0 && texts.damaged(damaged),
    missing > 0 && texts.missing(missing),
    changed > 0 && texts.changed(changed),
    restored > 0 && texts.restored(restored),
  ]
  return formatList(parts.filter(part => part !== false)) || none
}

/** The state of the folder and of each copy, with a button for the report. */
export function CheckedCopies({
  schedule: { name, lastJob },
  storages,
}: {
  schedule: ListedSchedule
  storages: ReadonlyMap<string, string>
}) {
  const [isOpen, setOpen] = useState(false)
  if (!lastJob?.copyReport) return null
  return (
    <>
      <ul className="checked-copies">
        {lastJob.copyReport.locations.map(location => (
          <li key={location.providerId}>{texts.checked(whereIs(location, storages), stateOf(location, lastJob))}</li>
        ))}
      </ul>
      <Button onPress={() => setOpen(true)} aria-label={texts.reportOf(name)}>
        {texts.report}
      </Button>
      {isOpen && <ReportDialog job={lastJob} name={name} storages={storages} onClose={() => setOpen(false)} />}
    </>
  )
}

function ReportDialog({
  job,
  name,
  storages,
  onClose,
}: {
  job: CheckJob
  name: string
  storages: ReadonlyMap<string, string>
  onClose: () => void
}) {
  const { query, nodes: findings } = usePages(['copy-findings', job.id, job.endedAt], (after, signal) =>
    listFindings(job.id, after, signal),
  )
  const save = useMutation({ mutationFn: (format: 'csv' | 'text') => download(job.id, format), onError: notifyError })
  return (
    <Dialog title={texts.reportOf(name)} onClose={onClose} size="large">
      <ul className="checked-copies">
        {job.copyReport?.locations.map(location => (
          <li key={location.providerId}>
            <strong>{whereIs(location, storages)}</strong>
            <div className="help">
              {texts.read(location.readFiles, location.readBytes)},{' '}
              {texts.copied(location.copiedFiles, location.copiedBytes)}: {stateOf(location, job)}
            </div>
          </li>
        ))}
      </ul>
      <LoadState query={query} label={texts.loadingReport} />
      {job.error && <p className="error-box">{errorText(job.error)}</p>}
      {findings?.length === 0 && <p>{job.state === 'SUCCEEDED' ? texts.noFindings : texts.noFindingsYet}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls */}
      <ul className="failure-list" tabIndex={0} aria-label={texts.findings}>
        {findings?.map(({ kind, isRestored, foundAt, message, ...location }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: one path can be found twice, and the list only grows
          <li key={index}>
            <strong>{whereIs(location, storages)}</strong>
            <p>
              {isRestored ? texts.restoredFile(texts.kinds[kind]) : texts.kinds[kind]}
              {foundAt && (
                <>
                  {' · '}
                  <Time at={foundAt} />
                </>
              )}
            </p>
            <p className="help">{message}</p>
          </li>
        ))}
      </ul>
      <div className="dialog-actions">
        <ShowMore query={query} className="at-start" />
        <Button onPress={() => save.mutate('text')}>{texts.downloadText}</Button>
        <Button onPress={() => save.mutate('csv')}>{texts.downloadTable}</Button>
        <Button onPress={onClose} autoFocus>
          {common.close}
        </Button>
      </div>
    </Dialog>
  )
}

/** Saves the report of a job as a file. @throws StowageError */
async function download(id: string, format: 'csv' | 'text'): Promise<void> {
  const response = await stowage.copies.report(id, format)
  saveBlob(await response.blob(), `report-${id}.${format === 'csv' ? 'csv' : 'txt'}`)
}
