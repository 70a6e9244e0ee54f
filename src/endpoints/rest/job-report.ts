/** Downloads of the reports of jobs that keep copies. */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { type Operation, text, withCredential } from '../../http/openapi/operation.ts'
import { parseQuery, requireParameter } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import { reportFormats } from './report-formats.ts'

const formats = ['json', 'csv', 'text'] as const

const parameters = {
  id: { description: 'The ID of a job of the kind KEEP_COPIES.', required: true, schema: text },
  format: {
    description: 'JSON, a table for spreadsheets, or a text for people.',
    schema: { type: 'string', enum: formats, default: 'json' },
  },
} as const

const count = { type: 'integer', minimum: 0 }
const textOrNull = { type: ['string', 'null'] }
const counts = ['readFiles', 'readBytes', 'copiedFiles', 'copiedBytes', 'damaged', 'missing', 'changed', 'restored']

const jobReport: Operation = {
  id: 'downloadJobReport',
  tag: 'Jobs',
  summary: 'Downloads what a job of the kind KEEP_COPIES has read, found and done.',
  description:
    'It lists the first 10,000 findings, and `unlistedFindings` counts the others. The GraphQL field `copyReport` of the job returns the list in pages.',
  security: withCredential,
  query: parameters,
  responses: {
    200: {
      description: 'The report.',
      headers: { 'Content-Disposition': { description: 'The file name.', schema: text } },
      content: {
        'application/json': {
          type: 'object',
          required: [
            'id',
            'state',
            'repair',
            'recheckDays',
            'startedAt',
            'endedAt',
            'locations',
            'unlistedFindings',
            'findings',
          ],
          properties: {
            id: text,
            state: text,
            repair: { type: 'boolean' },
            recheckDays: count,
            startedAt: textOrNull,
            endedAt: textOrNull,
            locations: {
              type: 'array',
              items: {
                type: 'object',
                required: ['storage', 'providerId', 'path', ...counts],
                properties: {
                  storage: textOrNull,
                  providerId: text,
                  path: text,
                  ...Object.fromEntries(counts.map(name => [name, count])),
                },
              },
            },
            unlistedFindings: count,
            findings: {
              type: 'array',
              items: {
                type: 'object',
                required: [
                  'kind',
                  'isRestored',
                  'storage',
                  'providerId',
                  'path',
                  'from',
                  'foundAt',
                  'reason',
                  'message',
                ],
                properties: {
                  kind: text,
                  isRestored: { type: 'boolean' },
                  storage: textOrNull,
                  providerId: text,
                  path: text,
                  from: textOrNull,
                  foundAt: textOrNull,
                  reason: textOrNull,
                  message: text,
                },
              },
            },
          },
        },
        'text/csv': null,
        'text/plain': null,
      },
    },
  },
  reasons: ['CREDENTIAL_REQUIRED', 'SCOPE_REQUIRED', 'NOT_FOUND'],
}

/** Serves `GET ?id=&format=` with a credential. */
export function jobReportRoute(app: FastifyInstance, { copyReports }: Services): void {
  const config = { audit: 'READ', operations: { GET: jobReport } } as const
  app.get('/api/jobs/report', { config }, async (request, reply) => {
    requireScope(request.viewer, 'read')
    const query = parseQuery(request.url, parameters)
    const name = formats.find(each => each === (query.format ?? 'json'))
    if (!name) throw new AppError('INVALID_INPUT', `"format" must be ${formats.join(', ')}.`)
    const report = await copyReports.open(request.viewer, requireParameter(query.id, 'id'))
    const { type, extension, write } = reportFormats[name]
    reply.header('content-type', type)
    reply.header('content-disposition', `attachment; filename="report-${report.job.id}.${extension}"`)
    return reply.send(Readable.from(write(report), { objectMode: false }))
  })
}
