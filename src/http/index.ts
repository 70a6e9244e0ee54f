/** All routes but GraphQL's. */
import type { FastifyInstance } from 'fastify'
import type { Services } from '../services/index.ts'
import type { HandOver } from '../settings.ts'
import { consoleRoutes } from './console/pages.ts'
import { consoleSessionRoutes } from './console/session.ts'
import { downloadRoute } from './download/download.ts'
import { healthRoutes } from './health.ts'
import { oauthCallbackRoute } from './oauth/callback.ts'
import { oauthStartRoute } from './oauth/start.ts'
import { resumableRoutes } from './upload/resumable/route.ts'
import { uploadRoute } from './upload/upload.ts'

export async function registerRoutes(
  app: FastifyInstance,
  { services, ready, handOver }: { services: Services; ready: () => Promise<void>; handOver: HandOver | null },
): Promise<void> {
  healthRoutes(app, ready)
  oauthStartRoute(app, services)
  oauthCallbackRoute(app, services)
  consoleSessionRoutes(app)
  await consoleRoutes(app)
  downloadRoute(app, services, handOver)
  await app.register(scope => uploadRoute(scope, services))
  await app.register(scope => resumableRoutes(scope, services))
}
