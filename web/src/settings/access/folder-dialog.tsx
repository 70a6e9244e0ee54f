import { useState } from 'react'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FolderPicker, type PickableProvider } from '../../ui/folder-picker.tsx'

/** Chooses a folder in one provider. */
export function FolderDialog({
  provider,
  onPick,
  onClose,
}: {
  provider: PickableProvider
  onPick: (path: string) => void
  onClose: () => void
}) {
  const [path, setPath] = useState(provider.root.path)
  return (
    <Dialog title={texts.chooseFolderIn(provider.name)} onClose={onClose}>
      <FolderPicker
        providers={[provider]}
        value={{ providerId: provider.id, path }}
        onChange={folder => setPath(folder?.path ?? provider.root.path)}
      />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.cancel}</Button>
        <Button
          variant="primary"
          onPress={() => {
            onPick(path)
            onClose()
          }}
        >
          {texts.useFolder}
        </Button>
      </div>
    </Dialog>
  )
}
