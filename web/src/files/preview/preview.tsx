import { useQueryClient } from '@tanstack/react-query'
import { Fragment, Suspense, useCallback, useMemo, useState } from 'react'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/viewers.ts'
import { updateListing } from '../listing.ts'
import type { Entry, FileEntry } from '../operations.ts'
import { type FileAction, ViewerFrame } from './frame.tsx'
import { Information } from './information.tsx'
import { storedFile } from './source.ts'

const Comments = lazyPart(async () => (await import('../comments/comments.tsx')).Comments)
const DeleteDialog = lazyPart(async () => (await import('../delete-dialog.tsx')).DeleteDialog)
const ShareDialog = lazyPart(async () => (await import('../share/dialog.tsx')).ShareDialog)

const isFile = (entry: Entry): entry is FileEntry => entry.__typename === 'File'

/** Shows a file of a folder over the whole page. */
export function Preview({
  folder,
  entry,
  entries,
  isEditing,
  onShow,
  onDownload,
  onClose,
}: {
  folder: StorageLocation
  entry: FileEntry
  entries: readonly Entry[]
  /** Whether the editor of a text opens at once. */
  isEditing: boolean
  onShow: (name: string) => void
  onDownload: (entry: Entry) => void
  onClose: () => void
}) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const [dialog, setDialog] = useState<'share' | 'delete' | null>(null)
  const files = useMemo(() => entries.filter(isFile), [entries])
  const { providerId } = folder
  const path = childPath(folder.path, entry.name)
  const location = useMemo(() => ({ providerId, path }), [providerId, path])
  const viewedOf = useCallback((file: FileEntry) => storedFile(folder, file), [folder])
  const actions: FileAction[] = [{ label: texts.share, icon: 'share', run: () => setDialog('share') }]
  if (canWrite) actions.push({ label: texts.delete, icon: 'trash', isDanger: true, run: () => setDialog('delete') })
  const close = () => setDialog(null)
  const leave = (deleted: readonly Entry[]) => {
    if (deleted.length === 0) return
    const at = files.findIndex(({ name }) => name === entry.name)
    const beside = files[at + 1] ?? files[at - 1]
    updateListing(client, folder, deleted, [])
    if (beside) onShow(beside.name)
    else onClose()
  }
  return (
    <ViewerFrame
      file={entry}
      files={files}
      viewedOf={viewedOf}
      location={canWrite ? location : null}
      isEditing={isEditing}
      actions={actions}
      information={
        <Fragment key={path}>
          <Information file={viewedOf(entry)} path={path} />
          <Suspense>
            <Comments location={location} />
          </Suspense>
        </Fragment>
      }
      onShow={onShow}
      onDownload={() => onDownload(entry)}
      onClose={onClose}
    >
      <Suspense>
        {dialog === 'share' && <ShareDialog folder={folder} entries={[entry]} onClose={close} />}
        {dialog === 'delete' && (
          <DeleteDialog folder={folder} entries={[entry]} onDeleted={leave} onFailed={() => {}} onClose={close} />
        )}
      </Suspense>
    </ViewerFrame>
  )
}
