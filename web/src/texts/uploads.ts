import { catalog } from './catalog.ts'
import { formatBytes, formatCount, formatDistance, formatDuration, formatNumber } from './format.ts'

/** The panel of uploads. */
export const texts = catalog('uploads', {
  uploads: 'Uploads',
  allUploads: 'All uploads',
  files: 'Files',
  uploading: (at: number, count: number) => `Uploading ${formatNumber(at)} of ${formatNumber(count)}`,
  needAttention: (count: number) => `${formatCount(count, 'upload needs', 'uploads need')} attention`,
  paused: (count: number) => `${formatCount(count, 'upload')} paused`,
  interrupted: (count: number) => `${formatCount(count, 'upload was', 'uploads were')} interrupted`,
  complete: (count: number) => `${formatCount(count, 'upload')} complete`,
  bytesOf: (sent: number, size: number) => `${formatBytes(sent)} of ${formatBytes(size)}`,
  waitingToRetry: 'waiting to retry',
  perSecond: (bytes: number) => `${formatBytes(Math.round(bytes))}/s`,
  left: (seconds: number) => `${formatDuration(seconds)} left`,
  alreadyExist: (count: number) => `${formatCount(count, 'file')} already exist`,
  skipAll: 'Skip all',
  replaceAll: 'Replace all',
  keepBoth: 'Keep both',
  replace: 'Replace',
  skip: 'Skip',
  pauseAll: 'Pause all',
  resumeAll: 'Resume all',
  retryAll: 'Retry all',
  cancelAll: 'Cancel all',
  close: 'Close',
  clearCompleted: 'Clear completed',
  pause: 'Pause',
  resume: 'Resume',
  cancel: (name: string) => `Cancel ${name}`,
  waiting: 'Waiting',
  percent: (percent: number) => `${percent}%`,
  pausedAt: (percent: number) => `Paused at ${percent}%`,
  alreadyExists: 'Already exists',
  /**
   * @param who `you`, or a name; null if the person may not know it
   * @param idle seconds since the last bytes; null if bytes arrive
   */
  reserved: (who: string | null, startedAt: string, idle: number | null) => {
    const started =
      who === 'you'
        ? `You started this upload elsewhere ${formatDistance(startedAt)}`
        : `${who ?? 'Somebody else'} started this upload ${formatDistance(startedAt)}`
    return idle === null ? started : `${started} · idle for ${formatDuration(idle)}`
  },
  nameReserved: 'Name in use',
  reservedSoonFree: 'Another upload with this name is about to end.',
  takeOver: 'Take over',
  interruptedFile: 'Interrupted. Choose the file again.',
  doneFile: (size: number) => `Done · ${formatBytes(size)}`,
  waitingForNetwork: 'Waiting for the network',
  continuing: 'The connection was lost. Continuing…',
  busy: 'The server is busy. Retrying…',
  differentFile: 'This is a different file.',
  chooseFile: 'Choose file',
  fileFor: (name: string) => `File for ${name}`,
})
