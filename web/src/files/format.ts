const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Powers of 1000, three digits: "1.23 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  // 999,999 B would be "1000 KB".
  if (value >= 999.5 && power < units.length - 1) return `1.00 ${units[power + 1]}`
  return `${value.toPrecision(3)} ${units[power]}`
}

const thisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const otherYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })
const number = new Intl.NumberFormat()

export function formatTime(iso: string): string {
  const time = new Date(iso)
  return (time.getFullYear() === new Date().getFullYear() ? thisYear : otherYear).format(time)
}

export function formatExactTime(iso: string): string {
  return exact.format(new Date(iso))
}

export function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : several}`
}

export function formatDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  const hours = Math.floor(seconds / 3600)
  return hours < 48 ? `${hours} h ${Math.round((seconds % 3600) / 60)} min` : `${Math.round(hours / 24)} days`
}
