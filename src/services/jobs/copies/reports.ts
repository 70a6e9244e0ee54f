/** The reports of jobs that keep copies, as pages and as a whole. */
import type { Viewer } from '../../../auth/viewer.ts'
import type { Database } from '../../../db/client.ts'
import { countUnlisted, listFindings } from '../../../db/jobs/failures.ts'
import type { JobRecord } from '../../../db/jobs/jobs.ts'
import { findProviders } from '../../../db/providers.ts'
import { AppError } from '../../../errors.ts'
import { parsePageSize } from '../../input.ts'
import { maxFindings } from '../job-run.ts'
import { type CheckedLocation, type ReportFinding, toChecks, toFinding } from './report.ts'

/** The maximum number of findings of one page. */
export const maxFindingsPage = 1000
/**
 * The maximum number of findings that are downloaded at once: more than a job lists when it has ended, with those that say why. While it
 * runs, planned repairs can be more.
 */
const maxDownloaded = maxFindings + 100

export interface FindingsPage {
  items: { finding: ReportFinding; cursor: string }[]
  hasNext: boolean
}

/** A whole report. */
export interface CopyReportContent {
  job: JobRecord
  locations: readonly (CheckedLocation & { storage: string | null })[]
  /** The names of the storages by their ids. */
  names: ReadonlyMap<string, string>
  /** The number of findings that the report has no room for. */
  unlisted: number
  /** Fails when the viewer may not see the job any more. */
  findings: AsyncGenerator<ReportFinding, void, undefined>
}

export function createCopyReports(db: Database, find: (viewer: Viewer | null, id: string) => Promise<JobRecord>) {
  /** Returns what a job has found, in the order in which it found it. @throws INVALID_INPUT, INVALID_CURSOR */
  async function findings(
    job: JobRecord,
    page: { first: number; after?: string | null | undefined },
  ): Promise<FindingsPage> {
    const limit = parsePageSize(page.first, maxFindingsPage)
    if (page.after != null && !/^\d{1,18}$/.test(page.after)) throw new AppError('INVALID_CURSOR')
    if (!job.keeping) return { items: [], hasNext: false }
    const found = await listFindings(db, job.id, { limit: limit + 1, after: page.after ?? null })
    const items = found.slice(0, limit).map(entry => ({ finding: toFinding(job, entry), cursor: entry.id }))
    return { items, hasNext: found.length > limit }
  }

  async function* all(viewer: Viewer | null, job: JobRecord): AsyncGenerator<ReportFinding, void, undefined> {
    let after: string | null = null
    for (let left = maxDownloaded, hasNext = true; hasNext && left > 0; ) {
      const page: FindingsPage = await findings(job, { first: Math.min(left, maxFindingsPage), after })
      for (const { finding } of page.items) yield finding
      left -= page.items.length
      hasNext = page.hasNext
      after = page.items.at(-1)?.cursor ?? null
      if (hasNext) await find(viewer, job.id)
    }
  }

  return {
    findings,

    /** Opens the report of a job. @throws SCOPE_REQUIRED, NOT_FOUND */
    async open(viewer: Viewer | null, id: string): Promise<CopyReportContent> {
      const job = await find(viewer, id)
      if (!job.keeping) throw new AppError('NOT_FOUND', 'This job keeps no copies, so it has no report.')
      const found = await findProviders(db, [...new Set(job.sources.map(({ providerId }) => providerId))])
      const names = new Map(found.map(provider => [provider.id, provider.name]))
      const locations = toChecks(job).map(each => ({ ...each, storage: names.get(each.providerId) ?? null }))
      const unlisted = await countUnlisted(db, id, maxDownloaded)
      return { job, locations, names, unlisted, findings: all(viewer, job) }
    },
  }
}
