/** The texts that show progress: a bar, sizes and counts. */

/** The state of a transfer, as a bar shows it. */
export interface ProgressState {
  files: number
  bytes: number
  /** Null if it is unknown. */
  totalFiles: number | null
  totalBytes: number | null
  bytesPerSecond: number
}

const barWidth = 20

export function barText(state: ProgressState): string {
  const { files, bytes, totalFiles, totalBytes, bytesPerSecond } = state
  const parts = [
    totalBytes === null ? null : bar(totalBytes === 0 ? 1 : bytes / totalBytes),
    totalBytes === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`,
    totalFiles === null ? count(files, 'file') : `${files} of ${count(totalFiles, 'file')}`,
    `${formatBytes(bytesPerSecond)}/s`,
    totalBytes === null || bytesPerSecond <= 0 ? null : `${formatSeconds((totalBytes - bytes) / bytesPerSecond)} left`,
  ]
  return parts.filter(part => part !== null).join('  ')
}

function bar(share: number): string {
  const bounded = Math.min(1, Math.max(0, share))
  const done = Math.round(bounded * barWidth)
  const percent = String(Math.floor(bounded * 100)).padStart(3)
  return `[${'='.repeat(done)}${' '.repeat(barWidth - done)}] ${percent}%`
}

const units = ['kB', 'MB', 'GB', 'TB', 'PB'] as const

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 'B'
  for (const next of units) {
    if (value < 1000) break
    value /= 1000
    unit = next
  }
  return `${unit === 'B' ? Math.round(value) : value.toFixed(1)} ${unit}`
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`
}

function formatSeconds(seconds: number): string {
  const rounded = Math.max(0, Math.ceil(seconds))
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor((rounded % 3600) / 60)]
  const rest = String(rounded % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}
