/** What has changed where a member may read. */
import { needs } from '../../../auth/needs.ts'
import {
  type Activity,
  type ActivityLocation,
  activityDays,
  maxActivityPage,
  maxActivityWithin,
} from '../../../services/audit/activity.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { at, authorizedBy } from '../rules.ts'
import { LocationInput } from './job.ts'
import { definePage, toPage } from './page.ts'

const actions: Record<Activity['action'], { description: string }> = {
  UPLOAD: { description: 'A file was stored or replaced.' },
  FOLDER_CREATE: { description: 'A folder was created.' },
  RENAME: { description: 'An entry got another name.' },
  MOVE: { description: 'An entry was moved.' },
  COPY: { description: 'An entry was copied.' },
  DELETE: { description: 'An entry was deleted, or moved to the trash.' },
  RESTORE: { description: 'An entry, or an earlier version of a file, was restored.' },
  COMMENT_CREATE: { description: 'Somebody commented on an entry.' },
}

const ActivityActionEnum = builder.enumType('ActivityAction', {
  description: 'What somebody did with a file or folder.',
  values: actions,
})

const ActivityLocationRef = builder.objectRef<ActivityLocation>('ActivityLocation').implement({
  description: 'Where something changed.',
  fields: t => ({
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    providerName: t.exposeString('providerName', {
      nullable: true,
      description: 'The name of the provider at that time.',
    }),
    path: t.exposeString('path', { description: 'The absolute path at that time.' }),
  }),
})

const ActivityRef = builder.objectRef<Activity>('Activity').implement({
  description: 'A change of a file or folder, or of the files of a job.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the change. IDs sort by time.' }),
    at: t.expose('at', { type: 'DateTime', description: 'The time of the change.' }),
    action: t.expose('action', { type: ActivityActionEnum, description: 'What was done.' }),
    userId: t.exposeID('userId', {
      nullable: true,
      description: 'The ID of the member who did it; null for the server and for a visitor with a share link.',
    }),
    userName: t.exposeString('userName', {
      nullable: true,
      description: 'The name of that member at that time or, without one, the email address up to its "@".',
    }),
    isByShareLink: t.exposeBoolean('isByShareLink', { description: 'Whether a visitor with a share link did it.' }),
    isByJob: t.exposeBoolean('isByJob', { description: 'Whether a job did it, and not a request of its own.' }),
    fileCount: t.expose('fileCount', {
      type: 'SafeInt',
      nullable: true,
      description:
        'The number of files that a job has copied, moved, deleted or restored. Null for other changes, and if you cannot access all sources of the job.',
    }),
    location: t.field({
      type: ActivityLocationRef,
      nullable: true,
      description:
        'Where it was done; for a move or a copy, the source, and for a job, its first source. Null if you cannot access it.',
      resolve: activity => activity.location,
    }),
    destination: t.field({
      type: ActivityLocationRef,
      nullable: true,
      description:
        'Where a move, a copy or a new name has put it; for a job, the folder. Null for other actions, and if you cannot access it.',
      resolve: activity => activity.destination,
    }),
  }),
})

const ActivityConnection = definePage<Activity>('Activity', ActivityRef, 'changes')

builder.queryField('activity', t =>
  t.field({
    type: ActivityConnection,
    description: `Returns the changes of files and folders that you can access in the last ${activityDays} days, the newest first. What a job has copied, moved, deleted or restored is one change.`,
    authScopes: at(needs.search),
    args: {
      within: t.arg({
        type: [LocationInput],
        description: `Only changes of these files and folders and below them, at most ${maxActivityWithin}. The default is everything that you can access.`,
      }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of changes, 1 to ${maxActivityPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxActivityPage),
    resolve: async (_root, args, context) => {
      const { first, after } = args
      const asked = authorizedBy(context, args, needs.search)
      const page = await context.services.activity.list(
        context.viewer,
        asked,
        { first: first ?? 50, after },
        context.signal,
      )
      return toPage(page, after, ({ activity }) => activity)
    },
  }),
)
