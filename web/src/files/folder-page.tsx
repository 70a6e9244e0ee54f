import { Navigate, useLocation, useParams } from 'react-router'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import './files.css'
import { Folder } from './folder.tsx'
import { useProviders } from './home.tsx'
import { folderHref, pathOfHref } from './paths.ts'

/** The address is the provider's and the path in it; without a path it is the top of what the person reaches. */
export function FolderPage() {
  const { providerId = '' } = useParams()
  const { pathname } = useLocation()
  const { data: providers, error, refetch } = useProviders()
  const provider = providers?.find(({ id }) => id === providerId)
  const path = pathOfHref(pathname) ?? '/'
  if (error && !providers) {
    return (
      <main className="page">
        <h1>Files</h1>
        <ErrorBox error={error} retry={refetch} />
      </main>
    )
  }
  if (!providers) return <Loading label="Reading your storage" />
  if (!provider) {
    return (
      <main className="page">
        <h1>This storage is not there</h1>
        <p>
          It was disconnected, or you do not have access to it. Go to your <a href="/files">files</a>, or ask an
          administrator of this workspace.
        </p>
      </main>
    )
  }
  if (path === '/' && provider.root.path !== '/') {
    return <Navigate to={folderHref(provider.id, provider.root.path)} replace />
  }
  const key = folderHref(provider.id, path)
  return <Folder key={key} provider={provider} providers={providers} path={path} />
}
