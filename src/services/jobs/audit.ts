import type { Change } from '../../db/client.ts'
import { countDamage } from '../../db/jobs/failures.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import { findMember } from '../../db/members.ts'
import type { ScheduledJob } from '../../db/schema.ts'
import { cut, namedSources } from '../audit/event.ts'
import type { Audit, AuditFacts } from '../audit/index.ts'
import type { LocationInput } from '../files/entry.ts'

/** Records the end of a job with its counts, instead of one event for each file, and the damage that it has found, unless the job continues. */
export type RecordEnd = (change: Change, job: JobRecord) => Promise<void>

/** @param onDamage called with the numbers of files that a job has found damaged or missing */
export function createJobAudit(audit: Audit, onDamage: (damage: Damage) => void): RecordEnd {
  return async (change, job) => {
    const { id, workspaceId, userId, state, endedAt } = job
    if (endedAt === null) return
    const user = await findMember(change, workspaceId, userId)
    if (!user) return
    const { files, bytes, skipped, deleted, failed } = job.progress
    // The mutation of an atomic job has an event of its own.
    const changed = job.dryRun || job.isAtomic ? 0 : job.kind === 'DELETE' ? deleted : files
    const [location] = job.sources
    const facts = {
      user,
      credential: { kind: job.credentialKind, id: job.credentialId },
      subject: { kind: 'JOB', id } as const,
      ...(location && { location }),
    }
    await audit.writeOwn(
      change,
      'JOB_END',
      {
        ...facts,
        ...(job.target && { to: job.target }),
        bytes,
        details: {
          kind: job.kind,
          state,
          files,
          skipped,
          deleted,
          failed,
          ...(changed > 0 && { changed }),
          ...(job.isAtomic && { isAtomic: true }),
          ...namedSources(job.sources),
        },
      },
      job.error?.reason ?? 'OK',
    )
    const damage = await damageOf(change, job)
    if (damage.damaged === 0 && damage.missing === 0) return
    const details = { kind: job.kind, ...damage, ...namedSources(job.sources) }
    await audit.writeOwn(change, 'DAMAGE_FOUND', { ...facts, details }, 'OK')
    onDamage(damage)
  }
}

/** Numbers of files. */
export interface Damage {
  damaged: number
  missing: number
  restored: number
}

/** Returns what a job has found, which jobs that neither verify nor keep copies do not look for. */
async function damageOf(change: Change, { id, kind, checks, progress }: JobRecord): Promise<Damage> {
  if (kind === 'VERIFY' && progress.failed > 0) return { ...(await countDamage(change, id)), restored: 0 }
  const sum = (count: keyof Damage) => (checks ?? []).reduce((total, each) => total + each[count], 0)
  return { damaged: sum('damaged'), missing: sum('missing'), restored: sum('restored') }
}

/** Describes a job for the audit log. The location of the event is the first source. */
export function factsOf({
  kind,
  sources,
  target,
  conflict,
  restoreAt,
}: Pick<ScheduledJob, 'kind' | 'conflict'> & {
  restoreAt?: Date | null | undefined
  sources: readonly LocationInput[]
  target?: (LocationInput & { name?: string | null | undefined }) | null | undefined
}): AuditFacts {
  const [first] = sources
  return {
    ...(first && { location: first }),
    ...(target && { to: target }),
    details: {
      kind,
      conflict,
      ...namedSources(sources),
      ...(target?.name != null && { targetName: cut(target.name) }),
      ...(isTime(restoreAt) && { restoreAt: restoreAt.toISOString() }),
    },
  }
}

/** An input may have an invalid time, which is refused later. */
function isTime(date: Date | null | undefined): date is Date {
  return date != null && !Number.isNaN(date.getTime())
}
