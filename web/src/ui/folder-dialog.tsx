import { useState } from 'react'
import type { StorageLocation } from '../api/paths.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { FolderPicker, type PickableProvider } from './folder-picker.tsx'

/**
 * Chooses a folder in one of the providers.
 * @param initial the folder that is open at first; by default the root of the only provider
 */
export function FolderDialog({
  title,
  providers,
  initial = null,
  onPick,
  onClose,
}: {
  title: string
  providers: readonly PickableProvider[]
  initial?: StorageLocation | null
  onPick: (folder: StorageLocation) => void
  onClose: () => void
}) {
  const [only] = providers.length === 1 ? providers : []
  const [folder, setFolder] = useState(initial ?? (only ? { providerId: only.id, path: only.root.path } : null))
  return (
    <Dialog title={title} onClose={onClose}>
      <FolderPicker providers={providers} value={folder} onChange={setFolder} />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.cancel}</Button>
        <Button
          variant="primary"
          isDisabled={!folder}
          onPress={() => {
            if (folder) onPick(folder)
            onClose()
          }}
        >
          {texts.useFolder}
        </Button>
      </div>
    </Dialog>
  )
}
