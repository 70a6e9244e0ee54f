import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ask } from '../api/client.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { KindIcon } from '../ui/kind-icon.tsx'
import { LoadState } from '../ui/loading.tsx'
import { ServerFoldersQuery } from './operations.ts'
import '../ui/folder-picker.css'

/** A field for a folder of the server, with a button that lists those that may be chosen. */
export function ServerFolderField({
  type,
  title,
  value,
  onChange,
  children,
}: {
  type: string
  title: string
  value: string
  onChange: (path: string) => void
  /** The text field. */
  children: ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="server-folder">
      {children}
      <Button onPress={() => setOpen(true)}>
        <Icon name="folder" />
        {texts.browse}
      </Button>
      {isOpen && (
        <ServerFolderDialog
          type={type}
          title={title}
          initial={value === '' ? null : value}
          onPick={onChange}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  )
}

function ServerFolderDialog({
  type,
  title,
  initial,
  onPick,
  onClose,
}: {
  type: string
  title: string
  initial: string | null
  onPick: (path: string) => void
  onClose: () => void
}) {
  const [path, setPath] = useState(initial)
  const query = useQuery({
    queryKey: ['server folders', type, path],
    queryFn: ({ signal }) => ask(ServerFoldersQuery, { type, path }, { signal }),
    staleTime: 5000,
    retry: false,
  })
  const listed = query.data?.serverFolders
  return (
    <Dialog title={texts.pickFolder(title)} onClose={onClose}>
      <div className="folder-picker">
        <div className="server-path">
          <Button
            variant="quiet"
            isDisabled={path === null}
            onPress={() => setPath(listed?.parent ?? null)}
            aria-label={texts.folderAbove}
          >
            <Icon name="up" />
          </Button>
          <strong aria-live="polite">{path ?? texts.allowedFolders}</strong>
        </div>
        <div className="picker-content">
          {listed ? (
            <ul className="picker-list" aria-label={texts.foldersHere}>
              {listed.folders.map(folder => (
                <li key={folder.path}>
                  <button type="button" onClick={() => setPath(folder.path)}>
                    <KindIcon kind="folder" />
                    <bdi>{folder.name}</bdi>
                  </button>
                </li>
              ))}
              {listed.folders.length === 0 && <li className="aside-text">{texts.noFoldersHere}</li>}
              {!listed.isComplete && <li className="aside-text">{texts.moreFoldersHere}</li>}
            </ul>
          ) : (
            <LoadState query={query} label={texts.loadingFolders} />
          )}
        </div>
      </div>
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.cancel}</Button>
        <Button
          variant="primary"
          isDisabled={path === null || !listed}
          onPress={() => {
            if (listed?.path) onPick(listed.path)
            onClose()
          }}
        >
          {texts.useThisFolder}
        </Button>
      </div>
    </Dialog>
  )
}
