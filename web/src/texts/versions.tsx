import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatCount, formatNumber } from './format.ts'

/** The versions of a file. */
export const texts = catalog('versions', {
  versions: 'Versions',
  versionsOf: (name: string) => `Versions of ${name}`,
  loading: 'Loading the versions',
  current: 'Current',
  unknownTime: 'Time unknown',
  replaced: (time: ReactNode, person: string | null) => (
    <>
      Replaced {time}
      {person !== null && ` by ${person}`}
    </>
  ),
  /** The file does not exist any more: nobody knows which of both it was. */
  replacedOrDeleted: (time: ReactNode, person: string | null) => (
    <>
      Replaced or deleted {time}
      {person !== null && ` by ${person}`}
    </>
  ),
  keptUntil: (day: ReactNode) => <>kept until {day}</>,

  // Without versions
  none: 'No earlier versions',
  noneYet: (count: number, days: number) =>
    `When this file is replaced, its content stays here. This storage keeps up to ${formatCount(count, 'version')} of a file, each for ${formatCount(days, 'day')}.`,
  notKept: 'This storage keeps no versions.',
  turnOn: (link: ReactNode) => <>You can turn them on in the settings of the {link}.</>,
  turnOnLink: 'storages',
  askAdministrator: 'An administrator can turn them on.',

  // One version
  show: 'Show',
  views: { content: 'Content', changes: 'Changes' },
  compareWith: 'Compare with',
  download: 'Download',
  restore: 'Restore',
  restoreTitle: (name: string) => `Restore this version of “${name}”?`,
  restoreHelp: (time: string) => `The file gets the content of ${time} again.`,
  restoreDeleted: (time: string) => `The file comes back with the content of ${time}.`,
  presentStays: 'Its present content stays as a version, so you can go back.',
  presentIsLost: 'This storage keeps no more versions, so the present content of the file is lost.',
  restored: (path: string) => `Restored ${path}`,
  deleteTitle: 'Delete this version?',
  deleteHelp: (time: string) =>
    `The content of ${time} is deleted for good. The file and its other versions stay as they are.`,
  deleted: 'The version was deleted',

  // The form of a storage
  count: 'Versions of a file (optional)',
  countHelp: (usual: number | null) =>
    `When somebody replaces a file, its content stays as a version, which uses space. With 0, no versions are kept. If you leave this blank, ${usual === null ? 'the server decides' : usual === 0 ? 'none are kept' : `up to ${formatCount(usual, 'version')} of each file stay`}.`,
  native:
    'This storage keeps earlier versions by itself, and they are listed. With a number here, Stowage also keeps copies of its own, which S3 Object Lock needs.',
  costs:
    'This storage copies every file that is replaced. Replacing takes longer by the time of a copy, and the storage may charge for it.',
  days: 'Days of a version (optional)',
  daysHelp: (usual: number | null) =>
    `Older versions are deleted. A change applies to new versions. If you leave this blank, ${usual === null ? 'the server decides' : `they stay for ${formatCount(usual, 'day')}`}.`,

  // Comparing
  between: (older: string, newer: string) => `${older} → ${newer}`,
  layout: 'Layout',
  layouts: { split: 'Side by side', unified: 'One column' },
  changes: (added: number, removed: number) =>
    `${formatCount(added, 'line')} added, ${formatCount(removed, 'line')} removed`,
  changesOf: (name: string) => `Changes of ${name}`,
  sameText: 'Both have the same text.',
  sameLines: 'Only the ends of lines differ.',
  unchanged: (lines: number) => formatCount(lines, 'unchanged line'),
  tooLarge: (size: string) => `Texts over ${size} are not compared. Download both versions instead.`,
  tooDifferent: 'The texts differ too much to be compared. Look at each of them, or download both.',
  cut: (lines: number) => `Only the first ${formatNumber(lines)} lines are shown. Download both versions for the rest.`,
  notUtf8: 'One of the texts is not UTF-8. It is compared as Western European (Windows-1252).',
  olderLine: 'Line of the older text',
  newerLine: 'Line of the newer text',
  added: 'added',
  removed: 'removed',
})
