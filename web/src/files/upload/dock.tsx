import { lazy, Suspense } from 'react'
import { loadPart } from '../../api/load-part.ts'
import { useSession } from '../../api/session.ts'
import { hasUnfinished } from './unfinished-uploads.ts'
import { useUploadRequested } from './waiting-uploads.ts'

const UploadPanel = lazy(async () => ({ default: (await loadPart(import('./panel.tsx'))).UploadPanel }))

/** Shows the upload panel on every page, because uploads continue while people navigate. */
export function UploadDock() {
  const { user } = useSession().viewer
  const wasRequested = useUploadRequested()
  return <Suspense>{(wasRequested || hasUnfinished()) && <UploadPanel key={user.id} userId={user.id} />}</Suspense>
}
