/** The report of a KEEP_COPIES, as people read and file it. */
import { formatPath, parsePath } from '../../../auth/path.ts'
import type { ReportedEntry } from '../../../db/jobs/failures.ts'
import type { JobRecord } from '../../../db/jobs/jobs.ts'
import type { FindingKind, LocationCheck, StoredLocation } from '../../../db/schema.ts'
import type { Reason } from '../../../errors.ts'

export type CheckedLocation = StoredLocation & Omit<LocationCheck, 'settled'>

type ReportedJob = Pick<JobRecord, 'sources' | 'checks'>

/** The counts before the first step. */
export const noCounts: LocationCheck = {
  readFiles: 0,
  readBytes: 0,
  copiedFiles: 0,
  copiedBytes: 0,
  damaged: 0,
  missing: 0,
  changed: 0,
  restored: 0,
  settled: 0,
}

/** Returns what was done in the folder, and then in its copies. */
export function toChecks({ sources, checks }: Pick<ReportedJob, 'sources' | 'checks'>): CheckedLocation[] {
  return sources.map((location, source) => {
    const { settled: _, ...counts } = { ...noCounts, ...checks?.[source] }
    return { ...counts, ...formatted(location) }
  })
}

function formatted({ providerId, path }: StoredLocation): StoredLocation {
  return { providerId, path: formatPath(parsePath(path)) }
}

export interface ReportFinding extends StoredLocation {
  kind: FindingKind
  isRestored: boolean
  from: StoredLocation | null
  foundAt: Date | null
  reason: Reason | null
  message: string
}

/** An entry without a finding is a folder that could not be listed. */
export function toFinding({ sources }: Pick<ReportedJob, 'sources'>, entry: ReportedEntry): ReportFinding {
  const { finding, state, path, reason, message } = entry
  const isDone = reason === null && state === 'KEPT'
  const isRestored = isDone && finding?.from != null
  const at = (source: number): StoredLocation => {
    const [original, location] = [sources[0], sources[source]]
    if (!original || !location) return { providerId: entry.providerId, path }
    const top = formatPath(parsePath(original.path))
    const below = path.slice(top === '/' ? 0 : top.length)
    const folder = formatPath(parsePath(location.path))
    return { providerId: location.providerId, path: folder === '/' ? below || '/' : `${folder}${below}` }
  }
  return {
    ...at(finding?.source ?? 0),
    kind: finding?.kind ?? 'FAILED',
    isRestored,
    from: finding?.from == null ? null : at(finding.from),
    foundAt: finding ? new Date(finding.at) : null,
    reason,
    message:
      message ?? (isRestored ? restored(finding.kind) : isDone ? settled(finding?.kind) : 'It is to be restored.'),
  }
}

function settled(kind: FindingKind | undefined): string {
  return kind === 'CHANGED' ? overtaken : corrected
}

const overtaken = 'It was damaged or missing, and somebody has written or deleted it before it could be restored.'
const corrected = 'It had other bytes than were noted, and most copies have the same, so what was noted was corrected.'

function restored(kind: FindingKind): string {
  return kind === 'MISSING'
    ? 'It was restored from the good file.'
    : 'It was restored from the good file. The damaged bytes are an earlier version of it.'
}
