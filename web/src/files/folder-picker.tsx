import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import './files.css'
import { Icon } from './icons.tsx'
import { listSubfolders, type Place } from './operations.ts'
import { ancestors, childPath, folderHref } from './paths.ts'

const shown = 500
const collator = new Intl.Collator(undefined, { numeric: true })

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
  value: Place | null
  onChange: (place: Place | null) => void
}) {
  const provider = providers.find(({ id }) => id === value?.providerId)
  return (
    <div className="folder-picker">
      <nav aria-label="Chosen folder" className="breadcrumb">
        <ol>
          {providers.length > 1 && (
            <li>
              <Step label="Storage" isCurrent={!provider} onPress={() => onChange(null)} />
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
      {provider && value ? (
        <Subfolders key={folderHref(value.providerId, value.path)} place={value} onChange={onChange} />
      ) : (
        <ul className="picker-list">
          {providers.map(({ id, name, root }) => (
            <li key={id}>
              <button type="button" onClick={() => onChange({ providerId: id, path: root.path })}>
                <Icon name="drive" />
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
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

function Subfolders({ place, onChange }: { place: Place; onChange: (place: Place) => void }) {
  const [filter, setFilter] = useState('')
  const { data, error, refetch } = useQuery({
    queryKey: ['subfolders', place.providerId, place.path],
    queryFn: async ({ signal }) => (await listSubfolders(place, signal)).sort(collator.compare),
  })
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label="Reading folders" />
  const found = filter === '' ? data : data.filter(name => name.toLowerCase().includes(filter.toLowerCase()))
  return (
    <>
      {data.length > 15 && (
        <input
          type="search"
          aria-label="Filter folders"
          placeholder="Filter"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      )}
      <ul className="picker-list" aria-label="Folders">
        {found.slice(0, shown).map(name => (
          <li key={name}>
            <button type="button" onClick={() => onChange({ ...place, path: childPath(place.path, name) })}>
              <Icon name="folder" />
              {name}
            </button>
          </li>
        ))}
        {found.length === 0 && <li className="aside-text">No folders in here.</li>}
        {found.length > shown && <li className="aside-text">… and {found.length - shown} more: filter by name.</li>}
      </ul>
    </>
  )
}
