import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../errors.ts'
import { requestSignal } from '../../../http/connection/client-abort.ts'
import { parseQuery } from '../../../http/query.ts'
import { authenticateShare, openedShare, sharePath } from '../../../http/share-link.ts'
import type { Services } from '../../../services/index.ts'
import { listParameters, listShare, maxEntries } from './operations.ts'

const parameterNames = Object.keys(listParameters) as (keyof typeof listParameters)[]
const defaultPage = 100

/** Serves `GET ?path=&first=&after=`, one page of a folder of a share. */
export function sharedListRoute(app: FastifyInstance, services: Services): void {
  const config = { authenticate: authenticateShare(services), operations: { GET: listShare } }
  app.get(`${sharePath}/entries`, { config }, request => {
    const { path = '/', first, after = null } = parseQuery(request.raw.url ?? '', parameterNames)
    const page = { first: first === undefined ? defaultPage : parseFirst(first), after }
    return services.sharedFiles.list(openedShare(request), path, page, requestSignal(request))
  })
}

/** @throws INVALID_INPUT */
function parseFirst(text: string): number {
  const first = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (first >= 1 && first <= maxEntries) return first
  throw new AppError('INVALID_INPUT', `"first" must be a whole number from 1 to ${maxEntries}.`)
}
