import type { IconName } from '../ui/icons.tsx'
import type { Entry } from './operations.ts'
import { previewKind } from './preview/kinds.ts'

export interface EntryAction {
  id: 'open' | 'preview' | 'download' | 'rename' | 'move' | 'copy' | 'delete'
  label: string
  icon?: IconName
  isDanger?: boolean
  run: () => void
}

type Handlers = Record<Exclude<EntryAction['id'], 'open' | 'preview'>, () => void> & { open: (entry: Entry) => void }

/** Returns what the viewer may do with the selected entries. */
export function actionsFor(selected: readonly Entry[], canWrite: boolean, on: Handlers): EntryAction[] {
  const [first] = selected
  if (!first) return []
  const single = selected.length === 1 ? first : null
  const actions: EntryAction[] = []
  if (single?.__typename === 'Folder') actions.push({ id: 'open', label: 'Open', run: () => on.open(single) })
  if (single && previewKind(single)) actions.push({ id: 'preview', label: 'Preview', run: () => on.open(single) })
  const asZip = selected.every(entry => entry.__typename === 'Folder')
  actions.push({ id: 'download', label: asZip ? 'Download as ZIP' : 'Download', icon: 'download', run: on.download })
  if (!canWrite) return actions
  if (single) actions.push({ id: 'rename', label: 'Rename', icon: 'pencil', run: on.rename })
  actions.push(
    { id: 'move', label: 'Move to…', icon: 'move', run: on.move },
    { id: 'copy', label: 'Copy to…', icon: 'copy', run: on.copy },
    { id: 'delete', label: 'Delete', icon: 'trash', isDanger: true, run: on.delete },
  )
  return actions
}
