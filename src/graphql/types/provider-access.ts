import { basePathIn, intersectAccess } from '../../auth/access.ts'
import { formatPath } from '../../auth/path.ts'
import { builder } from '../builder.ts'
import { providersCost } from '../cost.ts'
import { ProviderAccessRef, StorageProviderRef } from '../refs.ts'
import { notALocation } from '../rules-plugin.ts'

const ProviderRestriction = builder
  .objectRef<{ provider: typeof StorageProviderRef.$inferType; basePath: string }>('ProviderRestriction')
  .implement({
    description: 'One provider that may be used, and how much of it.',
    fields: t => ({
      provider: t.field({
        type: StorageProviderRef,
        description: 'The provider.',
        resolve: restriction => restriction.provider,
      }),
      basePath: t.exposeString('basePath', {
        description: 'The folder that can be reached, with all below it; "/" is the entire provider.',
      }),
    }),
  })

ProviderAccessRef.implement({
  description: 'Which providers can be used: all of the workspace, also those connected later, or only those listed.',
  fields: t => ({
    all: t.boolean({ description: 'Whether every provider can be used.', resolve: ({ access }) => access.all }),
    restrictions: t.field({
      type: [ProviderRestriction],
      description:
        'Where not all can be used, those that can, as far as whoever looks reaches them and they still exist.',
      authScopes: { public: true },
      complexity: providersCost,
      resolve: async ({ access, seenBy }, _args, context) => {
        if (access.all || !seenBy) return []
        const reachable = await context.reachableProviders(seenBy)
        const shared = intersectAccess(access, seenBy.access)
        return [...access.basePaths].flatMap(([id, basePath]) => {
          const provider = reachable.get(id)
          // A base path names a folder, too: none where whoever looks reaches nothing.
          const isSeen = provider !== undefined && basePathIn(shared, id) !== null
          return isSeen ? [{ provider, basePath: formatPath(basePath) }] : []
        })
      },
    }),
  }),
})

const ProviderRestrictionInput = builder.inputType('ProviderRestrictionInput', {
  description: 'One provider to be allowed.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of a connected provider. Each is listed once at most.' }),
    basePath: t.string({
      required: true,
      defaultValue: '/',
      description: 'The folder to be reached, with all below it.',
      // It is given to somebody; the services refuse what exceeds the giver.
      ...notALocation,
    }),
  }),
})

export const ProviderAccessInput = builder.inputType('ProviderAccessInput', {
  description: 'Either all providers, which is the default, or a list of restrictions.',
  fields: t => ({
    all: t.boolean({ description: 'Every provider of the workspace, also those connected later.' }),
    restrictions: t.field({
      type: [ProviderRestrictionInput],
      description: 'Only these, each within its base path; at most 1,000.',
    }),
  }),
})
