/** The sidebar beside the files: storages, folders, recent files, and the size of the open folder. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, NavLink } from 'react-router'
import { childPath, isWithin, parentPath, type StorageLocation } from '../../api/locations.ts'
import { useSession } from '../../api/session.ts'
import { texts } from '../../texts/files.tsx'
import { texts as insightTexts } from '../../texts/insight.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { useSubfolders } from '../../ui/subfolders.ts'
import { folderHref, insightHref } from '../addresses.ts'
import { folderUsage, type Provider } from '../operations.ts'
import { useRecentFiles } from './recent-files.ts'
import './sidebar.css'

/** The maximum number of folders shown in one folder. */
const maxShown = 200

/** Storages with their folders, the files that were opened last, and the size of the open folder. */
export function Sidebar({
  providers,
  current,
  onOpen,
}: {
  providers: readonly Provider[]
  current: StorageLocation
  /** Called when the person goes elsewhere. */
  onOpen: () => void
}) {
  return (
    <nav className="sidebar" aria-label={texts.sidebar}>
      <ul className="folder-tree">
        {providers.map(provider => (
          <Branch
            key={folderHref(provider.id, provider.root.path)}
            name={provider.name}
            icon="drive"
            folder={{ providerId: provider.id, path: provider.root.path }}
            current={current}
            onOpen={onOpen}
          />
        ))}
      </ul>
      <RecentFiles providers={providers} onOpen={onOpen} />
      <FolderSize key={folderHref(current.providerId, current.path)} folder={current} />
    </nav>
  )
}

interface BranchProps {
  name: string
  icon: 'drive' | 'folder'
  folder: StorageLocation
  current: StorageLocation
  onOpen: () => void
}

function Branch({ name, icon, folder, current, onOpen }: BranchProps) {
  const isOnWay =
    folder.providerId === current.providerId && folder.path !== current.path && isWithin(current.path, folder.path)
  // Null follows the open folder.
  const [choice, setChoice] = useState<boolean | null>(null)
  const isExpanded = choice ?? isOnWay
  const isCurrent = folder.providerId === current.providerId && folder.path === current.path
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
          <Icon name={isExpanded ? 'down' : 'right'} />
        </button>
        <NavLink to={folderHref(folder.providerId, folder.path)} end onClick={onOpen}>
          <Icon name={icon} />
          <span>{name}</span>
        </NavLink>
      </div>
      {isExpanded && <Branches folder={folder} current={current} onOpen={onOpen} />}
    </li>
  )
}

function Branches({ folder, current, onOpen }: Omit<BranchProps, 'name' | 'icon'>) {
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
  const isNeeded = (name: string) => isWithin(current.path, childPath(folder.path, name))
  const shown = data.filter((name, index) => index < maxShown || isNeeded(name))
  return (
    <ul className="folder-tree">
      {shown.map(name => (
        <Branch
          key={name}
          name={name}
          icon="folder"
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

function RecentFiles({ providers, onOpen }: { providers: readonly Provider[]; onOpen: () => void }) {
  const { user } = useSession().viewer
  const files = useRecentFiles(user.id).filter(file => providers.some(({ id }) => id === file.providerId))
  if (files.length === 0) return null
  return (
    <section aria-label={texts.recentFiles}>
      <h2>{texts.recentFiles}</h2>
      <ul className="recent-files">
        {files.map(({ providerId, path, name }) => (
          <li key={`${providerId}${path}`}>
            <Link
              to={`${folderHref(providerId, parentPath(path))}?file=${encodeURIComponent(name)}`}
              title={path}
              onClick={onOpen}
            >
              <Icon name="file" />
              <span>{name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Counting can list thousands of folders, so the person asks for it. */
function FolderSize({ folder }: { folder: StorageLocation }) {
  const [isAsked, setAsked] = useState(false)
  const { data, error, isFetching } = useQuery({
    queryKey: ['usage', folder],
    queryFn: ({ signal }) => folderUsage(folder, signal),
    enabled: isAsked,
    gcTime: 0,
  })
  return (
    <section aria-label={texts.folderSize}>
      <h2>{texts.folderSize}</h2>
      {!isAsked && <Button onPress={() => setAsked(true)}>{texts.count}</Button>}
      <p role="status">
        {isFetching && texts.counting}
        {error && !isFetching && texts.usageUnknown}
        {data && !isFetching && texts.usage(data)}
      </p>
      <Link className="sidebar-link" to={insightHref(folder)}>
        <Icon name="chart" />
        {insightTexts.show}
      </Link>
    </section>
  )
}
