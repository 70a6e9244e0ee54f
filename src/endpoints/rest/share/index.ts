import type { FastifyInstance } from 'fastify'
import { authenticateShare, openedShare, setProofCookie, sharePath } from '../../../http/share-link.ts'
import type { Services } from '../../../services/index.ts'
import type { Sendfile } from '../../../settings/index.ts'
import { sharedArchiveRoute } from './archive.ts'
import { sharedContentRoute } from './content.ts'
import { dropRoute } from './drop.ts'
import { sharedListRoute } from './list.ts'
import { describeShare, unlockShare } from './operations.ts'

/** Adds the endpoints for the recipients of share links. @param basePath "/stowage"; empty for the root */
export function registerShares(
  app: FastifyInstance,
  { services, sendfile, basePath }: { services: Services; sendfile: Sendfile | null; basePath: string },
): void {
  const authenticate = authenticateShare(services)
  app.get(sharePath, { config: { authenticate, operations: { GET: describeShare } } }, request =>
    services.sharedFiles.describe(openedShare(request)),
  )
  const unlocking = { authenticate, operations: { POST: unlockShare } }
  app.post(`${sharePath}/unlock`, { config: unlocking }, (request, reply) => {
    const { proof, expiresAt } = services.sharedFiles.prove(openedShare(request))
    setProofCookie(request, reply, { proof, expiresAt, basePath })
    return reply.status(204).send()
  })
  sharedListRoute(app, services)
  sharedContentRoute(app, services, sendfile)
  sharedArchiveRoute(app, services)
  dropRoute(app, services)
}
