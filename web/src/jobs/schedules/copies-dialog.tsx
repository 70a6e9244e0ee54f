import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/copies.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { CreateScheduleMutation, folderProviders } from './operations.ts'
import { FolderField, TimesFields } from './schedule-dialog.tsx'
import { cronOf, defaultTimes, ownTimeZone } from './times.ts'

const maxCopies = 4

/** Creates a schedule that keeps copies of a folder. */
export function NewCopiesDialog({ onSaved, onClose }: { onSaved: () => Promise<unknown>; onClose: () => void }) {
  const { data: providers = [], error } = useQuery({
    queryKey: [...queryKeys.providers, 'folders'],
    queryFn: ({ signal }) => folderProviders(signal),
  })
  const [name, setName] = useState('')
  const [folder, setFolder] = useState<StorageLocation | null>(null)
  const [copies, setCopies] = useState<readonly (StorageLocation | null)[]>([null])
  const [repair, setRepair] = useState(true)
  const [deleteExtra, setDeleteExtra] = useState(false)
  const [recheckDays, setRecheckDays] = useState('30')
  const [times, setTimes] = useState(defaultTimes)
  const [timeZone, setTimeZone] = useState(ownTimeZone)
  const keepsNothing = (copy: StorageLocation | null) => {
    const versions = providers.find(({ id }) => id === copy?.providerId)?.versions
    return versions !== undefined && versions.count === 0 && !versions.isNative
  }
  const create = useMutation({
    mutationFn: async () => {
      const sources = [folder, ...copies].filter(each => each !== null)
      if (sources.length <= copies.length) throw new Error(texts.chooseFolders)
      const job = { kind: 'KEEP_COPIES' as const, sources, repair, deleteExtra, recheckDays: Number(recheckDays) }
      await ask(CreateScheduleMutation, { input: { name, cron: cronOf(times), timeZone, job } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog title={texts.newCopies} size="large" action={texts.create} submit={create} onClose={onClose}>
      {error && <ErrorBox error={error} />}
      <NameField description={texts.nameHelp} value={name} onChange={setName} autoFocus />
      <FolderField label={texts.folder} providers={providers} value={folder} onChange={setFolder} />
      {copies.map((copy, index) => (
        <FolderField
          // biome-ignore lint/suspicious/noArrayIndexKey: copies are only added at the end
          key={index}
          label={texts.copy(index + 1)}
          help={keepsNothing(copy) ? texts.keepsNothing : index === 0 && texts.copyHelp}
          providers={providers}
          value={copy}
          onChange={picked => setCopies(copies.with(index, picked))}
        />
      ))}
      {copies.length < maxCopies && <Button onPress={() => setCopies([...copies, null])}>{texts.addCopy}</Button>}
      <Checkbox isSelected={repair} onChange={setRepair}>
        {texts.repair}
        <span className="help block">{texts.repairHelp}</span>
      </Checkbox>
      <Checkbox isSelected={deleteExtra} onChange={setDeleteExtra}>
        {texts.deleteExtra}
        <span className="help block">{texts.deleteExtraHelp}</span>
      </Checkbox>
      <TextField
        label={texts.recheckDays}
        description={texts.recheckDaysHelp}
        type="number"
        value={recheckDays}
        onChange={setRecheckDays}
        isRequired
      />
      <TimesFields times={times} onTimes={setTimes} timeZone={timeZone} onTimeZone={setTimeZone} />
    </FormDialog>
  )
}
