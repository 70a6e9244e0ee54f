import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { nameOfPath, type StorageLocation } from '../../api/paths.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/jobs.ts'
import { Checkbox } from '../../ui/checkbox.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { FolderField } from './folder-field.tsx'
import { CreateScheduleMutation, folderProviders, type ListedSchedule, UpdateScheduleMutation } from './operations.ts'
import { cronOf, defaultTimes, ownTimeZone, timesOf } from './times.ts'
import { TimesFields } from './times-fields.tsx'

/** Creates a schedule that syncs a folder. */
export function NewScheduleDialog({ onSaved, onClose }: { onSaved: () => Promise<unknown>; onClose: () => void }) {
  const { data: providers = [], error } = useQuery({
    queryKey: [...queryKeys.providers, 'folders'],
    queryFn: ({ signal }) => folderProviders(signal),
  })
  const [name, setName] = useState('')
  const [source, setSource] = useState<StorageLocation | null>(null)
  const [target, setTarget] = useState<StorageLocation | null>(null)
  const [deleteExtra, setDeleteExtra] = useState(false)
  const [times, setTimes] = useState(defaultTimes)
  const [timeZone, setTimeZone] = useState(ownTimeZone)
  const create = useMutation({
    mutationFn: async () => {
      if (!source || !target) throw new Error(texts.chooseFolders)
      const job = { kind: 'SYNC' as const, sources: [source], target, deleteExtra }
      await ask(CreateScheduleMutation, { input: { name, cron: cronOf(times), timeZone, job } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog title={texts.newSchedule} size="large" action={texts.createSchedule} submit={create} onClose={onClose}>
      {error && <ErrorBox error={error} />}
      <TextField
        label={common.name}
        description={texts.scheduleNameHelp}
        value={name}
        onChange={setName}
        isRequired
        maxLength={200}
        autoFocus
        autoComplete="off"
      />
      <FolderField label={texts.source} providers={providers} value={source} onChange={setSource} />
      <FolderField
        label={texts.target}
        help={source && target && texts.copyPath(copyPath(source, target))}
        providers={providers}
        value={target}
        onChange={setTarget}
      />
      <Checkbox isSelected={deleteExtra} onChange={setDeleteExtra}>
        {texts.deleteExtra}
        <span className="help block">{texts.deleteExtraHelp}</span>
      </Checkbox>
      <TimesFields times={times} onTimes={setTimes} timeZone={timeZone} onTimeZone={setTimeZone} />
    </FormDialog>
  )
}

/** Changes the name and the times of a schedule. */
export function EditScheduleDialog({
  schedule,
  title,
  onSaved,
  onClose,
}: {
  schedule: ListedSchedule
  /** Describes what its jobs do. */
  title: string
  onSaved: () => Promise<unknown>
  onClose: () => void
}) {
  const [name, setName] = useState(schedule.name)
  const [times, setTimes] = useState(timesOf(schedule.cron))
  const [timeZone, setTimeZone] = useState(schedule.timeZone)
  const save = useMutation({
    mutationFn: async () => {
      await ask(UpdateScheduleMutation, { input: { id: schedule.id, name, cron: cronOf(times), timeZone } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={common.editTitle(schedule.name)}
      size="large"
      action={common.save}
      submit={save}
      onClose={onClose}
    >
      <p className="help">{texts.otherFolders(title)}</p>
      <TextField label={common.name} value={name} onChange={setName} isRequired maxLength={200} autoComplete="off" />
      <TimesFields times={times} onTimes={setTimes} timeZone={timeZone} onTimeZone={setTimeZone} />
    </FormDialog>
  )
}

/** Returns where the copy of a folder is. The content of a whole storage goes directly into the target. */
function copyPath(source: StorageLocation, target: StorageLocation): string {
  return source.path === '/' ? target.path : `${target.path === '/' ? '' : target.path}/${nameOfPath(source.path)}`
}
