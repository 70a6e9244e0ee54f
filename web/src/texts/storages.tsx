import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** The pages of storages. */
export const texts = catalog('storages', {
  storages: 'Storages',
  storagesHelp: 'The storages that hold the files of this workspace.',
  addStorage: 'Add storage',
  loadingStorages: 'Loading the storages',
  noStorage: 'No storage yet.',
  noStorageHelp: 'Add one to give the workspace its first files.',
  unavailableHelp: 'The next request shows whether this storage works again. “Test” checks it at once.',
  works: (name: string) => `“${name}” works`,
  connectedAgo: (type: string, time: ReactNode) => (
    <>
      {type}, connected {time}
    </>
  ),
  test: 'Test',
  testing: 'Testing…',
  disconnect: 'Disconnect',
  disconnectTitle: (name: string) => `Disconnect “${name}”?`,
  disconnectHelp:
    'The files are not affected: they stay where they are stored. Nobody can access them through Stowage any longer, and the stored credentials and consent are deleted.',
  disconnectAccess: 'Keys and members that are limited to this storage lose access to it, even if you add it again.',
  usageFailed: (message: string) => `The used space could not be read: ${message}`,
  noUsage: 'This storage does not report how much space is used.',
  usedSpace: 'Used space',
  used: (used: string) => `${used} used`,
  usedOf: (used: string, total: string) => `${used} of ${total} used`,
  usedOfDisk: (used: string, total: string) => `Whole disk: ${used} of ${total} used`,

  // Adding a storage
  addFirstStorage: 'Add your first storage',
  notAllowed: 'Only administrators with access to the whole workspace can add a storage. Ask one of them.',
  toFiles: 'Go to your files',
  backToFiles: 'Back to your files',
  loadingTypes: 'Loading the types of storages',
  isConnected: (name: string) => `“${name}” is connected`,
  addHelp:
    'Your files stay where they are. Stowage shows them and stores your uploads beside them. You can add more storages at any time.',
  noTypes: 'This server has no types of storages. Check the setting STOWAGE_ADAPTERS.',
  groups: {
    THIS_SERVER: 'This server',
    CLOUD_ACCOUNTS: 'Cloud accounts',
    SERVERS_AND_BUCKETS: 'Servers and buckets',
  },
  progress: 'Progress',
  stages: ['Choose', 'Set up', 'Ready'],
  connectType: (type: string) => `Connect ${type}`,
  otherType: 'Choose another type',
  stepsFor: (type: string) => `Before you connect ${type}`,
  inNewTab: '(opens a new tab)',
  addedAdapter: 'Provided by an adapter that was added to this server.',
  typeHelp: {
    local: 'A folder on the server that Stowage runs on.',
    s3: 'A bucket in Amazon S3 or in any S3-compatible service.',
    'azure-blob': 'A container in Azure Blob Storage or Data Lake Storage.',
    'google-drive': 'My Drive, a shared drive, or a folder in either.',
    dropbox: 'Your Dropbox, the space of your team, or a folder in either.',
    onedrive: 'A personal or business OneDrive, a SharePoint library, or a folder in either.',
    webdav: 'A folder in Nextcloud, in ownCloud or on any WebDAV server.',
    sftp: 'A folder on an SSH server.',
    ftp: 'A folder on an FTP server, with or without TLS.',
    memory: 'The memory of the server, for trying things out. Files are lost when the server stops.',
  } as Readonly<Record<string, string>>,
  nameHelp: 'Shown to everyone who can use the storage.',
  connect: 'Connect',
  testingHelp: 'Testing the storage. Nothing is saved until the test succeeds.',
  testFailed: 'The test failed. Nothing is saved.',
  advanced: 'Advanced',
  acceptSuggestion: (field: string) => `Accept as “${field}”`,
  startWithHttp: 'Start with http:// or https://',
  startWithSlash: 'Start with /',

  // Folders of the server
  browse: 'Browse',
  pickFolder: (field: string) => `Choose: ${field}`,
  folderAbove: 'Folder above',
  allowedFolders: 'Folders that the server allows',
  foldersHere: 'Folders',
  loadingFolders: 'Loading the folders',
  noFoldersHere: 'No folders in here.',
  moreFoldersHere: 'There are more. Type the path of the one that you look for.',
  useThisFolder: 'Use this folder',

  // What the test has found
  testResult: 'Result of the test',
  reading: 'Reading…',
  reached: 'Signed in',
  reachedHelp: 'Stowage reaches the storage and may read it.',
  contents: 'Contents',
  emptyStorage: 'The storage is empty: it is ready for your first files.',
  foundItems: (count: number, { names, isMore }: { names: readonly string[]; isMore: boolean }) =>
    `${isMore ? `More than ${count} items` : formatCount(count, 'item')} at the top, such as ${names.join(', ')}.`,
  space: 'Space',
  safety: 'Safety net',
  keeps: (trashDays: number, versions: number) => {
    const trash =
      trashDays > 0 ? `Deleted files stay for ${formatCount(trashDays, 'day')}` : 'Deleted files are gone at once'
    const earlier = versions > 0 ? `${formatCount(versions, 'earlier version')} of each file` : 'no earlier versions'
    return `${trash}, and Stowage keeps ${earlier}. You can change both in the settings.`
  },
  openStorage: (name: string) => `Open ${name}`,
  toHome: 'Go to Home',
  addAnother: 'Add another storage',

  // Authorization
  authorizeTitle: (name: string) => `Authorize access to “${name}”`,
  authorizeHelp: (vendor: string) =>
    `A new tab shows who requests access to which files, and then ${vendor} asks for your consent. This page continues by itself once you agree. The link expires after ten minutes. To connect the files of someone else, send them the link.`,
  start: 'Start',
  continueTo: (vendor: string) => `Continue to ${vendor}`,
  copyLink: 'Copy link',
  waiting: 'Waiting for consent…',
  waitingHelp:
    'If no tab opened, or you closed it, open the link again or copy it into a new tab. If the tab says that the request expired or was refused, start again.',
  startAgain: 'Start again',

  // Editing
  secretsAgain: (fields: readonly string[]) => `Enter the secrets again, because you changed: ${fields.join(', ')}.`,
  consentAgain: 'If the storage needs your consent, authorize it again afterward.',
  keepSecret: 'Leave blank to keep the current value.',
  deleteSecret: (field: string) => `Delete the stored value of “${field}”`,
  slug: 'Name in addresses',
  slugHelp: 'WebDAV clients use this name in the address, and S3 clients use it as the bucket.',
  wrongSlug: 'Use 3 to 63 lowercase letters without accents, digits, and hyphens between them.',
  slugChanges: (slug: string) =>
    `WebDAV and S3 clients that use “${slug}” will stop working. Change the address in each of them.`,
  jobLimits: 'Limits of jobs',
  jobLimitsHelp: 'These limits apply to all jobs on all servers together. Running jobs follow a change within seconds.',
  filesAtOnce: 'Files at once',
  wrongFiles: (max: number) => `Enter a number from 1 to ${max}.`,
  speed: 'Speed in MB per second (optional)',
  speedHelp: 'Only bytes that pass through the server count. Leave blank for no limit.',
  wrongSpeed: 'Enter at least 0.07, or leave this blank.',
})
