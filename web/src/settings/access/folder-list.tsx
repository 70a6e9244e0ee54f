import { useRef, useState } from 'react'
import { perRoot } from '../../api/storages.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { FolderDialog } from '../../ui/folder-dialog.tsx'

/** Edits the accessible folders of one storage. There is at least one. */
export function FolderList({
  provider,
  paths,
  onChange,
  hasSeveral,
}: {
  provider: { id: string; name: string; basePaths: readonly string[] }
  paths: readonly string[]
  onChange: (paths: readonly string[]) => void
  hasSeveral: boolean
}) {
  const { name } = provider
  /** The index of the folder that is chosen in the dialog; that of a new one is the length of the list. */
  const [browsing, setBrowsing] = useState<number | null>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  return (
    <>
      {paths.map((path, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a path changes while it is typed
        <div key={index} className="access-path">
          <TextField
            label={texts.folderIn(name, paths.length > 1 ? index + 1 : null)}
            value={path}
            onChange={changed => onChange(paths.with(index, changed))}
            isRequired
          />
          <Button onPress={() => setBrowsing(index)} aria-label={texts.browseStorage(name, index + 1)}>
            {texts.browse}
          </Button>
          {paths.length > 1 && (
            <Button
              onPress={() => {
                onChange(paths.toSpliced(index, 1))
                addButton.current?.focus()
              }}
              aria-label={texts.removeFolder(path, name)}
            >
              {common.remove}
            </Button>
          )}
        </div>
      ))}
      {hasSeveral && (
        <div className="access-add">
          <Button ref={addButton} onPress={() => setBrowsing(paths.length)} aria-label={texts.addFolderIn(name)}>
            {texts.addFolder}
          </Button>
        </div>
      )}
      {browsing !== null && (
        <FolderDialog
          title={texts.chooseFolderIn(name)}
          providers={perRoot([provider])}
          onPick={({ path }) => onChange(browsing < paths.length ? paths.with(browsing, path) : [...paths, path])}
          onClose={() => setBrowsing(null)}
        />
      )}
    </>
  )
}
