import { catalog } from './catalog.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'

/** The page that says what takes up space. */
export const texts = catalog('insight', {
  insight: 'Insight',
  title: (name: string) => `What takes up space in ${name}`,
  allStorages: 'All storages',
  path: 'Path',
  loading: 'Adding up the files',
  sum: (files: number, bytes: number) => `${formatCount(files, 'file')}, ${formatBytes(bytes)}`,
  incomplete: 'Not everything is indexed yet, so something may be missing here.',
  nothing: 'No files are indexed here.',
  nothingHelp:
    'A new storage is indexed in the background. The search can be switched off for a storage, and then it is not here.',
  map: 'Folders by size',
  part: (name: string, bytes: number, percent: number) => `${name}, ${formatBytes(bytes)}, ${percent}%`,
  percent: (percent: number) => `${percent}%`,
  direct: (files: number) => `${formatCount(files, 'file')} in this folder`,
  others: 'Smaller folders',
  files: 'Files to look at',
  lists: { LARGEST: 'Largest', OLDEST: 'Oldest', DUPLICATES: 'Duplicates' },
  largest: 'Largest files',
  oldest: 'Oldest files',
  loadingFiles: 'Loading the files',
  noFiles: 'No files.',
  duplicates: 'Duplicates',
  noDuplicates: 'No duplicates were found.',
  duplicatesHelp:
    'Files are compared by the checksums of their storages. Where storages give none, only the sizes are compared until the contents are.',
  compare: 'Compare the contents',
  compareHelp: 'This reads each file that has the size of another one.',
  comparing: (files: number) => `Comparing the contents: ${formatCount(files, 'file')} read`,
  compareFailed: 'Some files could not be read. The list of jobs says why.',
  wholeStorage: (name: string) => `These are the duplicates in all of “${name}”.`,
  copies: (count: number, bytes: number) =>
    `${formatNumber(count)} copies of ${formatBytes(bytes)}: ${formatBytes((count - 1) * bytes)} too much`,
  sameSize: (count: number, bytes: number) =>
    `${formatNumber(count)} files of exactly ${formatBytes(bytes)}, not compared`,
  show: 'What takes up space',
})
