import { Suspense, useEffect } from 'react'
import { useSession } from '../api/session.ts'
import { lazyPart } from '../lib/load-part.ts'
import { cancelDownloads, useDownloads } from './download/archive-download.ts'
import { hasUnfinished } from './upload/unfinished-uploads.ts'
import { useUploadRequested } from './upload/waiting-uploads.ts'

const DownloadPanel = lazyPart(async () => (await import('./download/panel.tsx')).DownloadPanel)

/** Shows the downloads of archives on every page, because they continue while people navigate. */
export function DownloadDock() {
  const downloads = useDownloads()
  // After signing out, nobody sees what the person before has downloaded.
  useEffect(() => cancelDownloads, [])
  return downloads.length > 0 ? (
    <Suspense>
      <DownloadPanel />
    </Suspense>
  ) : null
}

const UploadPanel = lazyPart(async () => (await import('./upload/panel.tsx')).UploadPanel)

/** Shows the upload panel on every page, because uploads continue while people navigate. */
export function UploadDock() {
  const { user } = useSession().viewer
  const wasRequested = useUploadRequested()
  return <Suspense>{(wasRequested || hasUnfinished()) && <UploadPanel key={user.id} userId={user.id} />}</Suspense>
}
