import { texts } from '../texts/files.tsx'
import { texts as markTexts } from '../texts/marks.ts'
import { texts as offlineTexts } from '../texts/offline.ts'
import type { MenuAction } from '../ui/menu.tsx'
import { notify } from '../ui/toasts.tsx'
import type { Keeping } from './offline/keeping.ts'
import type { Entry } from './operations.ts'
import { previewKind } from './preview/file-types.ts'

export interface EntryAction extends MenuAction {
  id:
    | 'open'
    | 'preview'
    | 'download'
    | 'share'
    | 'keep'
    | 'star'
    | 'tags'
    | 'rename'
    | 'rename-many'
    | 'move'
    | 'copy'
    | 'versions'
    | 'restore'
    | 'details'
    | 'delete'
}

type Handlers = Record<Exclude<EntryAction['id'], 'open' | 'preview' | 'rename-many' | 'keep'>, () => void> & {
  open: (entry: Entry) => void
  /** Null where the entries are not those of one folder. */
  renameMany: (() => void) | null
  /** Null for folders, and where the browser keeps nothing. */
  keep: Keeping | null
}

/** The number of entries that can be renamed at once. */
const maxRenamed = 1000

/** Returns what the viewer may do with the selected entries. */
export function actionsFor(selected: readonly Entry[], canWrite: boolean, on: Handlers): EntryAction[] {
  const [first] = selected
  if (!first) return []
  const single = selected.length === 1 ? first : null
  const actions: EntryAction[] = []
  if (single?.__typename === 'Folder') actions.push({ id: 'open', label: texts.open, run: () => on.open(single) })
  if (single && previewKind(single)) actions.push({ id: 'preview', label: texts.preview, run: () => on.open(single) })
  const asZip = selected.length > 1 || first.__typename === 'Folder'
  actions.push({
    id: 'download',
    label: asZip ? texts.downloadZip : texts.download,
    icon: 'download',
    run: on.download,
  })
  actions.push({ id: 'share', label: texts.share, icon: 'link', run: on.share })
  const keep: EntryAction[] = on.keep
    ? [
        {
          id: 'keep',
          label: on.keep.isKept ? offlineTexts.remove : offlineTexts.keep,
          icon: 'offline',
          run: on.keep.run,
        },
      ]
    : []
  const isStarred = selected.every(entry => entry.isStarred)
  const star: EntryAction = {
    id: 'star',
    label: isStarred ? markTexts.removeStar : markTexts.addStar,
    icon: 'star',
    run: on.star,
  }
  const versions: EntryAction[] =
    single?.__typename === 'File' ? [{ id: 'versions', label: texts.versions, icon: 'history', run: on.versions }] : []
  const details: EntryAction = { id: 'details', label: texts.details, icon: 'info', run: on.details }
  if (!canWrite) return [...actions, ...keep, star, ...(single ? [...versions, details] : [])]
  if (single) actions.push({ id: 'rename', label: texts.rename, icon: 'pencil', run: on.rename })
  else if (on.renameMany) {
    const run = selected.length > maxRenamed ? () => notify(texts.tooManyToRename(maxRenamed)) : on.renameMany
    actions.push({ id: 'rename-many', label: texts.rename, icon: 'pencil', run })
  }
  actions.push(
    { id: 'move', label: texts.move, icon: 'move', run: on.move },
    { id: 'copy', label: texts.copy, icon: 'copy', run: on.copy },
    ...keep,
    star,
    { id: 'tags', label: markTexts.editTags, icon: 'tag', run: on.tags },
    ...versions,
    ...(single?.__typename === 'Folder'
      ? [{ id: 'restore', label: texts.restoreFolder, icon: 'history', run: on.restore } as const]
      : []),
    ...(single ? [details] : []),
    { id: 'delete', label: texts.delete, icon: 'trash', isDanger: true, run: on.delete },
  )
  return actions
}
