import { lazy, Suspense } from 'react'
import { fetched } from '../../app/fetched.ts'
import { useSession } from '../../app/use-session.ts'
import { hasUnfinished } from './memory.ts'
import { useUploadsWanted } from './waiting-uploads.ts'

const UploadPanel = lazy(async () => ({ default: (await fetched(import('./panel.tsx'))).UploadPanel }))

/** Shows the upload panel on every page, because uploads continue while people navigate. */
export function UploadDock() {
  const { user } = useSession().viewer
  const isWanted = useUploadsWanted()
  return isWanted || hasUnfinished() ? (
    <Suspense>
      <UploadPanel key={user.id} userId={user.id} />
    </Suspense>
  ) : null
}
