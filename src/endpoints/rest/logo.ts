/** The logo of the workspace, for pages that people see without an account. */
import type { FastifyInstance } from 'fastify'
import { type Operation, text } from '../../http/openapi/operation.ts'
import { parseQuery } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'

const parameters = {
  version: { description: 'Changes with the logo, so that browsers may keep it.', schema: text },
} as const

const logo: Operation = {
  id: 'logo',
  tag: 'Files',
  summary: 'Returns the logo of the workspace.',
  description: 'It needs no credential.',
  security: [],
  query: parameters,
  responses: {
    200: { description: 'The picture.', content: { 'image/png': null, 'image/jpeg': null, 'image/webp': null } },
  },
  reasons: ['NOT_FOUND'],
}

/** Serves `GET ?version=`. */
export function logoRoute(app: FastifyInstance, { workspaces }: Services): void {
  app.get('/api/logo', { config: { ignoresCookie: true, operations: { GET: logo } } }, async (request, reply) => {
    const { version } = parseQuery(request.raw.url ?? '', parameters)
    const { type, image } = await workspaces.logo()
    const cache = version === undefined ? 'public, max-age=300' : 'public, max-age=31536000, immutable'
    return reply
      .headers({ 'Cache-Control': cache, 'Content-Security-Policy': "default-src 'none'; sandbox" })
      .type(type)
      .send(image)
  })
}
