import { needs } from '../../../auth/needs.ts'
import { hitEnd, hitStart } from '../../../services/catalogue/content/snippet.ts'
import { type FileType, fileTypes } from '../../../services/catalogue/file-types.ts'
import {
  type Coverage,
  maxSearchPage,
  maxSearchText,
  maxWithin,
  type SearchPage,
} from '../../../services/catalogue/search.ts'
import { builder } from '../builder.ts'
import { connectionCost, pageCost } from '../cost.ts'
import { EntryRef, StorageProviderRef } from '../refs.ts'
import { at, authorizedBy } from '../rules.ts'
import { LocationInput } from './job.ts'
import { definePage, type Page, toPage } from './page.ts'

const EntryKind = builder.enumType('EntryKind', {
  description: 'The kind of an entry.',
  values: { FILE: { description: 'A file.' }, FOLDER: { description: 'A folder.' } },
})

const fileTypeTexts: Readonly<Record<FileType, string>> = {
  IMAGE: 'A photo or another image.',
  VIDEO: 'A video.',
  AUDIO: 'Music or another recording.',
  DOCUMENT: 'A text, a PDF document, a book or the document of a word processor.',
  SPREADSHEET: 'A spreadsheet, also as CSV.',
  PRESENTATION: 'A presentation.',
  ARCHIVE: 'An archive or a disk image.',
}

const FileTypeEnum = builder.enumType('FileType', {
  description: 'What a file holds, as far as the extension of its name tells.',
  values: Object.fromEntries(fileTypes.map(type => [type, { description: fileTypeTexts[type] }] as const)) as Record<
    FileType,
    { description: string }
  >,
})

const SearchInput = builder.inputType('SearchInput', {
  description: 'What to search for. An entry has to match all of the fields.',
  fields: t => ({
    text: t.string({
      required: true,
      description: `Words that the name or the text of the file contains, in any order, case and accents, of at most ${maxSearchText} characters; words in quotes are one phrase. A word of one or two letters is the beginning of a word of the name, except in scripts without spaces.`,
    }),
    within: t.field({
      type: [LocationInput],
      description: `The folders to search in, with everything below them; at most ${maxWithin}. Default: everything that you can access.`,
    }),
    kinds: t.field({ type: [EntryKind], description: 'The kinds of entries. Default: all.' }),
    types: t.field({
      type: [FileTypeEnum],
      description: 'What the files hold, which excludes folders. Default: anything.',
    }),
    minSize: t.field({ type: 'SafeInt', description: 'The minimum size in bytes, which excludes folders.' }),
    maxSize: t.field({ type: 'SafeInt', description: 'The maximum size in bytes, which excludes folders.' }),
    modifiedAfter: t.field({ type: 'DateTime', description: 'The earliest time of the last change, inclusive.' }),
    modifiedBefore: t.field({ type: 'DateTime', description: 'The latest time of the last change, exclusive.' }),
    tag: t.string({ description: 'A tag that the entries have.' }),
    content: t.boolean({
      defaultValue: true,
      description:
        'Whether to search in the text of files, too, in providers whose catalogue has the mode CONTENT. These results come last.',
    }),
  }),
})

type Found = SearchPage['items'][number]

/** Returns the name of a control character, as Unicode writes it. */
function escaped(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const SearchResult = builder.objectRef<Found>('SearchResult').implement({
  description: 'An entry that a search has found. It is as the catalogue knows it.',
  fields: t => ({
    entry: t.field({ type: EntryRef, description: 'The file or folder.', resolve: ({ entry }) => entry }),
    provider: t.field({
      type: StorageProviderRef,
      description: 'The provider that stores it.',
      resolve: ({ provider }) => provider,
    }),
    snippet: t.string({
      nullable: true,
      description: `The words around the text in the content of the file, as plain text with ${escaped(hitStart)} before and ${escaped(hitEnd)} after each hit. Null if the name matches, or the hit is far behind the beginning of a long file.`,
      resolve: ({ snippet }) => snippet,
    }),
  }),
})

const SearchCoverage = builder.objectRef<Coverage>('SearchCoverage').implement({
  description: 'How much of a provider a search has covered.',
  fields: t => ({
    provider: t.field({
      type: StorageProviderRef,
      description: 'The provider.',
      resolve: ({ provider }) => provider,
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description: 'Whether the catalogue has every entry where the search looked.',
    }),
    indexedAt: t.expose('indexedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Every change before this time was searched. Null before the end of the first listing.',
    }),
    isContentComplete: t.exposeBoolean('isContentComplete', {
      description:
        'Whether the text of every readable file where the search looked is in the catalogue. False without the mode CONTENT.',
    }),
  }),
})

const SearchConnection = definePage<Found>('Search', SearchResult, 'entries that a search has found')

type CoveredPage = Page<Found> & { coverage: Coverage[] }

builder.objectField(SearchConnection, 'coverage', t =>
  t.field({
    type: [SearchCoverage],
    description: 'How much of each provider the search has covered.',
    complexity: pageCost,
    resolve: page => (page as CoveredPage).coverage,
  }),
)

builder.queryField('search', t =>
  t.field({
    type: SearchConnection,
    description:
      'Finds files and folders by their names, and files by their text, in all providers that you can access: the best matches first, then the newest.',
    authScopes: at(needs.search),
    args: {
      input: t.arg({ type: SearchInput, required: true, description: 'What to search for.' }),
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of entries, 1 to ${maxSearchPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxSearchPage),
    resolve: async (_root, args, context): Promise<CoveredPage> => {
      const { input, first, after } = args
      const { text, kinds, types, minSize, maxSize, modifiedAfter, modifiedBefore, tag, content } = input
      const filters = { text, kinds, types, minSize, maxSize, modifiedAfter, modifiedBefore, tag, content }
      const asked = { ...filters, ...authorizedBy(context, args, needs.search) }
      const { services, viewer, signal } = context
      const found = await services.catalogue.search(viewer, asked, { first: first ?? 50, after }, signal)
      return { ...toPage(found, after, item => item), coverage: found.coverage }
    },
  }),
)
