/** The search over all storages, for programs that do not speak GraphQL. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formatPath } from '../../auth/path.ts'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { bytes, locationParameters, type Operation, text, withCredential } from '../../http/openapi/operation.ts'
import { parseQuery } from '../../http/url.ts'
import { type FileType, fileTypes } from '../../services/catalogue/file-types.ts'
import { maxSearchPage, maxSearchText, type SearchInput } from '../../services/catalogue/search.ts'
import { maxTagName } from '../../services/entry-metadata/tags.ts'
import type { Services } from '../../services/index.ts'

const entryKinds = ['FILE', 'FOLDER'] as const
const defaultPage = 50
const sizes = { from: 0, to: Number.MAX_SAFE_INTEGER }
const wholeNumber = /^\d+$/
const time = { type: 'string', format: 'date-time' } as const
const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

const parameters = {
  text: {
    description:
      'Words that the name or the text contains, in any order, case and accents; words in quotes are one phrase.',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: maxSearchText },
  },
  providerId: { ...locationParameters.providerId, description: 'The ID of the only storage provider to search in.' },
  path: { ...locationParameters.path, description: 'The folder of that provider to search in. Default: all of it.' },
  kind: { description: 'The only kind of entries to find.', schema: { type: 'string', enum: entryKinds } },
  type: { description: 'What the files hold, which excludes folders.', schema: { type: 'string', enum: fileTypes } },
  minSize: { description: 'The minimum size in bytes, which excludes folders.', schema: bytes },
  maxSize: { description: 'The maximum size in bytes, which excludes folders.', schema: bytes },
  modifiedAfter: { description: 'The earliest time of the last change, inclusive.', schema: time },
  modifiedBefore: { description: 'The latest time of the last change, exclusive.', schema: time },
  tag: { description: 'A tag that the entries have.', schema: { type: 'string', minLength: 1, maxLength: maxTagName } },
  content: {
    description: 'Whether to search in the text of files, too.',
    schema: { type: 'string', enum: ['true', 'false'], default: 'true' },
  },
  first: {
    description: 'The maximum number of entries.',
    schema: { type: 'integer', minimum: 1, maximum: maxSearchPage, default: defaultPage },
  },
  after: { description: 'The `nextCursor` of the page before.', schema: text },
} as const

const search: Operation = {
  id: 'search',
  tag: 'Files',
  summary:
    'Finds files and folders by name, and files by text, in all storage providers that the credential can access.',
  description: 'The best matches come first, then the newest.',
  security: withCredential,
  query: parameters,
  responses: {
    200: {
      description: 'One page of what the catalogues have.',
      content: {
        'application/json': {
          type: 'object',
          required: ['entries', 'nextCursor', 'coverage'],
          properties: {
            entries: {
              type: 'array',
              items: {
                type: 'object',
                required: ['providerId', 'path', 'name', 'kind', 'size', 'modifiedAt', 'etag', 'snippet'],
                properties: {
                  providerId: text,
                  path: text,
                  name: text,
                  kind: { type: 'string', enum: entryKinds },
                  size: { ...bytes, type: ['integer', 'null'] },
                  modifiedAt: timeOrNull,
                  etag: { type: ['string', 'null'] },
                  snippet: {
                    type: ['string', 'null'],
                    description: 'The words around hits in the text, which are between U+0002 and U+0003.',
                  },
                },
              },
            },
            nextCursor: { type: ['string', 'null'], description: 'Null on the last page.' },
            coverage: {
              type: 'array',
              items: {
                type: 'object',
                required: ['providerId', 'isComplete', 'indexedAt', 'isContentComplete'],
                properties: {
                  providerId: text,
                  isComplete: { type: 'boolean' },
                  indexedAt: timeOrNull,
                  isContentComplete: { type: 'boolean' },
                },
              },
            },
          },
        },
      },
    },
  },
  reasons: [
    'CREDENTIAL_REQUIRED',
    'SCOPE_REQUIRED',
    'PROVIDER_NOT_ALLOWED',
    'OUTSIDE_BASE_PATH',
    'INVALID_PATH',
    'NOT_FOUND',
    'INVALID_CURSOR',
  ],
}

/** Serves `GET ?text=` with a credential. */
export function searchRoute(app: FastifyInstance, { catalogue }: Services): void {
  app.get('/api/search', { config: { audit: 'READ', operations: { GET: search } } }, async (request, reply) => {
    requireScope(request.viewer, 'read')
    const { first, after, ...input } = parseSearch(request)
    const found = await catalogue.search(request.viewer, input, { first, after }, requestSignal(request))
    const last = found.items.at(-1)
    return reply.send({
      entries: found.items.map(({ entry, snippet }) => ({
        providerId: entry.providerId,
        path: formatPath(entry.path),
        name: entry.name,
        kind: entry.kind === 'file' ? 'FILE' : 'FOLDER',
        size: entry.size,
        modifiedAt: entry.modifiedAt?.toISOString() ?? null,
        etag: entry.etag,
        snippet,
      })),
      nextCursor: found.hasNext && last ? last.cursor : null,
      coverage: found.coverage.map(({ provider, isComplete, indexedAt, isContentComplete }) => ({
        providerId: provider.id,
        isComplete,
        indexedAt: indexedAt?.toISOString() ?? null,
        isContentComplete,
      })),
    })
  })
}

