/** The page of one folder. `folder.tsx` composes its toolbar, table, dialogs and preview. */
import { Fragment } from 'react'
import { Link, Navigate, useLocation, useParams } from 'react-router'
import { urlOf } from '../../api/client.ts'
import { isWithin, nameOfPath, storageAt } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import '../files.css'
import '../tiles.css'
import { folderHref, pathOfHref } from '../addresses.ts'
import { useProviders } from '../listing.ts'
import type { Provider } from '../operations.ts'
import { Folder } from './folder.tsx'

/** Shows the folder that the address names. An address without a path shows the topmost folder that the viewer may see. */
export function FolderPage() {
  const { providerId = '' } = useParams()
  const { pathname } = useLocation()
  const { data: providers, error, refetch } = useProviders()
  const path = pathOfHref(pathname) ?? '/'
  const provider = providers && storageAt(providers, { providerId, path })
  if (error && !providers) {
    return (
      <main className="page">
        <h1>{texts.files}</h1>
        <ErrorBox error={error} retry={refetch} />
      </main>
    )
  }
  if (!providers) return <Loading label={texts.loadingStorages} />
  if (!provider) {
    return (
      <main className="page">
        <h1>{texts.storageNotFound}</h1>
        <p>
          {texts.storageNotFoundHelp(text => (
            <a href={urlOf('/files')}>{text}</a>
          ))}
        </p>
      </main>
    )
  }
  if (!isWithin(path, provider.root.path)) {
    const folders = providers.filter(({ id }) => id === provider.id)
    if (path !== '/') return <Refused folders={folders} path={path} />
    // The list of storages shows all folders of this one.
    return <Navigate to={folders.length > 1 ? '/files' : folderHref(provider.id, provider.root.path)} replace />
  }
  const key = folderHref(provider.id, path)
  return <Folder key={key} provider={provider} providers={providers} path={path} />
}

/** @param folders the accessible ones of the storage */
function Refused({ folders, path }: { folders: readonly Provider[]; path: string }) {
  const links = folders.map(({ id, root }, index) => (
    <Fragment key={root.path}>
      {index > 0 && ', '}
      <Link to={folderHref(id, root.path)} dir="ltr">
        {root.path}
      </Link>
    </Fragment>
  ))
  return (
    <main className="page">
      <PageTitle>{nameOfPath(path)}</PageTitle>
      <h1>{texts.refused}</h1>
      <p>{texts.refusedHelp(links)}</p>
    </main>
  )
}
