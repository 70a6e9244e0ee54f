import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** Restoring a folder as it was at a time. */
export const texts = catalog('restore', {
  restoreStorage: 'Restore earlier state…',
  title: (name: string) => `Restore “${name}” as it was`,
  titleAt: (name: string, time: string) => `“${name}” as it was on ${time}`,
  help: 'Files that were replaced or deleted since then come back, as far as versions and the trash keep them. You see all changes before anything happens.',
  time: 'Time',
  pastOnly: 'Choose a time in the past.',
  deleteExtra: 'Delete files that were created since then',
  preview: 'Show changes',
  looking: 'Looking for what has changed',
  back: 'Back',
  restore: 'Restore',
  steps: 'Changes',
  nothing: 'Nothing would change: everything is as it was, or nothing is kept from that time.',
  comeBack: (count: number) => formatCount(count, 'item comes back', 'items come back'),
  areDeleted: (count: number) => formatCount(count, 'file is deleted', 'files are deleted'),
  failed: (count: number) => `${formatCount(count, 'item')} cannot be restored: the list of jobs says why.`,
  actions: { CREATE: 'Comes back', REPLACE: 'Gets its earlier content', DELETE: 'Is deleted' },
  goneAt: (time: string) => `changed ${time}`,
})
