/** The description of the download of a selection in `/openapi.json`. */
import { reasonsAtPaths } from '../../http/openapi/errors.ts'
import { locationParameters } from '../../http/openapi/location.ts'
import { type Operation, text, withCredential } from '../../http/openapi/operation.ts'
import { maxSelected } from '../../services/files/index.ts'

const { providerId, path } = locationParameters

/** Returns the JSON Schema of the paths in a body. @param path describes one of them */
export const selectedPaths = ({ schema, description }: typeof path) =>
  ({ type: 'array', minItems: 1, maxItems: maxSelected, items: { ...schema, description } }) as const

export const archive: Operation = {
  id: 'downloadArchive',
  tag: 'Files',
  summary: 'Downloads several files and folders of one provider as one ZIP archive.',
  description:
    'Send JSON with a credential, or a form with the `ticket` of the GraphQL field `archiveTicket` without one.',
  security: [...withCredential, []],
  body: {
    description: 'The files and folders.',
    required: true,
    content: {
      'application/json': {
        type: 'object',
        required: ['providerId', 'paths'],
        properties: {
          providerId: { ...providerId.schema, description: providerId.description },
          paths: selectedPaths(path),
        },
      },
      'application/x-www-form-urlencoded': {
        type: 'object',
        required: ['ticket'],
        properties: { ticket: { ...text, description: 'The ticket.' } },
      },
    },
  },
  responses: {
    200: {
      description: 'The archive, whose length is unknown. It has each entry at its top, under a name of its own.',
      headers: {
        'Accept-Ranges': { description: 'An archive has no ranges.', schema: { const: 'none' } },
        'Content-Disposition': { description: 'The file name.', schema: text },
      },
      content: { 'application/zip': null },
    },
  },
  reasons: [...reasonsAtPaths, 'LINK_EXPIRED', 'TOO_MANY_ARCHIVES'],
  errorHeaders: { 'Accept-Ranges': { description: 'An archive has no ranges.', schema: { const: 'none' } } },
}
