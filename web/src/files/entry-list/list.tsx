/**
 * Lists of entries of different folders, such as those with a star. It takes the entries, and shows each with its
 * actions.
 */
import { type KeyboardEvent, memo, type ReactNode, Suspense, useCallback, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { isWithin, nameOfPath, parentPath, type StorageLocation, storageAt } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes, formatMinute, formatRecent } from '../../texts/format.ts'
import { endOf } from '../../texts/languages.ts'
import { texts as searchTexts } from '../../texts/search.tsx'
import { Icon } from '../../ui/icons.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { actionsFor } from '../actions.ts'
import { entryHref, folderHref } from '../addresses.ts'
import { downloadEntries } from '../download/download.ts'
import { EntryIcon } from '../entry-icon.tsx'
import type { DialogKind } from '../folder/dialogs.tsx'
import { SelectionBar } from '../folder/toolbar.tsx'
import { useProviders } from '../listing.ts'
import { useToggleStar } from '../marks/operations.ts'
import { StarButton } from '../marks/star-button.tsx'
import { TagLinks } from '../marks/tag-links.tsx'
import { useKeeping } from '../offline/keeping.ts'
import { type Entry, type LocatedEntry, thumbnailOf } from '../operations.ts'
import '../files.css'
import './list.css'

const EntryMenu = lazyPart(async () => (await import('../entry-menu.tsx')).EntryMenu)
const FolderDialog = lazyPart(async () => (await import('../folder/dialogs.tsx')).FolderDialog)

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
  const [dialog, setDialog] = useState<{ entries: readonly LocatedEntry[]; kind: DialogKind } | null>(null)
  const [selectedKeys, setSelectedKeys] = useState<ReadonlySet<string>>(new Set())
  /** Deleted entries, which the catalogue still has. */
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set())
  const shown = entries.filter(entry => !gone.has(keyOf(entry)))
  const selected = shown.filter(entry => selectedKeys.has(keyOf(entry)))
  const [first] = dialog?.entries ?? []
  const provider = first && providers && storageAt(providers, first)

  const toggleStar = useToggleStar(onChanged)
  const keepingOf = useKeeping()
  const actionsOf = (on: readonly LocatedEntry[]) => {
    const [entry] = on
    if (!entry || on.some(({ providerId }) => providerId !== entry.providerId)) return []
    const open = (kind: DialogKind) => () => setDialog({ entries: on, kind })
    const { folder, items } = inFolder(on)
    return actionsFor(on, canWrite, {
      open: () => void navigate(entryHref(entry.providerId, entry)),
      download: () => void downloadEntries(folder, nameOfPath(folder.path), items).catch(notifyError),
      share: open('share'),
      star: () => void toggleStar(folder, items),
      tags: open('tags'),
      rename: open('rename'),
      renameMany: null,
      keep: keepingOf(folder, items),
      move: open('move'),
      copy: open('copy'),
      versions: open('versions'),
      restore: open('restore'),
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
  const onSelect = useCallback(
    (entry: LocatedEntry) => setSelectedKeys(keys => keys.symmetricDifference(new Set([keyOf(entry)]))),
    [],
  )
  const onStar = useCallback(
    (entry: LocatedEntry) => {
      const { folder, items } = inFolder([entry])
      void toggleStar(folder, items)
    },
    [toggleStar],
  )
  const actions = actionsOf(selected)
  return (
    <>
      <ul className="entry-list" aria-label={label} onKeyDown={onKeyDown}>
        {shown.map(entry => (
          <EntryItem
            key={keyOf(entry)}
            entry={entry}
            name={nameOf(entry)}
            isSelected={selectedKeys.has(keyOf(entry))}
            onSelect={onSelect}
            onStar={onStar}
            onMenu={onMenu}
          />
        ))}
      </ul>
      <p className="entry-list-status" role="status">
        {selected.length > 0 && texts.selected(selected.length)}
        {selected.length > 0 && actions.length === 0 && ` · ${searchTexts.oneStorage}`}
      </p>
      {selected.length > 0 && (
        <SelectionBar actions={actions} count={selected.length} onClear={() => setSelectedKeys(new Set())} />
      )}
      <Suspense>
        {menu && (
          <EntryMenu
            at={menu.at}
            actions={actionsOf(menuEntries(menu.entry, selected))}
            onClose={() => setMenu(null)}
          />
        )}
      </Suspense>
      <Suspense>
        {dialog && first && provider && providers && (
          <FolderDialog
            kind={dialog.kind}
            folder={inFolder(dialog.entries).folder}
            entries={inFolder(dialog.entries).items}
            provider={provider}
            providers={providers}
            hrefOf={() => entryHref(first.providerId, first)}
            onChanged={() => {}}
            onDeleted={() => setGone(new Set([...gone, ...dialog.entries.map(keyOf)]))}
            onOther={kind => setDialog({ ...dialog, kind })}
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

/** Returns the entries that a menu is about: all selected ones if it was opened at one of them. */
function menuEntries(entry: LocatedEntry, selected: readonly LocatedEntry[]): readonly LocatedEntry[] {
  return selected.some(each => keyOf(each) === keyOf(entry)) ? selected : [entry]
}

/** Returns entries of one storage by the folder that contains all of them: each name is the path below it. */
function inFolder(entries: readonly LocatedEntry[]): { folder: StorageLocation; items: Entry[] } {
  const providerId = entries[0]?.providerId ?? ''
  let path = parentPath(entries[0]?.path ?? '/')
  for (const entry of entries) while (!isWithin(parentPath(entry.path), path)) path = parentPath(path)
  const start = path === '/' ? 1 : path.length + 1
  return { folder: { providerId, path }, items: entries.map(entry => ({ ...entry, name: entry.path.slice(start) })) }
}

const EntryItem = memo(function EntryItem({
  entry,
  name,
  isSelected,
  onSelect,
  onStar,
  onMenu,
}: {
  entry: LocatedEntry
  name: ReactNode
  isSelected: boolean
  onSelect: (entry: LocatedEntry) => void
  onStar: (entry: LocatedEntry) => void
  onMenu: (entry: LocatedEntry, at: { x: number; y: number }) => void
}) {
  const { providerId, path, storage, note, modifiedAt } = entry
  const size = entry.__typename === 'File' ? entry.size : null
  const folder = parentPath(path)
  return (
    <li
      className={isSelected ? 'selected' : ''}
      onContextMenu={event => {
        event.preventDefault()
        onMenu(entry, { x: event.clientX, y: event.clientY })
      }}
    >
      <label className="entry-check">
        <input
          type="checkbox"
          aria-label={common.actionOn(texts.select, entry.name)}
          checked={isSelected}
          onChange={() => onSelect(entry)}
        />
      </label>
      <EntryIcon entry={entry} thumbnail={thumbnailOf(entry, 128)} />
      <div className="entry-text">
        <Link className="entry-name" to={entryHref(providerId, entry)} dir="auto">
          {name}
        </Link>
        {entry.__typename === 'Folder' && <span className="visually-hidden">, {texts.folder}</span>}
        <Link className="entry-place" to={folderHref(providerId, folder)}>
          {searchTexts.in(storage, folder)}
        </Link>
        {entry.tags && <TagLinks tags={entry.tags} />}
        {note && <p className="entry-note">{note}</p>}
      </div>
      {entry.isStarred !== undefined && (
        <StarButton isStarred={entry.isStarred} onPress={() => onStar(entry)} name={entry.name} />
      )}
      <span className="entry-size">{size !== null && formatBytes(size)}</span>
      <span className="entry-time" title={modifiedAt ? formatMinute(modifiedAt) : undefined}>
        {modifiedAt && formatRecent(modifiedAt)}
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label={common.actionOn(texts.actions, entry.name)}
        onClick={({ currentTarget }) => {
          const box = currentTarget.getBoundingClientRect()
          onMenu(entry, { x: endOf(box), y: box.bottom })
        }}
      >
        <Icon name="more" />
      </button>
    </li>
  )
})
