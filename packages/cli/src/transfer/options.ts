/** The options that commands for transfers share. */
import type { Options } from '../command.ts'
import { usageError } from '../errors.ts'
import { conflicts } from './conflict.ts'

export const conflictOption = {
  conflict: {
    value: 'behavior',
    choices: conflicts,
    help: 'The behavior if a name is taken: fail (the default), replace the file, rename the copy, skip the file, or replace it if it is older (newer). Folders are merged, except with fail and rename.',
  },
} as const satisfies Options

export const concurrencyOption = {
  concurrency: { value: 'files', help: 'The number of files that are transferred at once, 1 to 64. The default is 8.' },
} as const satisfies Options

export const linksOption = {
  'follow-links': {
    short: 'L',
    help: 'Copy what symbolic links in local folders lead to. Otherwise they are skipped.',
  },
} as const satisfies Options

export const detachOption = {
  detach: { short: 'd', help: 'Start the job of the server, print it, and do not wait for its end.' },
} as const satisfies Options

export const recursiveOption = {
  recursive: { short: 'r', help: 'Include folders with everything in them.' },
} as const satisfies Options

export const yesOption = {
  yes: { short: 'y', help: 'Delete without a question.' },
} as const satisfies Options

export const defaultConcurrency = 8

/** @throws CommandError */
export function parseConcurrency(text: string | undefined): number {
  if (text === undefined) return defaultConcurrency
  const number = Number(text)
  if (/^\d{1,2}$/.test(text) && number >= 1 && number <= 64) return number
  throw usageError(`--concurrency must be a whole number from 1 to 64, not "${text}".`)
}
