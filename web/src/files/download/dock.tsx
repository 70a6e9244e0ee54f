import { lazy, Suspense, useEffect } from 'react'
import { loadPart } from '../../api/load-part.ts'
import { cancelDownloads, useDownloads } from './archive-download.ts'

const DownloadPanel = lazy(async () => ({ default: (await loadPart(import('./panel.tsx'))).DownloadPanel }))

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
