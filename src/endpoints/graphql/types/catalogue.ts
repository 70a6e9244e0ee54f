import type { CatalogueMode } from '../../../db/schema.ts'
import { type CatalogueState, type CatalogueStatus, maxCounted } from '../../../services/catalogue/index.ts'
import { builder } from '../builder.ts'
import { StorageProviderRef } from '../refs.ts'

const modes: Record<CatalogueMode, { description: string }> = {
  OFF: { description: 'There is no catalogue, so the search finds nothing in the provider.' },
  NAMES: { description: 'The catalogue has the names, sizes and times of all entries.' },
  CONTENT: {
    description:
      'The catalogue has also the words of text files, documents and messages, which the server reads once for each version.',
  },
}

export const CatalogueModeEnum = builder.enumType('CatalogueMode', {
  description: 'How much of a provider its catalogue contains, for the search.',
  values: modes,
})

const states: Record<CatalogueState, { description: string }> = {
  OFF: { description: 'There is no catalogue.' },
  WAITING: { description: 'The first listing of the provider has not begun.' },
  INDEXING: { description: 'The first listing of the provider has begun.' },
  READY: { description: 'The first listing has ended. Changes are followed.' },
  FAILED: { description: 'The back end does not work. The server keeps what it has, and tries again.' },
}

const CatalogueStateEnum = builder.enumType('CatalogueState', {
  description: 'How far the catalogue of a provider has come.',
  values: states,
})

const CatalogueType = builder.objectRef<CatalogueStatus>('Catalogue').implement({
  description: 'The state of the catalogue of a provider: the entries that the server keeps for the search.',
  fields: t => ({
    mode: t.expose('mode', { type: CatalogueModeEnum, description: 'How much the catalogue contains.' }),
    state: t.expose('state', { type: CatalogueStateEnum, description: 'How far it has come.' }),
    entries: t.expose('entries', {
      type: 'SafeInt',
      nullable: true,
      description: 'The number of entries in it. Null if you can access only a part of the provider.',
    }),
    indexedAt: t.expose('indexedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Every change before this time is in it. Null before the end of the first listing.',
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether it has every entry, except changes of the last seconds and those made at the back end itself.',
    }),
    waitingFiles: t.field({
      type: 'SafeInt',
      nullable: true,
      description: `The number of files whose text is still to be read; more than ${maxCounted} are not counted. Null without the mode CONTENT, or if you can access only a part of the provider.`,
      resolve: async ({ content }) => (await content())?.waiting ?? null,
    }),
    failedFiles: t.field({
      type: 'SafeInt',
      nullable: true,
      description: `The number of files whose text cannot be read, until they change: they are damaged, encrypted, too large or not what their name says; more than ${maxCounted} are not counted. Null as \`waitingFiles\`.`,
      resolve: async ({ content }) => (await content())?.failed ?? null,
    }),
  }),
})

builder.objectField(StorageProviderRef, 'catalogue', t =>
  t.field({
    type: CatalogueType,
    description: 'The state of the catalogue of the provider, for the search.',
    authScopes: { scope: 'read' },
    resolve: (record, _args, { services, viewer }) => services.catalogue.statusOf(viewer, record),
  }),
)
