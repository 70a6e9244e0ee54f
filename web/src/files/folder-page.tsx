import { Link, Navigate, useLocation, useParams } from 'react-router'
import { urlOf } from '../api/base-path.ts'
import { isWithin, nameOfPath } from '../api/paths.ts'
import { texts } from '../texts/files.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page-title.tsx'
import './files.css'
import { folderHref, pathOfHref } from './addresses.ts'
import { Folder } from './folder.tsx'
import type { Provider } from './operations.ts'
import { SidebarFrame } from './sidebar/sidebar-frame.tsx'
import { useProviders } from './use-providers.ts'

/** Shows the folder that the address names. An address without a path shows the topmost folder that the viewer may see. */
export function FolderPage() {
  const { providerId = '' } = useParams()
  const { pathname } = useLocation()
  const { data: providers, error, refetch } = useProviders()
  const provider = providers?.find(({ id }) => id === providerId)
  const path = pathOfHref(pathname) ?? '/'
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
  if (path === '/' && provider.root.path !== '/') {
    return <Navigate to={folderHref(provider.id, provider.root.path)} replace />
  }
  if (!isWithin(path, provider.root.path)) return <Refused provider={provider} path={path} />
  const key = folderHref(provider.id, path)
  return (
    <div className="files-layout">
      <SidebarFrame providers={providers} current={{ providerId: provider.id, path }} />
      <Folder key={key} provider={provider} providers={providers} path={path} />
    </div>
  )
}

function Refused({ provider: { id, name, root }, path }: { provider: Provider; path: string }) {
  return (
    <main className="page">
      <PageTitle>{nameOfPath(path)}</PageTitle>
      <h1>{texts.refused}</h1>
      <p>{texts.refusedHelp(name, <Link to={folderHref(id, root.path)}>{root.path}</Link>)}</p>
    </main>
  )
}
