/** Brings a folder back as it was at a time: a question for the time, what would be done, and then a job. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Form } from 'react-aria-components'
import { ask, stowage } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { noteJob } from '../../api/started-jobs.ts'
import { common } from '../../texts/common.ts'
import { errorText } from '../../texts/errors.ts'
import { formatBytes, formatList, formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/restore.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/choices.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { submitting, TextField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading, LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import './restore.css'

const CreateRestoreMutation = graphql(`
  mutation CreateRestore($input: CreateJobInput!) {
    createJob(input: $input) { job { id } }
  }
`)

const CancelRestoreMutation = graphql(`
  mutation CancelRestore($id: ID!) { cancelJob(id: $id) { id } }
`)

const RestoreStepsQuery = graphql(`
  query RestoreSteps($id: ID!, $after: String) {
    job(id: $id) {
      error { reason message }
      progress { files deleted failed }
      restoreSteps(first: 100, after: $after) {
        nodes { path action isFolder size goneAt }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

type RestoreStep = ResultOf<typeof RestoreStepsQuery>['job']['restoreSteps']['nodes'][number]

interface RestoreRequest {
  restoreAt: string
  deleteExtra: boolean
}

/** Starts a job and returns its id. @throws StowageError */
async function createRestore(folder: StorageLocation, request: RestoreRequest, dryRun: boolean): Promise<string> {
  const input = { kind: 'RESTORE' as const, sources: [{ ...folder }], ...request, dryRun }
  return (await ask(CreateRestoreMutation, { input })).createJob.job.id
}

export function RestoreFolderDialog({
  folder,
  storage,
  onClose,
}: {
  folder: StorageLocation
  /** The name of the storage. */
  storage: string
  onClose: () => void
}) {
  const client = useQueryClient()
  const [request, setRequest] = useState<RestoreRequest | null>(null)
  const [at, setAt] = useState(() => localMinute(new Date(Date.now() - dayLength)))
  const [deleteExtra, setDeleteExtra] = useState(false)
  const [previewId, setPreviewId] = useState<string | null>(null)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const preview = useMutation({
    async mutationFn(wanted: RestoreRequest) {
      const controller = new AbortController()
      stop.current = controller
      setRequest(wanted)
      const id = await createRestore(folder, wanted, true)
      try {
        await stowage.jobs.wait(id, { signal: controller.signal })
      } catch (error) {
        if (controller.signal.aborted) await ask(CancelRestoreMutation, { id }).catch(() => {})
        throw error
      }
      setPreviewId(id)
    },
  })
  const start = useMutation({
    mutationFn: async (wanted: RestoreRequest) => noteJob(await createRestore(folder, wanted, false)),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.jobs }),
  })
  const back = () => {
    stop.current.abort()
    setPreviewId(null)
    preview.reset()
    start.reset()
  }
  const name = folder.path === '/' ? storage : nameOfPath(folder.path)
  if (request && previewId !== null) {
    return (
      <Dialog title={texts.titleAt(name, formatMinute(request.restoreAt))} size="large" onClose={onClose}>
        <Steps key={previewId} jobId={previewId} folder={folder}>
          {hasSteps => (
            <>
              {start.error && <ErrorBox error={start.error} />}
              <div className="dialog-actions">
                <Button onPress={back}>{texts.back}</Button>
                <Button
                  variant="primary"
                  isDisabled={!hasSteps}
                  isPending={start.isPending}
                  onPress={() => start.mutate(request)}
                >
                  {texts.restore}
                </Button>
              </div>
            </>
          )}
        </Steps>
      </Dialog>
    )
  }
  return (
    <Dialog title={texts.title(name)} onClose={onClose}>
      <Form onSubmit={submitting(() => preview.mutate({ restoreAt: new Date(at).toISOString(), deleteExtra }))}>
        <p>{texts.help}</p>
        <TextField
          label={texts.time}
          type="datetime-local"
          value={at}
          onChange={setAt}
          isRequired
          isDisabled={preview.isPending}
          validate={text => (text !== '' && !(new Date(text) < new Date()) ? texts.pastOnly : null)}
        />
        <Checkbox isSelected={deleteExtra} onChange={setDeleteExtra} isDisabled={preview.isPending}>
          {texts.deleteExtra}
        </Checkbox>
        {preview.isPending && <Loading label={texts.looking} />}
        {preview.error && <ErrorBox error={preview.error} />}
        <div className="dialog-actions">
          <Button onPress={preview.isPending ? back : onClose}>
            {preview.isPending ? common.stop : common.cancel}
          </Button>
          <Button type="submit" variant="primary" isPending={preview.isPending}>
            {texts.preview}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}

const dayLength = 24 * 60 * 60 * 1000

/** Returns a time as a field of the browser has it: local, to the minute. */
function localMinute(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const icons = { CREATE: 'plus', REPLACE: 'history', DELETE: 'trash' } as const

/** The steps that a job would take, and whether there are any. */
function Steps({
  jobId,
  folder,
  children,
}: {
  jobId: string
  folder: StorageLocation
  children: (hasSteps: boolean) => ReactNode
}) {
  const { query, nodes: steps = [] } = usePages(['restore-steps', jobId], async (after, signal) => {
    const { job } = await ask(RestoreStepsQuery, { id: jobId, after }, { signal })
    return { ...job.restoreSteps, job }
  })
  const job = query.data?.pages[0]?.job
  const isNothing = job?.progress.files === 0 && job.progress.deleted === 0
  return (
    <>
      <LoadState query={query} label={common.loading} />
      {job && (
        <p>
          {job.error === null && (isNothing ? texts.nothing : changesOf(job.progress))}
          {job.progress.failed > 0 && ` ${texts.failed(job.progress.failed)}`}
        </p>
      )}
      {job?.error && <p className="error-box">{errorText(job.error)}</p>}
      {steps.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls
        <ul className="restore-steps" tabIndex={0} aria-label={texts.steps}>
          {steps.map(step => (
            <Step key={`${step.action} ${step.path}`} step={step} folder={folder} />
          ))}
        </ul>
      )}
      <ShowMore query={query} />
      {children(steps.length > 0)}
    </>
  )
}

function Step({
  step: { path, action, isFolder, size, goneAt },
  folder,
}: {
  step: RestoreStep
  folder: StorageLocation
}) {
  const shown = folder.path !== '/' && path.startsWith(`${folder.path}/`) ? path.slice(folder.path.length + 1) : path
  return (
    <li>
      <Icon name={icons[action]} />
      <span>
        <span className="mono">
          {shown}
          {isFolder && '/'}
        </span>
        <span className="help">
          {texts.actions[action]}
          {size !== null && ` · ${formatBytes(size)}`}
          {goneAt !== null && ` · ${texts.goneAt(formatMinute(goneAt))}`}
        </span>
      </span>
    </li>
  )
}

/** How many items come back and are deleted. */
function changesOf({ files, deleted }: { files: number; deleted: number }): string {
  return formatList([
    ...(files > 0 ? [texts.comeBack(files)] : []),
    ...(deleted > 0 ? [texts.areDeleted(deleted)] : []),
  ])
}
