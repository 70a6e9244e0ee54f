import { maxPathBytes } from '../../auth/path.ts'
import { type RequestParameters, text } from './operation.ts'

/** The parameters that name an entry. */
export const locationParameters = {
  providerId: { description: 'The ID of a storage provider.', schema: text },
  path: {
    description: `An absolute path within the provider, of at most ${maxPathBytes} bytes of UTF-8.`,
    schema: { type: 'string', pattern: '^/', maxLength: maxPathBytes },
  },
} satisfies RequestParameters
