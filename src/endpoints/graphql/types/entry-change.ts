import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import type { EntryChange, EntryChangeKind, EntryEvent } from '../../../services/events/index.ts'
import { builder } from '../builder.ts'
import { at } from '../rules.ts'
import { LocationInput } from './job.ts'

const kinds: Record<EntryChangeKind, { description: string }> = {
  WRITTEN: { description: 'A file or folder was created or replaced at the path, with everything below it.' },
  REMOVED: { description: 'The file or folder at the path was deleted or moved away, with everything below it.' },
  TREE_CHANGED: {
    description: 'Any number of entries at the path and below it may have changed: list them again.',
  },
}
const EntryChangeKindEnum = builder.enumType('EntryChangeKind', {
  description: 'A kind of change of an entry.',
  values: kinds,
})

const EntryChangeType = builder.objectRef<EntryChange>('EntryChange').implement({
  description: 'A change of a file or folder.',
  fields: t => ({
    kind: t.expose('kind', { type: EntryChangeKindEnum, description: 'The kind of the change.' }),
    providerId: t.exposeID('providerId', { description: 'The ID of the provider.' }),
    path: t.string({ description: 'The path of the entry.', resolve: ({ path }) => formatPath(path) }),
    at: t.expose('at', { type: 'DateTime', description: 'The time of the change.' }),
  }),
})

builder.subscriptionField('entryChanged', t =>
  t.field({
    type: EntryChangeType,
    description:
      'Returns the changes of a file or folder, and of everything below it, that are made through Stowage. Begins with TREE_CHANGED when changes are received from then on, and repeats it whenever some may have been missed: list the folder each time, and no change is lost.',
    authScopes: at(needs.follow),
    args: {
      providerId: t.arg.id({ required: true, description: 'The ID of the provider.' }),
      path: t.arg.string({ required: true, description: 'The path of the file or folder.' }),
      others: t.arg({
        type: [LocationInput],
        description: 'Up to 49 other locations to follow, each as the first.',
      }),
    },
    subscribe: (_root, location, { services, viewer, signal }) =>
      services.events.followEntries(viewer, location, signal),
    resolve: ({ change }: EntryEvent) => change,
  }),
)
