import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatMinute, formatNumber } from './format.ts'

/** Share links: the dialog, the list, and the page for people without an account. */
export const texts = {
  // The dialog
  title: (names: readonly string[]) =>
    names.length === 1 ? `Share “${names[0]}”` : `Share ${formatCount(names.length, 'item')}`,
  create: 'Create link',
  kind: 'People with the link can',
  kindTitles: { VIEW: 'View and download', DROP: 'Add files' },
  kindHelp: {
    VIEW: 'People see the items that you share, and nothing else.',
    DROP: 'People send files into the folder, but cannot see its contents.',
  },
  password: 'Password (optional)',
  passwordHelp: 'At least 8 characters. Send it to the recipients separately.',
  newPassword: 'New password (optional)',
  newPasswordHelp: 'At least 8 characters. Leave blank to keep the current one.',
  removePassword: 'Remove the password',
  lastDay: 'Last day (optional)',
  lastDayHelp: 'The link works until the end of this day.',
  futureDate: 'Choose a day in the future.',
  note: 'Note for the recipients (optional)',
  recipients: 'Send the link by email to (optional)',
  recipientsHelp: 'Addresses, separated by commas.',
  notify: 'Email me when files arrive',
  moreOptions: 'Limits',
  maxDownloads: 'Number of downloads (optional)',
  maxDownloadsHelp: 'The link then shows no previews.',
  maxMegabytes: 'Megabytes in total (optional)',
  fileTypes: 'Types of files (optional)',
  fileTypesHelp: 'File name extensions, such as “pdf, jpg”. Leave blank to accept all.',
  ready: 'Your link is ready',
  readyHelp: 'Anyone with this link can use it. You can find it again under “Shared by me”.',
  copyLink: 'Copy link',
  openLink: 'Open link',

  // The list
  shares: 'Shared by me',
  help: 'Share links give people without an account access to files. A link never permits more than its creator may do, and stops working when its creator loses access.',
  loading: 'Loading the shares',
  none: 'Nothing is shared',
  noneHelp: 'Select files or a folder, and choose Share.',
  whose: 'Whose shares',
  mine: 'My shares',
  everybody: 'Everyone’s',
  showEnded: 'Show links that have ended',
  shared: 'Shared',
  link: 'Link',
  use: 'Use',
  states: { ACTIVE: 'Active', EXPIRED: 'Expired', REVOKED: 'Revoked', USED_UP: 'Used up' },
  andMore: (path: string, count: number) => (count === 0 ? path : `${path} and ${formatNumber(count)} more`),
  createdBy: (name: string) => `By ${name}`,
  withPassword: 'With a password',
  downloads: (count: number, max: number | null) =>
    max === null ? formatCount(count, 'download') : `${formatNumber(count)} of ${formatCount(max, 'download')}`,
  received: (bytes: number, max: number | null) =>
    max === null ? `${formatBytes(bytes)} received` : `${formatBytes(bytes)} of ${formatBytes(max)} received`,
  until: (time: ReactNode) => <>Until {time}</>,
  noEnd: 'Does not expire',
  revokeHelp: 'The link stops working at once, and running transfers end.',

  // The page of a link
  pageOf: (name: string | null) => name ?? 'Shared files',
  sharedBy: (name: string) => `Shared by ${name}`,
  sendTo: (name: string) => `Send files to “${name}”`,
  locked: 'This link needs a password',
  passwordLabel: 'Password',
  open: 'Open',
  ended: 'This link no longer works',
  endedHelp: 'It was revoked or has expired. Ask the person who sent it to you for a new one.',
  unknown: 'This link does not exist',
  unknownHelp: 'Check that you copied the whole link.',
  expiresAt: (time: string) => `The link works until ${formatMinute(time)}.`,
  downloadsLeft: (count: number) =>
    count === 0 ? 'No downloads are left.' : `${formatCount(count, 'download')} left. Opening a file counts as one.`,
  downloadAll: 'Download all as ZIP',
  dropHelp: 'Drop files here, or choose them. Other people with this link cannot see your files.',
  bytesLeft: (bytes: number) => `Up to ${formatBytes(bytes)} in total.`,
  onlyTypes: (types: readonly string[]) => `Only ${types.map(type => `.${type}`).join(', ')} files.`,
  chooseFiles: 'Choose files',
  chooseFolder: 'Choose a folder',
} as const
