import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'

/**
 * Characters. A boundary has at most 70 characters (RFC 2046, section 5.1.1), a name at most 127 (RFC 6838, section
 * 4.2).
 */
const maxLength = 500

/**
 * Refuses a long `Content-Type` before any library parses it: Node's `MIMEType` takes quadratic time for spaces. An empty one
 * counts as missing.
 */
export function checkContentTypes(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const { length } = headers['content-type'] ?? ''
    if (length === 0) delete headers['content-type']
    if (length <= maxLength) done()
    else done(new AppError('UNSUPPORTED_MEDIA_TYPE', `A Content-Type can have at most ${maxLength} characters.`))
  })
}
