import { useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { formatCount } from '../ui/format.ts'
import type { Action } from './actions.ts'
import { Icon } from './icons.tsx'
import { filesOfInput, type Given } from './upload/dropped-files.ts'

/** What can be done with the folder, or with what is chosen in it. */
export function Toolbar(props: {
  actions: readonly Action[]
  chosenCount: number
  canWrite: boolean
  filter: string
  isReading: boolean
  onFilter: (text: string) => void
  onGiven: (given: Given) => void
  onNewFolder: () => void
  onRefresh: () => void
  onClear: () => void
}) {
  const { actions, chosenCount, canWrite, filter, isReading, onFilter, onGiven, onNewFolder, onRefresh, onClear } =
    props
  if (chosenCount > 0) {
    return (
      <div className="toolbar selection" role="toolbar" aria-label="Selection">
        <button type="button" className="icon-button" aria-label="Clear the selection" onClick={onClear}>
          <Icon name="cross" />
        </button>
        <strong>{formatCount(chosenCount, 'selected', 'selected')}</strong>
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
      {canWrite && <UploadButtons onGiven={onGiven} />}
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
      <Button variant="quiet" className={isReading ? 'turning' : ''} aria-label="Read again" onPress={onRefresh}>
        <Icon name="refresh" />
      </Button>
    </div>
  )
}

function UploadButtons({ onGiven }: { onGiven: (given: Given) => void }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (input: HTMLInputElement) => {
    if (input.files) onGiven(filesOfInput(input.files))
    // The same files may be chosen again.
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
