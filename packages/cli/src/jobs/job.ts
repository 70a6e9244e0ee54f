import type { schema } from '../../../client/src/index.ts'
import { count, formatBytes } from '../terminal/bar.ts'

/** The fields of a job that the commands print. */
export const jobFields = [
  'id',
  'kind',
  'state',
  'dryRun',
  'files',
  'totalFiles',
  'bytes',
  'totalBytes',
  'skipped',
  'deleted',
  'failed',
  'error',
  'createdAt',
  'endedAt',
] as const

export const jobSelection = `id kind state dryRun createdAt endedAt error { reason message }
  progress { files bytes totalFiles totalBytes skipped deleted failed }`

export type ListedJob = Pick<schema.Job, 'id' | 'kind' | 'state' | 'dryRun' | 'createdAt' | 'endedAt' | 'error'> & {
  progress: Pick<schema.JobProgress, 'files' | 'bytes' | 'totalFiles' | 'totalBytes' | 'skipped' | 'deleted' | 'failed'>
}

export function jobRecord(job: ListedJob): Record<(typeof jobFields)[number], unknown> {
  const { id, kind, state, dryRun, error, createdAt, endedAt, progress } = job
  const { files, totalFiles, bytes, totalBytes, skipped, deleted, failed } = progress
  const counts = { files, totalFiles, bytes, totalBytes, skipped, deleted, failed }
  return { id, kind, state, dryRun, ...counts, error, createdAt, endedAt }
}

export function jobText({ id, kind, state, progress }: ListedJob): string {
  const { files, bytes, skipped, deleted, failed } = progress
  const counts = [`${count(files, 'file')} (${formatBytes(bytes)})`]
  if (skipped > 0) counts.push(`${skipped} skipped`)
  if (deleted > 0) counts.push(`${deleted} deleted`)
  if (failed > 0) counts.push(`${failed} failed`)
  return `${id}  ${kind}  ${state}  ${counts.join(', ')}`
}
