import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'

interface FolderUsage {
  files: number
  folders: number
  bytes: number
  /** Whether everything in the folder was counted. */
  isComplete: boolean
}

/** The pages of files. */
export const texts = catalog('files', {
  // The storages
  files: 'Files',
  home: 'Home',
  storages: 'Storages',
  addStorage: 'Add storage',
  loadingStorages: 'Loading your storages',
  manageStorages: 'Manage storages',
  askAdministrator: 'Ask an administrator.',
  storageDown: (name: string) => `“${name}” does not work at the moment.`,
  storageDownForMembers:
    'Its files can be neither read nor changed until it works again. Other storages are not affected. Tell an administrator, and try again later.',
  storageDownForAdministrators:
    'Other storages are not affected. The next request shows whether this storage works again. “Test” checks it at once.',
  addFirstStorage: 'Add your first storage',
  noAccess:
    'You do not have access to any files yet. Ask an owner or administrator of this workspace to give you a role and access to a storage.',

  // A folder
  storageNotFound: 'Storage not found',
  storageNotFoundHelp: (link: (text: string) => ReactNode) => (
    <>
      The storage was disconnected, or you do not have access to it. Go to your {link('files')}, or ask an
      administrator.
    </>
  ),
  refused: 'No access to this folder',
  refusedHelp: (links: ReactNode) => (
    <>In this storage, you only have access to {links}. Ask an administrator for more.</>
  ),
  missing: 'The folder may have been moved, renamed or deleted.',
  goTo: (storage: string) => `Go to ${storage}`,
  missingFile: (name: string) => `“${name}” was not found. It may have been moved, renamed or deleted.`,
  loadingFolder: 'Loading the folder',
  noMatches: 'No matches',
  empty: 'This folder is empty',
  dropHere: 'Drop files here',
  chooseFiles: 'Choose files',
  createFolder: 'Create a folder',
  filesIn: (folder: string) => `Files in ${folder}`,
  path: 'Path',
  items: (count: number) => formatCount(count, 'item'),
  loadingMore: 'so far, loading more…',
  matches: (count: number) => formatCount(count, 'match', 'matches'),
  selected: (count: number) => formatCount(count, 'selected', 'selected'),
  dropInto: (folder: string) => `Drop to upload into ${folder}`,
  dropFailed: 'The dropped files could not be read. Use the Upload button instead.',

  // The gallery
  photos: (count: number) => formatCount(count, 'item'),
  notInGallery: (count: number) => `${formatCount(count, 'other file is', 'other files are')} not shown`,
  noPhotos: 'This folder has no photos and no videos',
  showList: 'Show all files',
  withoutTime: 'Without a date',

  // The table
  name: 'Name',
  size: 'Size',
  modified: 'Modified',
  columns: 'Columns',
  kinds: {
    folder: 'Folder',
    image: 'Image',
    video: 'Video',
    audio: 'Audio',
    pdf: 'PDF',
    document: 'Document',
    sheet: 'Spreadsheet',
    slides: 'Presentation',
    text: 'Text',
    code: 'Code',
    archive: 'Archive',
    book: 'Book',
    font: 'Font',
    design: 'Design',
    other: 'File',
  },
  selectAll: 'Select all',
  select: 'Select',
  actions: 'Actions',
  folder: 'folder',

  // The navigation
  sidebar: 'Storages and folders',
  foldersIn: (name: string) => `Folders in ${name}`,
  foldersFailed: 'The folders could not be loaded.',
  noFolders: 'No folders',

  // The large button of phones
  add: 'Add',
  uploadFiles: 'Upload files',
  photosAndVideos: 'Photos and videos',
  takePhoto: 'Take a photo',
  uploadTo: (storage: string) => `Upload to ${storage}`,

  // The toolbar
  selection: 'Selection',
  folderTools: 'Folder',
  clearSelection: 'Clear the selection',
  newFolder: 'New folder',
  newFile: 'New file',
  newFiles: {
    plainText: 'Text (.txt)',
    markdown: 'Markdown (.md)',
    /** The suggested name, without its ending. */
    suggestion: 'Untitled',
    onlyTexts: 'The console edits texts. End the name with .txt or .md, for example.',
  },
  filter: 'Filter by name',
  sortBy: 'Sort by',
  view: 'View',
  views: { list: 'List', compact: 'Compact', tiles: 'Tiles', gallery: 'Gallery' },
  refresh: 'Refresh',
  upload: 'Upload',
  uploadFolder: 'Upload folder',
  filesToUpload: 'Files to upload',
  folderToUpload: 'Folder to upload',

  // Actions
  open: 'Open',
  preview: 'Preview',
  download: 'Download',
  downloadZip: 'Download as ZIP',
  rename: 'Rename',
  newName: 'New name',
  tooManyToRename: (max: number) => `Select up to ${formatNumber(max)} items to rename them together.`,
  move: 'Move to…',
  copy: 'Copy to…',
  share: 'Share…',
  details: 'Details',
  restoreFolder: 'Restore…',
  versions: 'Versions',
  showVersions: 'Show versions',
  versionsHelp: 'What the file was before somebody replaced it.',
  delete: 'Delete',

  // Details of an entry
  detailsPanel: 'Details panel',
  hideDetails: 'Hide the details',
  selectForDetails: 'Select an item to see its details.',
  storage: 'Storage',
  copyPath: 'Copy path',
  link: 'Link',
  linkHelp: 'Members with access can open it.',
  copyLink: 'Copy link',
  type: 'Type',
  version: 'Version',
  lock: 'Lock',
  lockedBy: (holder: string | null) => `Locked by ${holder ?? 'another person'}`,
  lockedUntil: (holder: string | null, until: string, folder: string | null) =>
    `${holder ?? 'Another person'} has locked ${folder === null ? 'it' : `the folder ${folder}`} until ${until}, unless their program extends the lock. Only they can change it.`,
  hold: 'Hold',
  noHold: 'Not on hold: people with access can change and delete it.',
  onHold: 'On hold',
  heldUntil: (until: string | null, folder: string | null) =>
    `${folder === null ? 'On hold' : `The folder ${folder} is on hold`} until ${until ?? 'an owner releases it'}. Nobody can change, move or delete it.`,
  lockedObject: (until: string | null) =>
    `S3 Object Lock keeps this content until ${until ?? 'an owner releases it'}. To work on it, make a copy. A program that uses S3 can replace or delete the file, and this content then stays as a version.`,
  holdReason: (reason: string) => `Reason: ${reason}`,
  newHold: 'Hold…',
  createHold: 'Hold',
  releaseHold: 'Release',
  reason: 'Reason',
  holdLastDay: 'Last day',
  holdLastDayHelp: 'Nobody can end it earlier. Without a day, it lasts until an owner releases it.',
  holdFutureDate: 'Choose a day in the future.',
  endLock: 'End lock',
  endLockHelp: 'Their program may not notice, and changes that they have not saved may be lost.',
  exactSize: (size: string, bytes: number) => (bytes < 1000 ? size : `${size} (${formatCount(bytes, 'byte')})`),
  copyHash: 'Copy checksum',
  contents: 'Contents',
  counting: 'Counting…',
  usageUnknown: 'Unknown, because the folder cannot be read completely.',
  usage: ({ files, folders, bytes, isComplete }: FolderUsage) =>
    `${isComplete ? '' : 'At least '}${formatCount(files, 'file')} and ${formatCount(folders, 'folder')}, ${formatBytes(bytes)}`,
  access: {
    people: 'People with access',
    group: (members: number) => `Group, ${formatCount(members, 'member')}`,
    serviceAccount: 'Service account',
    roles: { OWNER: 'Owner', ADMIN: 'Admin', EDITOR: 'Editor', VIEWER: 'Viewer', NONE: 'No access' },
    onlyIn: (folders: string) => `Only in ${folders}`,
    nobody: 'No member has access.',
    help: 'The strongest role of a member applies everywhere. People with a share link are not listed.',
    firstOnly: 'Only the first 100 groups and members of the workspace were looked at.',
    allMembers: 'All members',
  },
  history: 'History',
  noHistory: 'Nothing has been recorded yet.',
  allHistory: 'Full history',
  event: (who: string, what: string, failure: string | null) =>
    failure === null ? `${who}: ${what}` : `${who}: ${what} (failed: ${failure})`,

  // Deleting
  deleteTitle: (names: readonly string[]) =>
    names.length === 1 ? `Delete “${names[0]}”?` : `Delete ${formatCount(names.length, 'item')}?`,
  more: (count: number) => formatCount(count, 'more', 'more'),
  foldersToo: (count: number) =>
    count === 1 ? 'Everything in the folder is deleted, too.' : 'Everything in the folders is deleted, too.',
  filesTake: (count: number, size: string) => `${count === 1 ? 'The file takes' : 'The files take'} up ${size}.`,
  deleted: (name: string) => `“${name}” was deleted`,
  deletedCount: 'Deleted',
  andMore: (count: number) => `and ${formatNumber(count)} more`,
  progress: (done: number, total: number) => `${formatNumber(done)} of ${formatNumber(total)}`,

  // Moving and copying
  moveVerb: 'Move',
  copyVerb: 'Copy',
  moveHere: 'Move here',
  copyHere: 'Copy here',
  moved: 'Moved',
  copied: 'Copied',
  transferred: (kind: 'move' | 'copy', names: readonly string[], target: ReactNode) => (
    <>
      {names.length === 1 ? names[0] : formatCount(names.length, 'item')} {kind === 'move' ? 'moved' : 'copied'} to{' '}
      {target}
    </>
  ),
  transferTitle: (kind: 'move' | 'copy', names: readonly string[], target: string | null) => {
    const verb = kind === 'move' ? 'Move' : 'Copy'
    const subject = names.length === 1 ? `“${names[0]}”` : formatCount(names.length, 'item')
    return `${verb} ${subject} to${target === null ? '' : ` ${target}`}`
  },
  /** Beside the pointer that drags items above a folder. */
  dropOn: (kind: 'move' | 'copy', folder: string) => `${kind === 'move' ? 'Move' : 'Copy'} to ${folder}`,
  topFolder: 'the top folder',
  chooseStorage: 'Choose a storage.',
  intoItself: (kind: 'move' | 'copy', name: string) =>
    `“${name}” cannot be ${kind === 'move' ? 'moved' : 'copied'} into itself.`,
  alreadyHere: (count: number) =>
    `${count === 1 ? 'The item is' : 'The items are'} already in this folder. Choose another folder.`,
  alreadyExist: (count: number) =>
    count === 1
      ? 'This name already exists in the folder. Replace the item there, or keep both?'
      : 'These names already exist in the folder. Replace the items there, or keep both?',
  ifExists: 'If a name already exists',
  keepBoth: 'Keep both',
  skip: 'Skip',
  replace: 'Replace',
  replaceOlder: 'Replace older files',

  // The keyboard
  keyboardHelp: 'Keyboard',
  keys: {
    focus: ['↑ ↓ Home End', 'Move the focus'],
    range: ['Shift + ↑ ↓', 'Select a range'],
    select: ['Space', 'Select or deselect'],
    all: ['Ctrl + A', 'Select all'],
    clear: ['Escape', 'Clear the selection'],
    open: ['Enter', 'Open'],
    details: ['Alt + Enter', 'Show details'],
    parent: ['Backspace', 'Go to the folder above'],
    letters: ['A to Z', 'Go to the next name that starts with the letters'],
    rename: ['F2', 'Rename'],
    delete: ['Delete', 'Delete'],
    menu: ['Shift + F10', 'Open the menu'],
    search: ['/', 'Search all storages'],
    help: ['?', 'Show this help'],
  },
})
