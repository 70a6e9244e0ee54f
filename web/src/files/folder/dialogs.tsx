import { useQueryClient } from '@tanstack/react-query'
import { urlOf } from '../../api/client.ts'
import { childPath, type StorageLocation, validateName } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { texts as trashTexts } from '../../texts/trash.tsx'
import { NameDialog } from '../../ui/dialog.tsx'
import { DeleteDialog } from '../delete-dialog.tsx'
import type { DroppedEntries } from '../dragging.ts'
import { updateListing, useRefreshFolder } from '../listing.ts'
import { createFolder, type Entry, type Provider, rename } from '../operations.ts'
import { offerUndo } from '../undo.ts'

const NewFileDialog = lazyPart(async () => (await import('../create/new-file-dialog.tsx')).NewFileDialog)
const TransferDialog = lazyPart(async () => (await import('../transfer-dialog.tsx')).TransferDialog)
const DetailsDialog = lazyPart(async () => (await import('../details/dialog.tsx')).DetailsDialog)
const KeyboardHelp = lazyPart(async () => (await import('../keyboard-help.tsx')).KeyboardHelp)
const RestoreFolderDialog = lazyPart(async () => (await import('../restore/restore-dialog.tsx')).RestoreFolderDialog)
const TagsDialog = lazyPart(async () => (await import('../marks/tags-dialog.tsx')).TagsDialog)
const RenameManyDialog = lazyPart(async () => (await import('../rename/rename-dialog.tsx')).RenameManyDialog)
const ShareDialog = lazyPart(async () => (await import('../share/dialog.tsx')).ShareDialog)
const VersionsPanel = lazyPart(async () => (await import('../versions/panel.tsx')).VersionsPanel)

export type DialogKind =
  | 'new-file'
  | 'new-folder'
  | 'share'
  | 'tags'
  | 'rename'
  | 'rename-many'
  | 'move'
  | 'copy'
  | 'delete'
  | 'versions'
  | 'restore'
  | 'details'
  | 'keyboard'

interface FolderDialogProps {
  kind: DialogKind
  folder: StorageLocation
  /** The selected entries. They may go while a dialog moves or deletes them. */
  entries: readonly Entry[]
  provider: Provider
  providers: readonly Provider[]
  hrefOf: (entry: Entry) => string
  /** Called with an entry that was created or renamed. */
  onChanged: (entry: Entry) => void
  /** Called with several entries that have new names. */
  onRenamedMany?: (done: readonly { entry: Entry; name: string }[]) => void
  /** Called when entries were deleted, or a job deletes them. */
  onDeleted?: () => void
  /** Shows another dialog about the same entries. */
  onOther: (kind: DialogKind) => void
  onClose: () => void
}

/** A dialog about a folder or its selected entries. Suspends while its code loads. */
export function FolderDialog({
  kind,
  folder,
  entries,
  provider,
  providers,
  hrefOf,
  onChanged,
  onRenamedMany = () => {},
  onDeleted,
  onOther,
  onClose,
}: FolderDialogProps) {
  const client = useQueryClient()
  const refresh = useRefreshFolder()
  const [first] = entries
  if (kind === 'keyboard') return <KeyboardHelp onClose={onClose} />
  if (kind === 'new-folder') return <NewFolderDialog folder={folder} onCreated={onChanged} onClose={onClose} />
  if (kind === 'new-file') return <NewFileDialog folder={folder} onCreated={onChanged} onClose={onClose} />
  if (kind === 'share') return <ShareDialog folder={folder} entries={entries} onClose={onClose} />
  if (kind === 'tags') return <TagsDialog folder={folder} entries={entries} onClose={onClose} />
  if (kind === 'rename') {
    return first && <RenameDialog folder={folder} entry={first} onRenamed={onChanged} onClose={onClose} />
  }
  if (kind === 'rename-many') {
    return <RenameManyDialog folder={folder} entries={entries} onRenamed={onRenamedMany} onClose={onClose} />
  }
  if (kind === 'details') {
    const details = { folder, storage: provider.name, onVersions: () => onOther('versions'), onClose }
    return first && <DetailsDialog {...details} entry={first} href={urlOf(hrefOf(first))} />
  }
  if (kind === 'versions') {
    return first && <VersionsPanel file={{ ...folder, path: childPath(folder.path, first.name) }} onClose={onClose} />
  }
  if (kind === 'restore') {
    const restored = first && { ...folder, path: childPath(folder.path, first.name) }
    return restored && <RestoreFolderDialog folder={restored} storage={provider.name} onClose={onClose} />
  }
  if (kind === 'delete') {
    return (
      <DeleteDialog
        folder={folder}
        entries={entries}
        onDeleted={deleted => {
          updateListing(client, folder, deleted, [])
          void client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
          if (deleted.length > 0) onDeleted?.()
        }}
        // The folder may have changed meanwhile.
        onFailed={() => void refresh(folder)}
        onClose={onClose}
      />
    )
  }
  return (
    <TransferDialog
      kind={kind}
      folder={folder}
      entries={entries}
      providers={providers}
      target={null}
      onDone={destination => void refresh(folder, destination)}
      onClose={onClose}
    />
  )
}

/** Asks about a move or a copy that began with dragged entries. Suspends while its code loads. */
export function DropDialog({
  dropped,
  providers,
  onClose,
}: {
  dropped: DroppedEntries
  providers: readonly Provider[]
  onClose: () => void
}) {
  const refresh = useRefreshFolder()
  return (
    <TransferDialog
      {...dropped}
      providers={providers}
      onDone={destination => void refresh(dropped.folder, destination)}
      onClose={onClose}
    />
  )
}

function NewFolderDialog({
  folder,
  onCreated,
  onClose,
}: {
  folder: StorageLocation
  onCreated: (entry: Entry) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  return (
    <NameDialog
      title={texts.newFolder}
      action={common.create}
      validate={validateName}
      onSubmit={async name => {
        await createFolder({ ...folder, path: childPath(folder.path, name) })
        const created: Entry = { __typename: 'Folder', name, modifiedAt: null }
        updateListing(client, folder, [], [created])
        onCreated(created)
        await client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
      }}
      onClose={onClose}
    />
  )
}

function RenameDialog({
  folder,
  entry,
  onRenamed,
  onClose,
}: {
  folder: StorageLocation
  entry: Entry
  onRenamed: (entry: Entry) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  return (
    <NameDialog
      title={common.renameTitle(entry.name)}
      label={texts.newName}
      action={common.rename}
      validate={validateName}
      initial={entry.name}
      onSubmit={async name => {
        const newName = await rename({ ...folder, path: childPath(folder.path, entry.name) }, name)
        const renamed = { ...entry, name: newName }
        updateListing(client, folder, [entry], [renamed])
        onRenamed(renamed)
        void client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
        const undo = () => rename({ ...folder, path: childPath(folder.path, newName) }, entry.name)
        offerUndo(client, trashTexts.renamed(newName), [folder], [undo])
      }}
      onClose={onClose}
    />
  )
}
