import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** The first page, and the page of recent files. */
export const texts = catalog('home', {
  home: 'Home',
  greeting: (name: string) => `Welcome back, ${name}`,
  greetingWithoutName: 'Welcome back',
  storages: 'Storages',
  space: (storage: string) => `Space of ${storage}`,
  used: (used: string) => `${used} used`,
  usedOf: (used: string, total: string) => `${used} of ${total} used`,
  usedOfDisk: (used: string, total: string) => `${used} of ${total} on the disk`,
  recent: 'Recent',
  allRecent: 'All recent files',
  loadingRecent: 'Loading the recent files',
  opened: 'Opened in this browser',
  changed: 'Changed last',
  nothingRecent: 'No files yet',
  nothingRecentHelp:
    'Files appear here when they are added or changed, in the storages that are indexed for the search.',
  runningJobs: 'Running now',
  allJobs: 'All jobs',
  team: 'What changed',
  allTeam: 'Audit log',
  activity: 'Activity',
  allActivity: 'All changes',
  noActivity: 'Nothing has changed lately.',
  /** Who did something with a share link. */
  visitor: 'A visitor with a link',
  server: 'The server',
  changes: {
    UPLOAD: 'uploaded',
    FOLDER_CREATE: 'created',
    RENAME: 'renamed',
    MOVE: 'moved',
    COPY: 'copied',
    DELETE: 'deleted',
    RESTORE: 'restored',
    SHARE_CREATE: 'shared',
    COMMENT_CREATE: 'commented on',
    PROVIDER_CONNECT: 'added the storage',
  },
  did: (who: ReactNode, what: string | undefined, object: ReactNode) => (
    <>
      {who} {what} {object}
    </>
  ),
  items: (count: number) => formatCount(count, 'item'),

  // The first steps
  startTitle: (workspace: string) => `Welcome to ${workspace}`,
  startHelp: 'Three steps, and your files are here.',
  steps: 'First steps',
  done: 'Done',
  account: 'Create your account',
  accountHelp: (email: string) => `You are signed in as ${email}.`,
  storage: 'Add a storage',
  storageHelp: 'A folder on this server, a bucket, or a cloud account. Your files stay where they are.',
  storageDone: (name: string) => `“${name}” is connected.`,
  upload: 'Add your first files',
  uploadHelp: 'Drop them anywhere on this page, or choose them.',
  uploadLater: 'You can do this as soon as there is a storage.',
  open: (storage: string) => `Open ${storage}`,
})
