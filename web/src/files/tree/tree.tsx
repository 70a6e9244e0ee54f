/** The storages and their folders in the navigation. Folders load when a person opens the one above. */
import { useState } from 'react'
import { NavLink, useLocation } from 'react-router'
import { childPath, isWithin, type StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { KindIcon } from '../../ui/kind-icon.tsx'
import { providerStatuses } from '../../ui/provider-status.ts'
import { StorageLogo } from '../../ui/storage-logo.tsx'
import { useSubfolders } from '../../ui/subfolders.ts'
import { folderHref } from '../addresses.ts'
import { useProviders } from '../listing.ts'
import type { Provider } from '../operations.ts'
import { useOpenFolder } from './open-folder.ts'
import './tree.css'

/** The maximum number of folders shown in one folder. */
const maxShown = 200

export function StorageTree({ onOpen }: { onOpen: () => void }) {
  const { data: providers = [] } = useProviders()
  const { pathname } = useLocation()
  const openFolder = useOpenFolder()
  // The page of the trash is in the navigation itself.
  const current = pathname.startsWith('/files/') ? openFolder : null
  if (providers.length === 0) return null
  return (
    <section aria-label={texts.sidebar}>
      <h2 className="tree-title">{texts.storages}</h2>
      <ul className="folder-tree">
        {providers.map(provider => (
          <Branch
            key={folderHref(provider.id, provider.root.path)}
            name={provider.name}
            provider={provider}
            folder={{ providerId: provider.id, path: provider.root.path }}
            current={current}
            onOpen={onOpen}
          />
        ))}
      </ul>
    </section>
  )
}

interface BranchProps {
  name: string
  /** Only for the top of a storage. */
  provider?: Provider
  folder: StorageLocation
  current: StorageLocation | null
  onOpen: () => void
}

function Branch({ name, provider, folder, current, onOpen }: BranchProps) {
  const isSameStorage = folder.providerId === current?.providerId
  const isOnWay = isSameStorage && folder.path !== current.path && isWithin(current.path, folder.path)
  // Null follows the open folder.
  const [choice, setChoice] = useState<boolean | null>(null)
  const isExpanded = choice ?? isOnWay
  const isCurrent = isSameStorage && folder.path === current.path
  const trouble = provider && provider.status !== 'CONNECTED' ? providerStatuses[provider.status].title : null
  return (
    <li>
      <div className={`branch${isCurrent ? ' current' : ''}`}>
        <button
          type="button"
          className="icon-button"
          aria-expanded={isExpanded}
          aria-label={texts.foldersIn(name)}
          onClick={() => setChoice(!isExpanded)}
        >
          <Icon name="right" />
        </button>
        <NavLink to={folderHref(folder.providerId, folder.path)} end onClick={onOpen}>
          {provider ? <StorageLogo type={provider.type.type} /> : <KindIcon kind="folder" />}
          <span className="branch-name" dir="auto">
            {name}
          </span>
          {trouble !== null && (
            <span className="branch-trouble" title={trouble}>
              <Icon name="alert" />
              <span className="visually-hidden">, {trouble}</span>
            </span>
          )}
        </NavLink>
      </div>
      {isExpanded && <Branches folder={folder} current={current} onOpen={onOpen} />}
    </li>
  )
}

function Branches({ folder, current, onOpen }: Omit<BranchProps, 'name' | 'provider'>) {
  const { data, error, refetch } = useSubfolders(folder, 30_000)
  if (error && !data) {
    return (
      <p className="tree-note">
        {texts.foldersFailed}{' '}
        <Button variant="quiet" onPress={() => void refetch()}>
          {texts.refresh}
        </Button>
      </p>
    )
  }
  if (!data) return <p className="tree-note">{texts.loadingFolder}</p>
  // The open folder stays visible in a long list.
  const isNeeded = (name: string) => current !== null && isWithin(current.path, childPath(folder.path, name))
  const shown = data.filter((name, index) => index < maxShown || isNeeded(name))
  return (
    <ul className="folder-tree">
      {shown.map(name => (
        <Branch
          key={name}
          name={name}
          folder={{ ...folder, path: childPath(folder.path, name) }}
          current={current}
          onOpen={onOpen}
        />
      ))}
      {data.length === 0 && <li className="tree-note">{texts.noFolders}</li>}
      {data.length > shown.length && <li className="tree-note">{texts.andMore(data.length - shown.length)}</li>}
    </ul>
  )
}
