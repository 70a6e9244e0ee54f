import type { JobLimits } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'

export const defaultFilesAtOnce = 16
export const maxFilesAtOnce = 128
/** At a lower rate, connections to back ends would be idle so long that they close. */
export const minBytesPerSecond = 65_536

/** @throws INVALID_INPUT */
export function parseJobLimits({ filesAtOnce, bytesPerSecond }: JobLimits): JobLimits {
  if (filesAtOnce < 1 || filesAtOnce > maxFilesAtOnce) {
    throw new AppError('INVALID_INPUT', `"filesAtOnce" is 1 to ${maxFilesAtOnce}.`)
  }
  if (bytesPerSecond !== null && bytesPerSecond < minBytesPerSecond) {
    throw new AppError('INVALID_INPUT', `"bytesPerSecond" is at least ${minBytesPerSecond}, or null for no limit.`)
  }
  return { filesAtOnce, bytesPerSecond }
}
