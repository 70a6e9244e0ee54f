import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** The search field, and the page of its results. */
export const texts = catalog('search', {
  search: 'Search all storages',
  placeholder: 'Search',
  /** The key that goes to the field. */
  key: '/',
  open: 'Search',
  clear: 'Clear the search',
  close: 'Close the search',
  results: 'Search results',
  resultsFor: (text: string) => `Results for “${text}”`,
  suggestions: 'Suggestions',
  title: (text: string) => (text === '' ? 'Search' : `“${text}”`),
  searching: 'Searching',
  nothing: (text: string) => `Nothing found for “${text}”.`,
  nothingHelp: 'Check the spelling, use fewer words, or remove a filter.',
  all: (text: string) => `All results for “${text}”`,
  onlyIn: (folder: string) => `Only in “${folder}”`,
  recent: 'Recent searches',
  forget: (text: string) => `Remove “${text}” from the recent searches`,
  begin: 'Find files and folders by their names, in all storages at once. Some storages also find files by their text.',
  beginHelp: 'Words can be in any order. Words in quotes are one phrase: "annual report".',
  found: (count: number, hasMore: boolean) =>
    hasMore ? `The first ${formatCount(count, 'result')}` : formatCount(count, 'result'),
  in: (storage: string, folder: string) => (folder === '/' ? storage : `${storage} · ${folder}`),

  // Filters
  filters: 'Filters',
  kind: 'Type',
  kinds: {
    folder: 'Folders',
    file: 'Files',
    image: 'Photos and images',
    video: 'Videos',
    audio: 'Music',
    document: 'Documents',
    spreadsheet: 'Spreadsheets',
    presentation: 'Presentations',
    archive: 'Archives',
  },
  size: 'Size',
  sizes: { small: 'Under 1 MB', medium: '1 to 100 MB', large: '100 MB to 1 GB', huge: 'Over 1 GB' },
  time: 'Modified',
  times: {
    day: 'Last 24 hours',
    week: 'Last 7 days',
    month: 'Last 30 days',
    year: 'Last year',
    older: 'Over a year ago',
  },
  storage: 'Storage',
  any: (filter: string) => `${filter}: any`,
  folder: 'Folder…',
  chooseFolder: 'Search in a folder',
  removeFolder: (folder: string) => `Search everywhere, not only in ${folder}`,
  removeFilters: 'Clear filters',

  oneStorage: 'Select items of one storage only to work with them.',

  // Entries that the catalogues do not have
  coverage: {
    off: (names: string) => `Not searched, because the search is off there: ${names}.`,
    indexing: (names: string) => `Still being indexed, so something may be missing: ${names}.`,
    unread: (names: string) => `The text of some files has not been read yet: ${names}.`,
    partial: (names: string) => `Some files are not in the index yet: ${names}.`,
  },

  // The state of an index
  indexing: (entries: number | null) =>
    entries === null ? 'Indexing for the search…' : `Indexing for the search: ${formatCount(entries, 'item')} so far`,
  indexed: (time: ReactNode, entries: number | null) => (
    <>
      Last indexed {time}
      {entries !== null && `, ${formatCount(entries, 'item')}`}
    </>
  ),
  waiting: 'Not indexed yet',
  failed: 'The index is not up to date, because the storage does not respond.',
  isOff: 'The search is off for this storage.',
  mode: 'Search',
  modeHelp: 'Switching the search off removes the index of this storage.',
  modes: { OFF: 'Off', NAMES: 'Names of files and folders', CONTENT: 'Names and the text of files' },
})
