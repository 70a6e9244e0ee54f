import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { ask } from '../../api/client.ts'
import { nameOfPath, type StorageLocation, storageAt } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/jobs.ts'
import { Checkbox } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'
import { CreateScheduleMutation, folderProviders, type ListedSchedule, UpdateScheduleMutation } from './operations.ts'
import { cronOf, defaultTimes, type Frequency, ownTimeZone, type RunTimes, timesOf, weekdayNames } from './times.ts'
import '../jobs.css'
import { Button } from '../../ui/button.tsx'
import { FolderDialog, type PickableProvider } from '../../ui/folder-picker.tsx'

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
      <NameField description={texts.scheduleNameHelp} value={name} onChange={setName} autoFocus />
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
      <NameField value={name} onChange={setName} />
      <TimesFields times={times} onTimes={setTimes} timeZone={timeZone} onTimeZone={setTimeZone} />
    </FormDialog>
  )
}

/** Returns where the copy of a folder is. The content of a whole storage goes directly into the target. */
function copyPath(source: StorageLocation, target: StorageLocation): string {
  return source.path === '/' ? target.path : `${target.path === '/' ? '' : target.path}/${nameOfPath(source.path)}`
}

const frequencies: { value: Frequency; title: string }[] = [
  { value: 'hour', title: texts.frequencies.hour },
  { value: 'day', title: texts.frequencies.day },
  { value: 'week', title: texts.frequencies.week },
  { value: 'month', title: texts.frequencies.month },
  { value: 'custom', title: texts.frequencies.custom },
]

const days = Array.from({ length: 31 }, (_, index) => ({ value: `${index + 1}`, title: `${index + 1}` }))
/** From Monday. */
const weekdays = [1, 2, 3, 4, 5, 6, 0].map(day => ({ value: `${day}`, title: weekdayNames[day] ?? '' }))

/** Chooses when a schedule runs. */
export function TimesFields({
  times,
  onTimes,
  timeZone,
  onTimeZone,
}: {
  times: RunTimes
  onTimes: (times: RunTimes) => void
  timeZone: string
  onTimeZone: (timeZone: string) => void
}) {
  const { frequency, time, weekday, day, cron } = times
  const change = (changes: Partial<RunTimes>) => onTimes({ ...times, ...changes })
  return (
    <>
      <div className="run-times">
        <Select
          label={texts.howOften}
          options={frequencies}
          value={frequency}
          onChange={picked => change({ frequency: picked, cron: cronOf(times) })}
        />
        {frequency === 'week' && (
          <Select
            label={texts.day}
            options={weekdays}
            value={weekday}
            onChange={picked => change({ weekday: picked })}
          />
        )}
        {frequency === 'month' && (
          <Select
            label={texts.dayOfMonth}
            options={days}
            value={day}
            onChange={picked => change({ day: picked })}
            {...(Number(day) > 28 && { description: texts.shortMonths })}
          />
        )}
        {frequency !== 'custom' && frequency !== 'hour' && (
          <TextField
            label={texts.time}
            type="time"
            value={time}
            onChange={picked => change({ time: picked })}
            isRequired
          />
        )}
        {frequency === 'custom' && (
          <TextField
            label={texts.pattern}
            description={texts.patternHelp}
            value={cron}
            onChange={picked => change({ cron: picked })}
            isRequired
            maxLength={200}
            autoComplete="off"
            spellCheck="false"
          />
        )}
      </div>
      <TextField
        label={texts.timeZone}
        description={texts.timeZoneHelp}
        value={timeZone}
        onChange={onTimeZone}
        isRequired
        maxLength={100}
        autoComplete="off"
        spellCheck="false"
      />
    </>
  )
}

/** A folder in any storage, with a button that opens a dialog to choose it. */
export function FolderField({
  label,
  help,
  providers,
  value,
  onChange,
}: {
  label: string
  help?: ReactNode
  providers: readonly PickableProvider[]
  value: StorageLocation | null
  onChange: (folder: StorageLocation) => void
}) {
  const [isChoosing, setChoosing] = useState(false)
  const [labelId, valueId] = [useId(), useId()]
  return (
    <div className="field">
      <span className="label" id={labelId}>
        {label}
      </span>
      <div className="folder-field">
        <span id={valueId}>{value ? describeFolder(value, providers) : texts.noFolder}</span>
        <Button onPress={() => setChoosing(true)} aria-label={texts.chooseFor(label)} aria-describedby={valueId}>
          {texts.choose}
        </Button>
      </div>
      {help && <span className="help">{help}</span>}
      {isChoosing && (
        <FolderDialog
          title={label}
          providers={providers}
          initial={value}
          onPick={onChange}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  )
}

/** Describes a folder: "Disk: /photos". */
function describeFolder(folder: StorageLocation, providers: readonly PickableProvider[]): string {
  return texts.inStorage(storageAt(providers, folder)?.name ?? null, folder.path)
}
