import { type ReactNode, useId, useState } from 'react'
import type { StorageLocation } from '../../api/paths.ts'
import { storageAt } from '../../api/storages.ts'
import { texts } from '../../texts/jobs.ts'
import { Button } from '../../ui/button.tsx'
import { FolderDialog } from '../../ui/folder-dialog.tsx'
import type { PickableProvider } from '../../ui/folder-picker.tsx'
import './schedules.css'

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
