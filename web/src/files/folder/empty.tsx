import { useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect, useEffectEvent } from 'react'
import { Link } from 'react-router'
import { StowageError } from '../../api/client.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Details, errorDetails, errorMessage } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import type { Provider } from '../operations.ts'
import { chooseFiles } from '../upload/choose-files.tsx'
import type { View } from '../view.ts'

const AddSample = lazyPart(async () => (await import('./sample.tsx')).AddSample)

/** Shown instead of the table in a folder without entries. */
export function Empty(props: {
  folder: StorageLocation
  isFiltered: boolean
  /** Whether the workspace has no files yet. */
  isStart: boolean
  canWrite: boolean
  onUp: () => void
  onNewFolder: () => void
}) {
  const { folder, isFiltered, isStart, canWrite, onUp, onNewFolder } = props
  const goUp = useEffectEvent(onUp)
  useEffect(() => {
    // An empty folder has no table that handles these keys.
    const onKeyDown = ({ key, altKey }: KeyboardEvent) => {
      const isUp = key === 'Backspace' || (key === 'ArrowUp' && altKey)
      if (isUp && document.activeElement === document.body) goUp()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <div className={isStart ? 'empty start' : 'empty'}>
      {isFiltered ? (
        <p>{texts.noMatches}</p>
      ) : (
        <>
          <Icon name={canWrite ? 'upload' : 'folder'} />
          {canWrite && <p className="empty-title">{texts.dropHere}</p>}
          <p className={canWrite ? '' : 'empty-title'}>{texts.empty}</p>
          {canWrite && (
            <div className="empty-actions">
              <Button variant="primary" onPress={chooseFiles}>
                {texts.chooseFiles}
              </Button>
              <Button onPress={onNewFolder}>{texts.createFolder}</Button>
              <Suspense>{isStart && <AddSample folder={folder} />}</Suspense>
            </div>
          )}
        </>
      )}
    </div>
  )
}

/** Shown in the gallery of a folder without photos. */
export function NoPhotos({ onList }: { onList: () => void }) {
  return (
    <div className="empty">
      <Icon name="image" />
      <p className="empty-title">{texts.noPhotos}</p>
      <Button onPress={onList}>{texts.showList}</Button>
    </div>
  )
}

/** The number of entries in a skeleton, which is more than a window shows. */
const skeletonCount = 24

/** Shown instead of the entries of a folder until they arrive. It has their places, so that nothing moves then. */
export function FolderSkeleton({ view }: { view: View }) {
  return (
    <div className={`folder-skeleton ${view}`} role="progressbar" aria-label={texts.loadingFolder}>
      {Array.from({ length: skeletonCount }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all of them are the same
        <div key={index} className="skeleton-entry">
          <span className="skeleton skeleton-icon" />
          <span className="skeleton" style={{ width: `${30 + ((index * 37) % 45)}%` }} />
        </div>
      ))}
    </div>
  )
}

/** The reasons for errors that concern a storage as a whole. */
const reasons = new Set(['UNAVAILABLE', 'BACK_END_CREDENTIALS', 'NEEDS_RECONNECT'])

export function isStorageTrouble(error: unknown): error is StowageError {
  return error instanceof StowageError && reasons.has(error.reason)
}

/** Says that a storage does not work, and what the person can do. */
export function StorageTrouble({
  provider,
  error,
  retry,
}: {
  provider: Provider
  error: StowageError
  retry: () => unknown
}) {
  const { isAdmin } = usePermissions()
  return (
    <div className="error-box" role="alert">
      <p>
        <strong>{texts.storageDown(provider.name)}</strong>
      </p>
      <p>{isAdmin ? errorMessage(error) : texts.storageDownForMembers}</p>
      {isAdmin && <p>{texts.storageDownForAdministrators}</p>}
      <Details>{errorDetails(error)}</Details>
      <div className="error-actions">
        <Button onPress={() => void retry()}>{common.tryAgain}</Button>
        {isAdmin && (
          <Link className="button" to="/settings/storages">
            {texts.manageStorages}
          </Link>
        )}
      </div>
    </div>
  )
}

/** Milliseconds in which the server stores the status that a call has shown. */
const storingTime = 1000

/** Reads the status of a storage again if a listing shows that it is another one. */
export function useCurrentStatus({ status }: Provider, error: unknown, isListed: boolean): void {
  const client = useQueryClient()
  const isOutdated = isStorageTrouble(error) ? status === 'CONNECTED' : isListed && !error && status === 'UNAVAILABLE'
  useEffect(() => {
    if (!isOutdated) return
    const timer = setTimeout(() => void client.invalidateQueries({ queryKey: queryKeys.providers }), storingTime)
    return () => clearTimeout(timer)
  }, [client, isOutdated])
}
