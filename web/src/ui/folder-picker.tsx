import { useState } from 'react'
import { ancestors, childPath, type StorageLocation, storageAt } from '../api/locations.ts'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'
import './folder-picker.css'
import { common } from '../texts/common.ts'
import { Dialog } from './dialog.tsx'
import { Icon } from './icons.tsx'
import { KindIcon } from './kind-icon.tsx'
import { LoadState } from './loading.tsx'
import { useSubfolders } from './subfolders.ts'

const maxShown = 500
/** Folders with more subfolders than this show a filter. */
const filterThreshold = 15

export interface PickableProvider {
  id: string
  name: string
  /** The topmost folder that the viewer may see. */
  root: { path: string }
}

/** Browses the folders of one or more providers. The folder that is open is the chosen one; null means none yet. */
export function FolderPicker({
  providers,
  value,
  onChange,
}: {
  providers: readonly PickableProvider[]
  value: StorageLocation | null
  onChange: (folder: StorageLocation | null) => void
}) {
  const provider = value ? storageAt(providers, value) : undefined
  return (
    <div className="folder-picker">
      <nav aria-label={texts.chosenFolder} className="breadcrumb">
        <ol>
          {providers.length > 1 && (
            <li>
              <Step label={texts.storages} isCurrent={!provider} onPress={() => onChange(null)} />
            </li>
          )}
          {provider &&
            value &&
            [{ name: provider.name, path: provider.root.path }, ...ancestors(value.path, provider.root.path)].map(
              step => (
                <li key={step.path}>
                  <Step
                    label={step.name}
                    isCurrent={step.path === value.path}
                    onPress={() => onChange({ providerId: provider.id, path: step.path })}
                  />
                </li>
              ),
            )}
        </ol>
      </nav>
      <div className="picker-content">
        {provider && value ? (
          <Subfolders key={`${value.providerId}${value.path}`} folder={value} onOpen={onChange} />
        ) : (
          <ul className="picker-list" aria-label={texts.storages}>
            {providers.map(({ id, name, root }) => (
              <li key={`${id}${root.path}`}>
                <button type="button" onClick={() => onChange({ providerId: id, path: root.path })}>
                  <Icon name="drive" />
                  <bdi>{name}</bdi>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}

function Step({ label, isCurrent, onPress }: { label: string; isCurrent: boolean; onPress: () => void }) {
  return isCurrent ? (
    <strong aria-current="true">{label}</strong>
  ) : (
    <Button variant="quiet" onPress={onPress}>
      {label}
    </Button>
  )
}

function Subfolders({ folder, onOpen }: { folder: StorageLocation; onOpen: (folder: StorageLocation) => void }) {
  const [filter, setFilter] = useState('')
  const query = useSubfolders(folder, 5000)
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingFolders} />
  const matches = filter === '' ? data : data.filter(name => name.toLowerCase().includes(filter.toLowerCase()))
  return (
    <>
      {data.length > filterThreshold && (
        <input
          type="search"
          aria-label={texts.filter}
          placeholder={texts.filter}
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      )}
      <ul className="picker-list" aria-label={texts.folders}>
        {matches.slice(0, maxShown).map(name => (
          <li key={name}>
            <button type="button" onClick={() => onOpen({ ...folder, path: childPath(folder.path, name) })}>
              <KindIcon kind="folder" />
              <bdi>{name}</bdi>
            </button>
          </li>
        ))}
        {matches.length === 0 && <li className="aside-text">{filter === '' ? texts.noSubfolders : texts.noMatches}</li>}
        {matches.length > maxShown && <li className="aside-text">{texts.moreFolders(matches.length - maxShown)}</li>}
      </ul>
    </>
  )
}

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
