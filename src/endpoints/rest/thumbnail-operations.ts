/** The descriptions of thumbnails in `/openapi.json`, and the parameters that they parse. */
import { reasonsAtPaths } from '../../http/openapi/errors.ts'
import {
  locationParameters,
  type Operation,
  type RequestParameters,
  text,
  withCredential,
} from '../../http/openapi/operation.ts'
import { maxPixels, minPixels } from '../../services/thumbnails/index.ts'

export const sizeParameter = {
  size: {
    description: `The longest side in pixels, ${minPixels} to ${maxPixels}; 256 by default. The image can be up to twice as large, and is never larger than the original.`,
    schema: { type: 'integer', minimum: minPixels, maximum: maxPixels },
  },
} satisfies RequestParameters

export const thumbnailParameters = {
  ...locationParameters,
  ticket: { description: 'The token of an address of `thumbnailUrl`, which names the file.', schema: text },
  ...sizeParameter,
} satisfies RequestParameters

export const imageConditions = {
  'If-None-Match': { description: 'The ETags of images that the client has.', schema: text },
} satisfies RequestParameters

const validators = {
  ETag: { description: 'Changes with the file, the size and the format.', schema: text },
}

export const imageResponses: Operation['responses'] = {
  200: {
    description: 'The image: AVIF for clients that accept it and not WebP, else WebP.',
    headers: validators,
    content: { 'image/webp': null, 'image/avif': null },
  },
  304: { description: 'The client has the current image.', headers: validators },
}

export const thumbnail: Operation = {
  id: 'thumbnail',
  tag: 'Files',
  summary: 'Returns a small image of a file.',
  description:
    'Send `providerId` and `path` with a credential, or the `ticket` of the GraphQL field `thumbnailUrl` without one.',
  security: [...withCredential, ['downloadLink']],
  query: thumbnailParameters,
  headers: imageConditions,
  responses: imageResponses,
  reasons: [...reasonsAtPaths, 'LINK_EXPIRED', 'NO_THUMBNAIL'],
}
