import { basePathsIn, listBasePaths } from '../../../auth/access.ts'
import { formatPath, isWithin } from '../../../auth/path.ts'
import { builder } from '../builder.ts'
import { providersCost } from '../cost.ts'
import { ProviderAccessRef, StorageProviderRef } from '../refs.ts'
import { notALocation } from '../rules.ts'

export const RoleEnum = builder.enumType('Role', {
  description: 'The role of a member in the workspace. A credential never has more access than the role of its owner.',
  values: {
    OWNER: { description: 'Has the scope admin. Only owners can appoint owners. A workspace has at least one owner.' },
    ADMIN: { description: 'Has the scope admin.' },
    EDITOR: { description: 'Has the scope write.' },
    VIEWER: { description: 'Has the scope read.' },
    NONE: { description: 'Has no scope. Can manage only their own account.' },
  } as const,
})

export const ScopeEnum = builder.enumType('Scope', {
  description:
    'A level of permission of a credential. Each scope includes those below it: admin includes write, write includes read.',
  values: {
    read: { description: 'List folders, browse and download files, list providers.' },
    write: { description: 'Upload, delete, move, rename and copy files, and create folders.' },
    admin: { description: 'Manage workspace settings, members and providers. Full access.' },
  } as const,
})

const ProviderRestriction = builder
  .objectRef<{ provider: typeof StorageProviderRef.$inferType; basePath: string }>('ProviderRestriction')
  .implement({
    description: 'One accessible folder of a provider.',
    fields: t => ({
      provider: t.field({
        type: StorageProviderRef,
        description: 'The provider.',
        resolve: restriction => restriction.provider,
      }),
      basePath: t.exposeString('basePath', {
        description: 'The accessible folder, including everything below it. "/" is the whole provider.',
      }),
    }),
  })

ProviderAccessRef.implement({
  description:
    'The providers that can be used: all in the workspace, including those connected later, or only those listed.',
  fields: t => ({
    all: t.boolean({ description: 'Whether every provider can be used.', resolve: ({ access }) => access.all }),
    restrictions: t.field({
      type: [ProviderRestriction],
      description:
        'The accessible folders, if `all` is false. A provider is listed once for each of its accessible folders. Only providers that still exist and that you can access are listed.',
      authScopes: { public: true },
      complexity: providersCost,
      resolve: async ({ access, seenBy }, _args, context) => {
        if (access.all || !seenBy) return []
        const accessible = await context.accessibleProviders(seenBy)
        return [...listBasePaths(access)].flatMap(([id, basePath]) => {
          const provider = accessible.get(id)
          const own = basePathsIn(seenBy.access, id) ?? []
          // A base path reveals a folder name, so it is hidden from viewers who cannot access any of it.
          const isVisible = own.some(path => isWithin(path, basePath) || isWithin(basePath, path))
          return provider && isVisible ? [{ provider, basePath: formatPath(basePath) }] : []
        })
      },
    }),
  }),
})

const ProviderRestrictionInput = builder.inputType('ProviderRestrictionInput', {
  description: 'One folder of a provider to grant access to.',
  fields: t => ({
    providerId: t.id({
      required: true,
      description:
        'The ID of a connected provider. A member or an invite can list it several times, each time with another folder. A key lists it only once.',
    }),
    basePath: t.string({
      required: true,
      defaultValue: '/',
      description: 'The folder to grant access to, including everything below it.',
      // The services refuse a grant that exceeds the access of the person who makes it.
      ...notALocation,
    }),
  }),
})

export const ProviderAccessInput = builder.inputType('ProviderAccessInput', {
  description: 'Either all providers, which is the default, or a list of restrictions.',
  fields: t => ({
    all: t.boolean({
      description: 'Whether to grant access to every provider of the workspace, including those connected later.',
    }),
    restrictions: t.field({
      type: [ProviderRestrictionInput],
      description: 'The only accessible providers, each within its base paths. At most 1,000.',
    }),
  }),
})
