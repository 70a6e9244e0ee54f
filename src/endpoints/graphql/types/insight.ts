import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import type { FileRank } from '../../../db/catalogue/insight.ts'
import {
  type DuplicateFiles,
  type LocatedFile,
  maxCopies,
  maxDuplicatePage,
  maxRankedFiles,
  maxUsageParts,
  type Usage,
  type UsagePart,
} from '../../../services/catalogue/insight.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { FileRef, StorageProviderRef } from '../refs.ts'
import { at, authorizedBy } from '../rules.ts'
import { ChecksumRef } from './entry.ts'
import { LocationInput } from './job.ts'
import { definePage, type Page, toPage } from './page.ts'

const withinText = 'The folders to look at, with everything below them. Default: everything that you can access.'

const UsagePartType = builder.objectRef<UsagePart>('UsagePart').implement({
  description: 'A folder or a whole storage, with the files in it and below.',
  fields: t => ({
    provider: t.field({ type: StorageProviderRef, description: 'The provider.', resolve: ({ provider }) => provider }),
    path: t.string({ description: 'The path of the folder.', resolve: ({ path }) => formatPath(path) }),
    files: t.expose('files', { type: 'SafeInt', description: 'The number of files.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'The sum of their known sizes, in bytes.' }),
  }),
})

const UsageType = builder.objectRef<Usage>('StorageUsage').implement({
  description: 'The space that files take up, according to the catalogues.',
  fields: t => ({
    files: t.expose('files', { type: 'SafeInt', description: 'The number of all files.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'The sum of their known sizes, in bytes.' }),
    directFiles: t.field({
      type: 'SafeInt',
      description: 'The number of the files directly in the folder, if the query names one.',
      resolve: ({ direct }) => direct.files,
    }),
    directBytes: t.field({
      type: 'SafeInt',
      description: 'The sum of the sizes of these files, in bytes.',
      resolve: ({ direct }) => direct.bytes,
    }),
    parts: t.field({
      type: [UsagePartType],
      description: `The folders in the folder that the query names, or else the folders that it looks at; the largest first, at most ${maxUsageParts}.`,
      complexity: { field: 1, multiplier: maxUsageParts },
      resolve: ({ parts }) => parts,
    }),
    isComplete: t.exposeBoolean('isComplete', { description: 'Whether the catalogues have every file.' }),
  }),
})

const ranks: Record<FileRank, { description: string }> = {
  LARGEST: { description: 'The largest first.' },
  OLDEST: { description: 'Those that were changed the longest time ago first.' },
  NEWEST: {
    description: 'Those that were changed last first, without those whose time is more than a day in the future.',
  },
}

const FileRankEnum = builder.enumType('FileRank', { description: 'An order of files.', values: ranks })

const LocatedFileType = builder.objectRef<LocatedFile>('LocatedFile').implement({
  description: 'A file with its provider. It is as the catalogue knows it.',
  fields: t => ({
    file: t.field({ type: FileRef, description: 'The file.', resolve: ({ entry }) => entry }),
    provider: t.field({
      type: StorageProviderRef,
      description: 'The provider that stores it.',
      resolve: ({ provider }) => provider,
    }),
  }),
})

const Duplicate = builder.objectRef<DuplicateFiles>('Duplicate').implement({
  description: 'Files with the same content, or at least with the same size.',
  fields: t => ({
    size: t.expose('size', { type: 'SafeInt', description: 'The size of each file in bytes.' }),
    checksum: t.field({
      type: ChecksumRef,
      nullable: true,
      description:
        'The checksum that the back ends gave for all of these files. If it is null, only their sizes are known to be equal.',
      resolve: ({ checksum }) => checksum,
    }),
    files: t.field({
      type: [LocatedFileType],
      description: `The files, at most ${maxCopies}.`,
      complexity: { field: 1, multiplier: maxCopies },
      resolve: ({ files }) => files,
    }),
  }),
})

const DuplicateConnection = definePage<DuplicateFiles>('Duplicate', Duplicate, 'groups of files with the same content')

builder.queryFields(t => ({
  storageUsage: t.field({
    type: UsageType,
    description: 'Returns what takes up space, from the catalogues.',
    authScopes: at(needs.search),
    args: { within: t.arg({ type: [LocationInput], description: withinText }) },
    resolve: (_root, args, context) =>
      context.services.catalogue.usage(context.viewer, authorizedBy(context, args, needs.search), context.signal),
  }),
  rankedFiles: t.field({
    type: [LocatedFileType],
    description: 'Returns the largest, the oldest or the newest files, from the catalogues.',
    authScopes: at(needs.search),
    args: {
      within: t.arg({ type: [LocationInput], description: withinText }),
      rank: t.arg({ type: FileRankEnum, required: true, description: 'The order.' }),
      first: t.arg.int({ defaultValue: 20, description: `The maximum number of files, 1 to ${maxRankedFiles}.` }),
    },
    complexity: ({ first }) => connectionCost(first, maxRankedFiles),
    resolve: (_root, args, context) => {
      const { services, viewer, signal } = context
      const asked = authorizedBy(context, args, needs.search)
      return services.catalogue.rankedFiles(viewer, asked, { rank: args.rank, first: args.first ?? 20 }, signal)
    },
  }),
  duplicates: t.field({
    type: DuplicateConnection,
    description:
      'Returns groups of files that seem to be copies of each other, from the catalogues: the largest files first. Files whose back ends give checksums are compared by these, and others by their sizes.',
    authScopes: { scope: 'read' },
    args: {
      providerId: t.arg.id({ description: 'The ID of the only provider to look at.' }),
      first: t.arg.int({ defaultValue: 20, description: `The maximum number of groups, 1 to ${maxDuplicatePage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxDuplicatePage),
    resolve: async (
      _root,
      { providerId, first, after },
      { services, viewer, signal },
    ): Promise<Page<DuplicateFiles>> => {
      const found = await services.catalogue.duplicates(viewer, providerId, { first: first ?? 20, after }, signal)
      return toPage(found, after, item => item)
    },
  }),
}))