/** @throws INVALID_INPUT */
function parseSearch(request: FastifyRequest): SearchInput & { first: number; after: string | undefined } {
  const query = parseQuery(request.url, parameters)
  if (query.text === undefined) throw new AppError('INVALID_INPUT', 'The query parameter "text" is missing.')
  if (query.path !== undefined && query.providerId === undefined) {
    throw new AppError('INVALID_INPUT', '"path" needs a provider: give "providerId", too.')
  }
  return {
    text: query.text,
    within: query.providerId === undefined ? [] : [{ providerId: query.providerId, path: query.path ?? '/' }],
    kinds: query.kind === undefined ? null : [parseKind(query.kind)],
    types: query.type === undefined ? null : [parseType(query.type)],
    minSize: parseNumber('minSize', query.minSize, sizes),
    maxSize: parseNumber('maxSize', query.maxSize, sizes),
    modifiedAfter: parseTime('modifiedAfter', query.modifiedAfter),
    modifiedBefore: parseTime('modifiedBefore', query.modifiedBefore),
    tag: query.tag ?? null,
    content: parseFlag('content', query.content),
    first: parseNumber('first', query.first, { from: 1, to: maxSearchPage }) ?? defaultPage,
    after: query.after,
  }
}

function parseKind(value: string): (typeof entryKinds)[number] {
  const kind = entryKinds.find(each => each === value)
  if (kind) return kind
  throw new AppError('INVALID_INPUT', `"kind" must be ${entryKinds.join(' or ')}.`)
}

/** @throws INVALID_INPUT */
function parseType(value: string): FileType {
  const type = fileTypes.find(each => each === value)
  if (type) return type
  throw new AppError('INVALID_INPUT', `"type" must be one of ${fileTypes.join(', ')}.`)
}

/** @throws INVALID_INPUT */
function parseNumber(name: string, value: string | undefined, { from, to }: typeof sizes): number | null {
  if (value === undefined) return null
  const number = Number(value)
  if (wholeNumber.test(value) && number >= from && number <= to) return number
  throw new AppError('INVALID_INPUT', `"${name}" must be a whole number from ${from} to ${to}.`)
}

/** @throws INVALID_INPUT */
function parseFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'true') return true
  if (value === 'false') return false
  throw new AppError('INVALID_INPUT', `"${name}" must be true or false.`)
}

function parseTime(name: string, value: string | undefined): Date | null {
  if (value === undefined) return null
  const date = new Date(value)
  if (timePattern.test(value) && !Number.isNaN(date.getTime())) return date
  throw new AppError('INVALID_INPUT', `"${name}" must be a time such as 2026-11-21T09:30:00Z.`)
}
