import { type KeyboardEvent, memo, type ReactNode, Suspense, useCallback, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { nameOfPath, parentPath, storageAt } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes, formatMinute, formatRecent } from '../../texts/format.ts'
import { texts as searchTexts } from '../../texts/search.tsx'
import { Icon } from '../../ui/icons.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { actionsFor } from '../actions.ts'
import { entryHref, folderHref } from '../addresses.ts'
import { downloadEntries } from '../download/download.ts'
import { EntryIcon } from '../entry-icon.tsx'
import type { DialogKind } from '../folder/dialogs.tsx'
import { useProviders } from '../listing.ts'
import { type Entry, thumbnailOf } from '../operations.ts'
import '../files.css'
import './list.css'

const EntryMenu = lazyPart(async () => (await import('../entry-menu.tsx')).EntryMenu)
const FolderDialog = lazyPart(async () => (await import('../folder/dialogs.tsx')).FolderDialog)

/** An entry of any folder. */
export type LocatedEntry = Entry & { providerId: string; path: string; storage: string; note?: ReactNode }

const keyOf = ({ providerId, path }: LocatedEntry) => `${providerId}${path}`

/**
 * A list of entries of different folders, with the actions of the file list in a menu. The arrow keys move between the names.
 * @param onChanged called after an action that may have changed entries
 */
export function EntryList({
  label,
  entries,
  nameOf = ({ name }) => name,
  onChanged,
}: {
  label: string
  entries: readonly LocatedEntry[]
  nameOf?: (entry: LocatedEntry) => ReactNode
  onChanged: () => void
}) {
  const { canWrite } = usePermissions()
  const { data: providers } = useProviders()
  const navigate = useNavigate()
  const [menu, setMenu] = useState<{ entry: LocatedEntry; at: { x: number; y: number } } | null>(null)
  const [dialog, setDialog] = useState<{ entry: LocatedEntry; kind: DialogKind } | null>(null)
  /** Deleted entries, which the catalogue still has. */
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set())
  const shown = entries.filter(entry => !gone.has(keyOf(entry)))
  const provider = dialog && providers && storageAt(providers, dialog.entry)

  const actionsOf = (entry: LocatedEntry) => {
    const open = (kind: DialogKind) => () => setDialog({ entry, kind })
    const folder = { providerId: entry.providerId, path: parentPath(entry.path) }
    return actionsFor([entry], canWrite, {
      open: () => void navigate(entryHref(entry.providerId, entry)),
      download: () => void downloadEntries(folder, nameOfPath(folder.path), [entry]).catch(notifyError),
      share: open('share'),
      rename: open('rename'),
      move: open('move'),
      copy: open('copy'),
      details: open('details'),
      delete: open('delete'),
    })
  }
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    const links = [...event.currentTarget.querySelectorAll<HTMLElement>('.entry-name')]
    const at = links.findIndex(link => link.closest('li')?.contains(document.activeElement))
    links[at + step]?.focus()
    if (links[at + step]) event.preventDefault()
  }
  const onMenu = useCallback((entry: LocatedEntry, at: { x: number; y: number }) => setMenu({ entry, at }), [])
  return (
    <>
      <ul className="entry-list" aria-label={label} onKeyDown={onKeyDown}>
        {shown.map(entry => (
          <EntryItem key={keyOf(entry)} entry={entry} name={nameOf(entry)} onMenu={onMenu} />
        ))}
      </ul>
      <Suspense>
        {menu && <EntryMenu at={menu.at} actions={actionsOf(menu.entry)} onClose={() => setMenu(null)} />}
      </Suspense>
      <Suspense>
        {dialog && provider && providers && (
          <FolderDialog
            kind={dialog.kind}
            folder={{ providerId: dialog.entry.providerId, path: parentPath(dialog.entry.path) }}
            entries={[dialog.entry]}
            provider={provider}
            providers={providers}
            hrefOf={() => entryHref(dialog.entry.providerId, dialog.entry)}
            onChanged={() => {}}
            onDeleted={() => setGone(new Set([...gone, keyOf(dialog.entry)]))}
            onClose={() => {
              setDialog(null)
              if (dialog.kind !== 'details' && dialog.kind !== 'share') onChanged()
            }}
          />
        )}
      </Suspense>
    </>
  )
}

const EntryItem = memo(function EntryItem({
  entry,
  name,
  onMenu,
}: {
  entry: LocatedEntry
  name: ReactNode
  onMenu: (entry: LocatedEntry, at: { x: number; y: number }) => void
}) {
  const { providerId, path, storage, note, modifiedAt } = entry
  const size = entry.__typename === 'File' ? entry.size : null
  const folder = parentPath(path)
  return (
    <li
      onContextMenu={event => {
        event.preventDefault()
        onMenu(entry, { x: event.clientX, y: event.clientY })
      }}
    >
      <EntryIcon entry={entry} thumbnail={thumbnailOf(entry, 128)} />
      <div className="entry-text">
        <Link className="entry-name" to={entryHref(providerId, entry)}>
          {name}
        </Link>
        {entry.__typename === 'Folder' && <span className="visually-hidden">, {texts.folder}</span>}
        <Link className="entry-place" to={folderHref(providerId, folder)}>
          {searchTexts.in(storage, folder)}
        </Link>
        {note && <p className="entry-note">{note}</p>}
      </div>
      <span className="entry-size">{size !== null && formatBytes(size)}</span>
      <span className="entry-time" title={modifiedAt ? formatMinute(modifiedAt) : undefined}>
        {modifiedAt && formatRecent(modifiedAt)}
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label={common.actionOn(texts.actions, entry.name)}
        onClick={({ currentTarget }) => {
          const { right, bottom } = currentTarget.getBoundingClientRect()
          onMenu(entry, { x: right, y: bottom })
        }}
      >
        <Icon name="more" />
      </button>
    </li>
  )
})
