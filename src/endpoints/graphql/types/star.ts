/** Stars and tags of entries. */
import { needs } from '../../../auth/needs.ts'
import { type EntryStar, maxStarsPage } from '../../../services/entry-metadata/stars.ts'
import {
  maxTaggedPage,
  maxTagName,
  maxTagsOfEntry,
  maxTagsPage,
  type TagCount,
} from '../../../services/entry-metadata/tags.ts'
import type { FileEntry } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost, connectionCost } from '../cost.ts'
import { EntryRef } from '../refs.ts'
import { at, atEntry, authorizedBy } from '../rules.ts'
import { LocationInput } from './job.ts'
import { definePage, toPage } from './page.ts'

builder.interfaceFields(EntryRef, t => ({
  isStarred: t.boolean({
    description: 'Whether you have given the entry a star. Other members see only their own.',
    authScopes: atEntry,
    resolve: (_entry, args, context) =>
      context.services.entryStars.has(context.viewer, authorizedBy(context, args, needs.read)),
  }),
  tags: t.stringList({
    description: 'The tags of the entry, in the order of the alphabet.',
    authScopes: atEntry,
    complexity: { field: 1, multiplier: 1 },
    resolve: (_entry, args, context) =>
      context.services.entryTags.of(context.viewer, authorizedBy(context, args, needs.read)),
  }),
}))

interface StarredEntry {
  entry: FileEntry
  star: EntryStar
}

const Star = builder.objectRef<StarredEntry>('Star').implement({
  description: 'A star that you have given to an entry.',
  fields: t => ({
    entry: t.field({
      type: EntryRef,
      description: 'The file or folder, as the catalogue knows it.',
      resolve: ({ entry }) => entry,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'The time at which you gave the star.',
      resolve: ({ star }) => star.createdAt,
    }),
  }),
})

const Tag = builder.objectRef<TagCount>('Tag').implement({
  description: 'A tag of entries that you can access.',
  fields: t => ({
    name: t.exposeString('name', { description: 'The name. Two names that differ only in case are one tag.' }),
    count: t.exposeInt('count', { description: 'The number of entries with the tag that you can access.' }),
  }),
})

const StarConnection = definePage<StarredEntry>('Star', Star, 'stars')
const TagConnection = definePage<TagCount>('Tag', Tag, 'tags')
const TaggedEntryConnection = definePage<FileEntry>('TaggedEntry', EntryRef, 'entries with a tag')

builder.queryFields(t => ({
  stars: t.field({
    type: StarConnection,
    description: 'Returns your stars of entries that you can access, the newest first.',
    authScopes: { scope: 'read' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of stars, 1 to ${maxStarsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxStarsPage),
    resolve: async (_root, { first, after }, { services, viewer }) => {
      const page = await services.entryStars.list(viewer, { first: first ?? 50, after })
      return toPage(page, after, ({ entry, mark: star }) => ({ entry, star }))
    },
  }),
  tags: t.field({
    type: TagConnection,
    description: 'Returns the tags of all entries that you can access, in the order of the alphabet.',
    authScopes: { scope: 'read' },
    args: {
      first: t.arg.int({ defaultValue: 100, description: `The maximum number of tags, 1 to ${maxTagsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxTagsPage),
    resolve: async (_root, { first, after }, { services, viewer }) =>
      toPage(await services.entryTags.list(viewer, { first: first ?? 100, after }), after, ({ tag }) => tag),
  }),
  taggedEntries: t.field({
    type: TaggedEntryConnection,
    description: 'Returns the entries with a tag that you can access. The ones that got it last come first.',
    authScopes: { scope: 'read' },
    args: {
      tag: t.arg.string({ required: true, description: 'The name of the tag.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of entries, 1 to ${maxTaggedPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxTaggedPage),
    resolve: async (_root, { tag, first, after }, { services, viewer }) => {
      const page = await services.entryTags.tagged(viewer, { tag, first: first ?? 50, after })
      return toPage(page, after, ({ entry }) => entry)
    },
  }),
}))

const UpdateTagsInput = builder.inputType('UpdateTagsInput', {
  description: 'The entry, and the tags that it gets and loses.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of the file or folder.' }),
    add: t.stringList({
      description: `The tags to add, each of at most ${maxTagName} characters. An entry has at most ${maxTagsOfEntry} tags.`,
    }),
    remove: t.stringList({ description: 'The tags to remove. Those that the entry does not have are ignored.' }),
  }),
})

builder.mutationFields(t => ({
  addStar: t.boolean({
    description:
      'Gives a file or folder a star of yours, which no list shows to others. It follows the entry when that is moved or renamed through Stowage, also to the trash and back. Returns true.',
    authScopes: at(needs.read),
    audit: 'STAR_ADD',
    complexity: backEndCost,
    args: { input: t.arg({ type: LocationInput, required: true, description: 'The file or folder.' }) },
    resolve: async (_root, args, context) => {
      await context.services.entryStars.add(context.viewer, authorizedBy(context, args, needs.read), context.signal)
      return true
    },
  }),
  removeStar: t.boolean({
    description: 'Takes the star of a file or folder away, even if that is gone. Returns false.',
    authScopes: at(needs.read),
    audit: 'STAR_REMOVE',
    args: { input: t.arg({ type: LocationInput, required: true, description: 'The file or folder.' }) },
    resolve: async (_root, args, context) => {
      await context.services.entryStars.remove(context.viewer, authorizedBy(context, args, needs.read))
      return false
    },
  }),
  updateTags: t.stringList({
    description:
      'Changes the tags of a file or folder, which everybody sees who may read it, and returns those that it has then. Tags follow the entry when that is moved or renamed through Stowage.',
    authScopes: at(needs.delete),
    audit: 'TAGS_UPDATE',
    complexity: backEndCost,
    args: { input: t.arg({ type: UpdateTagsInput, required: true, description: 'The entry and its tags.' }) },
    resolve: (_root, args, context) => {
      const { add, remove } = args.input
      const input = { ...authorizedBy(context, args, needs.delete), add: add ?? [], remove: remove ?? [] }
      return context.services.entryTags.update(context.viewer, input, context.signal)
    },
  }),
}))
