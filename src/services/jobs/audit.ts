import type { Database } from '../../db/client.ts'
import { findJob } from '../../db/jobs/jobs.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { findMember } from '../../db/members.ts'
import type { JobState, ScheduledJob } from '../../db/schema.ts'
import { cut } from '../audit/event.ts'
import type { Audit, AuditFacts } from '../audit/index.ts'
import { namedSources } from '../audit/named-sources.ts'
import type { LocationInput } from '../files/entry.ts'

/** Returns a function that records the end of a job, with its counts in place of one event per file. */
export function createJobAudit({ db, audit }: { db: Database; audit: Audit }) {
  return async ({ id, workspaceId, userId }: JobRecord, state: JobState): Promise<void> => {
    if (state === 'PAUSED' || state === 'QUEUED') return
    const [job, user] = await Promise.all([findJob(db, workspaceId, id), findMember(db, workspaceId, userId)])
    if (!job || !user) return
    const { files, bytes, skipped, deleted, failed } = job.progress
    const [location] = job.sources
    audit.noteOwn(
      'JOB_END',
      {
        user,
        credential: { kind: job.credentialKind, id: job.credentialId },
        subject: { kind: 'JOB', id },
        ...(location && { location }),
        ...(job.target && { to: job.target }),
        bytes,
        details: { kind: job.kind, state, files, skipped, deleted, failed },
      },
      job.error?.reason ?? 'OK',
    )
  }
}

/** Describes a job for the audit log. The location of the event is the first source. */
export function factsOf({
  kind,
  sources,
  target,
  conflict,
}: Pick<ScheduledJob, 'kind' | 'conflict'> & {
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
    },
  }
}
