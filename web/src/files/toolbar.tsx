import { useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { formatCount } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import type { EntryAction } from './actions.ts'
import { type FileSelection, filesOfInput } from './upload/dropped-files.ts'

/** The actions for the folder, or for the selected entries. */
export function Toolbar(props: {
  actions: readonly EntryAction[]
  selectedCount: number
  canWrite: boolean
  filter: string
  isLoading: boolean
  onFilter: (text: string) => void
  onFiles: (files: FileSelection) => void
  onNewFolder: () => void
  onRefresh: () => void
  onClear: () => void
}) {
  const { actions, selectedCount, canWrite, filter, isLoading, onFilter, onFiles, onNewFolder, onRefresh, onClear } =
    props
  if (selectedCount > 0) {
    return (
      <div className="toolbar selection" role="toolbar" aria-label="Selection">
        <button type="button" className="icon-button" aria-label="Clear the selection" onClick={onClear}>
          <Icon name="cross" />
        </button>
        <strong>{formatCount(selectedCount, 'selected', 'selected')}</strong>
        {actions
          .filter(({ id }) => id !== 'open' && id !== 'preview')
          .map(({ id, label, isDanger, run }) => (
            <Button key={id} variant={isDanger ? 'danger' : 'default'} onPress={run}>
              {label}
            </Button>
          ))}
      </div>
    )
  }
  return (
    <div className="toolbar" role="toolbar" aria-label="Folder">
      {canWrite && <UploadButtons onFiles={onFiles} />}
      {canWrite && (
        <Button onPress={onNewFolder}>
          <Icon name="plus" />
          New folder
        </Button>
      )}
      <input
        type="search"
        className="filter"
        aria-label="Filter by name"
        placeholder="Filter by name"
        value={filter}
        onChange={event => onFilter(event.target.value)}
      />
      <Button variant="quiet" className={isLoading ? 'refreshing' : ''} aria-label="Refresh" onPress={onRefresh}>
        <Icon name="refresh" />
      </Button>
    </div>
  )
}

function UploadButtons({ onFiles }: { onFiles: (files: FileSelection) => void }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (input: HTMLInputElement) => {
    if (input.files) onFiles(filesOfInput(input.files))
    // The input is reset so that the same files can be chosen again.
    input.value = ''
  }
  return (
    <>
      <Button variant="primary" onPress={() => files.current?.click()}>
        <Icon name="upload" />
        Upload
      </Button>
      <Button className="upload-folder" onPress={() => folder.current?.click()}>
        <Icon name="folder" />
        Upload folder
      </Button>
      <input
        ref={files}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={event => take(event.currentTarget)}
      />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label="Folder to upload"
        {...{ webkitdirectory: '' }}
        onChange={event => take(event.currentTarget)}
      />
    </>
  )
}
