import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** Undoing a change, and the trash of a storage. */
export const texts = catalog('trash', {
  undo: 'Undo',
  undone: 'Undone',
  renamed: (name: string) => `Renamed to “${name}”`,
  noUndo: 'A job moves these items, so you cannot undo the move.',
  deletedItems: (count: number) => `${formatCount(count, 'item')} deleted`,
  staysInTrash: (days: number) => `You can restore it from the trash for ${formatCount(days, 'day')}.`,
  stayInTrash: (days: number) => `You can restore them from the trash for ${formatCount(days, 'day')}.`,

  // The page
  trash: 'Trash',
  trashOf: (storage: string) => `Trash of ${storage}`,
  loading: 'Loading the trash',
  noStorage: 'There is no storage yet.',
  empty: 'The trash is empty',
  emptyHelp: (days: number) =>
    days === 0 ? 'This storage deletes files at once.' : `Deleted files stay here for ${formatCount(days, 'day')}.`,
  backTo: (storage: ReactNode) => <>Back to {storage}</>,
  deletedBy: (time: ReactNode, person: string | null) => (
    <>
      Deleted {time}
      {person !== null && ` by ${person}`}
    </>
  ),
  keptUntil: (day: ReactNode) => <>kept until {day}</>,
  restore: 'Restore',
  restored: (path: string) => `Restored to ${path}`,
  emptyTrash: 'Empty trash',
  emptyTitle: 'Empty the trash?',
  emptyWarning: 'Everything in the trash is deleted for good.',
  emptied: 'The trash is empty',

  // The form of a storage
  days: 'Days in the trash (optional)',
  daysHelp: (usual: number | null) =>
    `Deleted files can be restored for this time, and use space until then. With 0, files are deleted at once. If you leave this blank, ${usual === null ? 'the server decides' : `files stay for ${formatCount(usual, 'day')}`}.`,
  costs:
    'This storage copies every file that is deleted. Deleting takes as long as copying, and the storage may charge for the copies.',
  wrongNumber: (min: number, max: number) => `Enter a number from ${min} to ${max}, or leave this blank.`,
})
