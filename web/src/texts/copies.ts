import { catalog } from './catalog.ts'
import { formatBytes, formatCount } from './format.ts'

/** Kept copies: their schedules, their last check and its report. */
export const texts = catalog('copies', {
  copies: 'Kept copies',
  copiesHelp:
    'Copies of a folder in other storages. Each check copies what is new or changed, reads files again, and finds what is damaged or missing.',
  newCopies: 'New kept copies',
  create: 'Keep copies',
  nameHelp: 'For example, “Contracts”.',
  folder: 'Folder to keep copies of',
  copy: (number: number) => `Folder for copy ${number}`,
  copyHelp: 'Choose a folder in another storage. The content goes directly into that folder.',
  keepsNothing:
    'This storage keeps no earlier versions: an edit replaces what the copy had, and damage there is only reported. Set in its settings how many versions it keeps.',
  addCopy: 'Add another copy',
  chooseFolders: 'Choose the folder and the folder for each copy.',
  repair: 'Restore damaged and missing files from a good copy',
  repairHelp: 'The damaged content stays as an earlier version, so this needs storages that keep versions.',
  deleteExtra: 'Delete the copies of files that you delete',
  deleteExtraHelp: 'They go to the trash of their storage. Otherwise the copies stay.',
  recheckDays: 'Read files again after',
  recheckDaysHelp: 'In days. 0 reads all files in each check.',
  lastCheck: 'Last check',
  checked: (where: string, state: string) => `${where}: ${state}`,
  intact: 'nothing found',
  damaged: (count: number) => `${count} damaged`,
  missing: (count: number) => `${count} missing`,
  changed: (count: number) => `${count} changed in the copy`,
  restored: (count: number) => `${count} restored`,
  report: 'Report',
  reportOf: (name: string) => `Report: ${name}`,
  loadingReport: 'Loading the report',
  findings: 'Findings',
  noFindings: 'Nothing was damaged, missing or changed.',
  read: (files: number, bytes: number) => `${formatCount(files, 'file')} read again (${formatBytes(bytes)})`,
  copied: (files: number, bytes: number) => `${formatCount(files, 'file')} copied (${formatBytes(bytes)})`,
  kinds: {
    DAMAGED: 'Damaged',
    MISSING: 'Missing',
    CHANGED: 'Changed in the copy',
    UNCLEAR: 'Unclear',
    FAILED: 'Failed',
  },
  restoredFile: (kind: string) => `${kind}, restored`,
  downloadText: 'Download as text',
  downloadTable: 'Download as table',
})
