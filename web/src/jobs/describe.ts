/** Describes jobs in words. */

import { nameOfPath } from '../api/locations.ts'
import { common } from '../texts/common.ts'
import { errorText } from '../texts/errors.ts'
import { formatBytes } from '../texts/format.ts'
import { texts } from '../texts/jobs.ts'
import type { Job, JobAction, JobStateName } from './jobs.ts'

export const stateTitles: Record<JobStateName, string> = texts.states

/** Describes what a job does: "Copy “photos” to “archive”". @param storages the names of the storages by their ids */
export function titleOf(
  { kind, sources, target, targetName, dryRun }: Pick<Job, 'kind' | 'sources' | 'target' | 'targetName' | 'dryRun'>,
  storages: ReadonlyMap<string, string>,
): string {
  const nameOf = ({ providerId, path }: { providerId: string; path: string }) =>
    common.quoted(path === '/' ? (storages.get(providerId) ?? texts.aStorage) : nameOfPath(path))
  const [first] = sources
  // The first source is the folder, and the others are its copies.
  const isOne = sources.length === 1 || kind === 'KEEP_COPIES'
  const subject = first && isOne ? nameOf(first) : texts.items(sources.length)
  const folder = target && (targetName === null ? nameOf(target) : common.quoted(targetName))
  return texts.title(texts.kindTitles[kind], subject, folder, dryRun)
}

/** Returns the progress in percent; null if the total is unknown. */
export function percentOf({ state, kind, progress }: Job): number | null {
  const { files, bytes, skipped, deleted, totalFiles, totalBytes } = progress
  if (state === 'SUCCEEDED') return 100
  if (totalFiles === null || totalBytes === null) return null
  const isCounted = kind === 'DELETE' || totalBytes === 0 || skipped > 0
  const share = isCounted ? (files + skipped + (kind === 'DELETE' ? deleted : 0)) / totalFiles : bytes / totalBytes
  return Number.isFinite(share) ? Math.min(100, Math.floor(share * 100)) : null
}

/** Describes how far a job is, and what failed. */
export function statusOf(job: Job): string {
  const { state, kind, progress, error } = job
  const { files, bytes, skipped, deleted, failed, totalFiles, totalBytes, bytesPerSecond } = progress
  const done = kind === 'DELETE' ? texts.items(deleted) : texts.files(files)
  const parts: string[] = [stateTitles[state]]
  if (state === 'RUNNING' || state === 'PAUSED') {
    parts.push(totalFiles === null || kind === 'DELETE' ? done : texts.filesOf(files + skipped, totalFiles))
    if (state === 'RUNNING' && bytesPerSecond > 0) {
      parts.push(texts.perSecond(bytesPerSecond))
      if (totalBytes !== null && totalBytes > bytes) parts.push(texts.left((totalBytes - bytes) / bytesPerSecond))
    }
  } else if (state !== 'QUEUED') {
    parts.push(done)
    if (bytes > 0) parts.push(formatBytes(bytes))
    if (skipped > 0) parts.push(texts.skipped(skipped))
  }
  if (failed > 0) parts.push(texts.failed(failed))
  if (error) parts.push(errorText(error))
  return parts.join(' · ')
}

/** Returns what can be done with a job now. */
export function actionsOf({ state }: Job): readonly JobAction[] {
  if (state === 'QUEUED' || state === 'RUNNING') return ['pause', 'cancel']
  if (state === 'PAUSED') return ['resume', 'cancel']
  return state === 'SUCCEEDED' ? [] : ['retry']
}
