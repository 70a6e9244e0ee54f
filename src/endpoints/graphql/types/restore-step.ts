import type { JobEntry } from '../../../db/jobs/entries.ts'
import { maxStepsPage } from '../../../services/jobs/index.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { JobRef } from '../refs.ts'
import { definePage, toPage } from './page.ts'

const actions = {
  CREATE: { description: 'Brings back what is not there any more.' },
  REPLACE: { description: 'Replaces the file that is there now, or adds to the folder.' },
  DELETE: { description: 'Deletes a file that was created since.' },
} as const
const RestoreActionEnum = builder.enumType('RestoreAction', {
  description: 'What a RESTORE does with a path.',
  values: actions,
})

const RestoreStep = builder.objectRef<JobEntry>('RestoreStep').implement({
  description: 'What a RESTORE would do with one file or folder.',
  fields: t => ({
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.exposeString('path', { description: 'The path.' }),
    action: t.field({
      type: RestoreActionEnum,
      description: 'What it would do.',
      resolve: ({ restores }) => {
        if (!restores) throw new Error('This entry of the job is no step of a restore')
        return restores.action
      },
    }),
    isFolder: t.boolean({
      description: 'Whether it is a folder, which comes back from the trash with everything in it.',
      resolve: ({ restores }) => restores?.kind === 'directory',
    }),
    size: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'The bytes of the file that comes back or is deleted, or null if they are not known.',
      resolve: ({ restores }) => restores?.size ?? null,
    }),
    goneAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it was replaced or deleted. Null for DELETE.',
      resolve: ({ restores }) => (restores?.until == null ? null : new Date(restores.until)),
    }),
  }),
})
const RestoreStepConnection = definePage<JobEntry>('RestoreStep', RestoreStep, 'steps of a restore')

builder.objectField(JobRef, 'restoreSteps', t =>
  t.field({
    type: RestoreStepConnection,
    description: 'Returns what a RESTORE with `dryRun` would do. Empty for other jobs.',
    authScopes: { credential: true },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of steps, 1 to ${maxStepsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxStepsPage),
    resolve: async (job, { first, after }, { services }) => {
      const page = await services.jobs.restoreSteps(job, { first: first ?? 50, after })
      return toPage(page, after, ({ step }) => step)
    },
  }),
)
