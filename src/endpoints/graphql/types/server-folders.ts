import type { ServerFolders } from '../../../../adapters/contract.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { notALocation } from '../rules.ts'

const ServerFolderRef = builder.objectRef<ServerFolders['folders'][number]>('ServerFolder').implement({
  description: 'A folder on the machine of the server.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Its name, or its whole path at the top.' }),
    path: t.exposeString('path', { description: 'Its absolute path, for the configuration.' }),
  }),
})

const ServerFoldersRef = builder.objectRef<ServerFolders>('ServerFolders').implement({
  description: 'One level of the folders that a configuration may name.',
  fields: t => ({
    path: t.exposeString('path', {
      nullable: true,
      description: 'The folder that was listed. Null above all folders that the operator allows.',
    }),
    parent: t.exposeString('parent', {
      nullable: true,
      description: 'The folder that contains it. Null for those that the operator allows.',
    }),
    folders: t.expose('folders', {
      type: [ServerFolderRef],
      description: 'Its folders, sorted by name, at most 500. Hidden ones and links are left out.',
    }),
    isComplete: t.exposeBoolean('isComplete', { description: 'False if there are more.' }),
  }),
})

builder.queryField('serverFolders', t =>
  t.field({
    type: ServerFoldersRef,
    description: 'Lists the folders of the server that a provider of this type can be connected to.',
    authScopes: { workspace: 'admin' },
    complexity: backEndCost,
    args: {
      type: t.arg.string({ required: true, description: 'The type: one of `providerTypes`, such as local.' }),
      path: t.arg.string({
        description: 'The folder to list. Null lists the folders that the operator allows.',
        // A path of the machine, not of a provider.
        ...notALocation,
      }),
    },
    resolve: (_root, { type, path }, { services, viewer, signal }) =>
      services.providers.serverFolders(viewer, { type, path: path ?? null }, signal),
  }),
)
