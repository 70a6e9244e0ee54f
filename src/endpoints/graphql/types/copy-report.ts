/** The results and findings of jobs of the kind KEEP_COPIES. */
import type { JobRecord } from '../../../db/jobs/jobs.ts'
import type { FindingKind } from '../../../db/schema.ts'
import { type CheckedLocation, type ReportFinding, toChecks } from '../../../services/jobs/copies/report.ts'
import { maxFindingsPage } from '../../../services/jobs/copies/reports.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { JobRef } from '../refs.ts'
import { Location } from './job.ts'
import { definePage, toPage } from './page.ts'

const findingKinds: Record<FindingKind, { description: string }> = {
  DAMAGED: { description: 'The file has other bytes than were stored, and nothing has changed it since.' },
  MISSING: { description: 'The file is gone, and was not deleted through this server.' },
  CHANGED: { description: 'Somebody has changed the file in a copy, where it stays.' },
  UNCLEAR: { description: 'The file may be damaged, or somebody may have changed it, so it stays as it is.' },
  FAILED: { description: 'The file could not be read or written.' },
}
const CopyFindingKindEnum = builder.enumType('CopyFindingKind', {
  description: 'What a KEEP_COPIES has found.',
  values: findingKinds,
})

const CheckedLocationType = builder.objectRef<CheckedLocation>('CheckedLocation').implement({
  description: 'What a KEEP_COPIES has done in one of its folders.',
  fields: t => ({
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.exposeString('path', { description: 'The path of the folder.' }),
    readFiles: t.expose('readFiles', { type: 'SafeInt', description: 'Files that were read again.' }),
    readBytes: t.expose('readBytes', { type: 'SafeInt', description: 'The bytes of the files that were read again.' }),
    copiedFiles: t.expose('copiedFiles', {
      type: 'SafeInt',
      description: 'New and changed files that were copied here.',
    }),
    copiedBytes: t.expose('copiedBytes', {
      type: 'SafeInt',
      description: 'The bytes of the files that were copied here.',
    }),
    damaged: t.expose('damaged', { type: 'SafeInt', description: 'Files that are or may be damaged.' }),
    missing: t.expose('missing', { type: 'SafeInt', description: 'Files that are missing.' }),
    changed: t.expose('changed', { type: 'SafeInt', description: 'Files that somebody has changed in the copy.' }),
    restored: t.expose('restored', { type: 'SafeInt', description: 'Files that were restored here.' }),
  }),
})

const CopyFindingType = builder.objectRef<ReportFinding>('CopyFinding').implement({
  description: 'A file that was not as it should be.',
  fields: t => ({
    kind: t.expose('kind', { type: CopyFindingKindEnum, description: 'What is wrong with it.' }),
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.exposeString('path', { description: 'The path.' }),
    isRestored: t.exposeBoolean('isRestored', { description: 'Whether it was restored.' }),
    from: t.expose('from', {
      type: Location,
      nullable: true,
      description: 'The good file that it was or is to be restored from, or null.',
    }),
    foundAt: t.expose('foundAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was found, if that is known.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why it is not restored: a reason from the table of errors. Null for what is restored.',
    }),
    message: t.exposeString('message', { description: 'A sentence that says what was found and done.' }),
  }),
})
const CopyFindingConnection = definePage<ReportFinding>('CopyFinding', CopyFindingType, 'findings')

const CopyReport = builder.objectRef<JobRecord>('CopyReport').implement({
  description: 'What a KEEP_COPIES has read, found and done. `GET /api/jobs/report` downloads it.',
  fields: t => ({
    locations: t.field({
      type: [CheckedLocationType],
      description: 'The folder, and then its copies.',
      resolve: job => toChecks(job),
    }),
    findings: t.field({
      type: CopyFindingConnection,
      description: 'Returns what was not as it should be.',
      authScopes: { credential: true },
      args: {
        first: t.arg.int({ defaultValue: 50, description: `The maximum number of findings, 1 to ${maxFindingsPage}.` }),
        after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      },
      complexity: ({ first }) => connectionCost(first, maxFindingsPage),
      resolve: async (job, { first, after }, { services }) => {
        const page = await services.copyReports.findings(job, { first: first ?? 50, after })
        return toPage(page, after, ({ finding }) => finding)
      },
    }),
  }),
})

builder.objectFields(JobRef, t => ({
  repair: t.boolean({
    nullable: true,
    description: 'Whether a KEEP_COPIES restores damaged and missing files. Null for other kinds.',
    resolve: ({ keeping }) => keeping?.repair ?? null,
  }),
  recheckDays: t.int({
    nullable: true,
    description: 'The days after which a KEEP_COPIES reads a file again. Null for other kinds.',
    resolve: ({ keeping }) => keeping?.recheckDays ?? null,
  }),
  copyReport: t.field({
    type: CopyReport,
    nullable: true,
    description: 'What a KEEP_COPIES has read, found and done. Null for other kinds.',
    resolve: job => (job.keeping ? job : null),
  }),
}))
