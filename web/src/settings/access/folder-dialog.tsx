import { useState } from 'react'
import type { StorageLocation } from '../../api/paths.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FolderPicker, type PickableProvider } from '../../ui/folder-picker.tsx'

/**
 * Chooses a folder in one provider.
 * @param storages its topmost folders that the viewer may see
 */
export function FolderDialog({
  name,
  storages,
  onPick,
  onClose,
}: {
  name: string
  storages: readonly PickableProvider[]
  onPick: (path: string) => void
  onClose: () => void
}) {
  const [only] = storages.length === 1 ? storages : []
  const [folder, setFolder] = useState<StorageLocation | null>(
    only ? { providerId: only.id, path: only.root.path } : null,
  )
  return (
    <Dialog title={texts.chooseFolderIn(name)} onClose={onClose}>
      <FolderPicker providers={storages} value={folder} onChange={setFolder} />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.cancel}</Button>
        <Button
          variant="primary"
          isDisabled={!folder}
          onPress={() => {
            if (folder) onPick(folder.path)
            onClose()
          }}
        >
          {texts.useFolder}
        </Button>
      </div>
    </Dialog>
  )
}
