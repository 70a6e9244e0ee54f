import { formatBytes, formatNumber } from '../texts/format.ts'
import { texts } from '../texts/quotas.ts'
import { SpaceMeter } from './space-meter.tsx'

/** A quota and what counts against it. Null is no limit. */
export interface QuotaUsage {
  bytes: number | null
  files: number | null
  usedBytes: number
  usedFiles: number
  isExact: boolean
}

/** Shows how much of a quota is used: one bar for each of its limits. */
export function QuotaBars({ quota }: { quota: QuotaUsage }) {
  const { bytes, files, usedBytes, usedFiles, isExact } = quota
  return (
    <>
      {bytes !== null && (
        <SpaceMeter
          label={texts.quota}
          text={texts.usedBytes(formatBytes(usedBytes), formatBytes(bytes))}
          used={usedBytes}
          limit={bytes}
        />
      )}
      {files !== null && (
        <SpaceMeter
          label={texts.quotaOfFiles}
          text={texts.usedFiles(formatNumber(usedFiles), formatNumber(files))}
          used={usedFiles}
          limit={files}
        />
      )}
      {!isExact && <p className="help">{texts.notExact}</p>}
    </>
  )
}
