import { catalog } from './catalog.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'

/** Files that the device keeps, and the page without a network. */
export const texts = catalog('offline', {
  keep: 'Keep offline',
  remove: 'Remove from this device',
  title: 'Kept offline',
  help: 'These files open without a network. They stay on this device until you remove them or sign out, and as long as you may read them.',
  nothing: 'This device keeps no files yet. Choose “Keep offline” in the menu of a file.',
  usage: (count: number, bytes: number, most: number) =>
    `${formatCount(count, 'file')}, ${formatBytes(bytes)} of ${formatBytes(most)}`,
  offline: 'You are offline',
  away: 'Stowage does not respond',
  nowKept: (count: number) => `On this device: ${formatCount(count, 'file')}`,
  nowRemoved: (count: number) => `Removed from this device: ${formatCount(count, 'file')}`,
  tooMany: (most: number) => `This device keeps at most ${formatNumber(most)} files. Remove some of them first.`,
  tooLarge: (most: number) => `This device keeps at most ${formatBytes(most)} of files. Remove some of them first.`,
  noRoom: 'The browser has no more room for files. Remove some of them, or free space on this device.',
  tooMuchShared: (files: number, bytes: number) =>
    `Other programs can share at most ${formatNumber(files)} files and ${formatBytes(bytes)} at once. Choose the files here instead.`,
  kept: 'Kept',
  gone: 'This file is no longer on this device.',
})
