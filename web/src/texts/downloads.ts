import { catalog } from './catalog.ts'
import { formatBytes, formatCount, formatNumber } from './format.ts'

/** The panel of downloads. */
export const texts = catalog('downloads', {
  downloads: 'Downloads',
  running: (count: number) => `Downloading ${formatCount(count, 'archive')}`,
  failedCount: (count: number) => `${formatCount(count, 'download')} failed`,
  complete: (count: number) => `${formatCount(count, 'download')} complete`,
  bytesOf: (count: number, received: number, size: number) =>
    `${formatCount(count, 'item')} · ${formatBytes(received)} of ${formatBytes(size)}`,
  saved: (count: number, size: number) => `${formatCount(count, 'item')} · ${formatBytes(size)}`,
  clearCompleted: 'Clear completed',
  inBrowser: (count: number) => `The browser downloads ${formatCount(count, 'item')} as a ZIP archive`,
  failed: 'The archive could not be downloaded. Refresh the folder, then try again.',
  tooMany: (most: number) => `Select up to ${formatNumber(most)} items, or download their folder instead.`,
})
