/**
 * REST: uploads, downloads, share links and OAuth. Each route parses its request into values, calls one service, and sends
 * the result; its `operations` describe it in `/openapi.json`.
 */
import type { FastifyInstance } from 'fastify'
import type { Services } from '../../services/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import { archiveRoute } from './archive.ts'
import { oauthCallbackRoute, oauthStartRoute } from './consent.ts'
import { downloadRoute } from './download.ts'
import { issuerLogoutRoutes } from './issuer-logout.ts'
import { jobReportRoute } from './job-report.ts'
import { logoRoute } from './logo.ts'
import { renditionRoute } from './rendition.ts'
import { searchRoute } from './search.ts'
import { registerShares } from './shares.ts'
import { singleSignOnRoutes } from './single-sign-on.ts'
import { thumbnailRoute } from './thumbnail.ts'
import { uploadRoute } from './upload.ts'

/** Adds the REST endpoints for uploads, downloads, share links and OAuth. */
export async function registerRest(
  app: FastifyInstance,
  {
    services,
    sendfile,
    basePath,
    publicUrl,
  }: { services: Services; sendfile: Sendfile | null; basePath: string; publicUrl: string | null },
): Promise<void> {
  oauthStartRoute(app, services)
  oauthCallbackRoute(app, services)
  singleSignOnRoutes(app, services, { publicUrl, basePath })
  issuerLogoutRoutes(app, services, { publicUrl, basePath })
  downloadRoute(app, services, sendfile)
  archiveRoute(app, services)
  thumbnailRoute(app, services)
  renditionRoute(app, services)
  searchRoute(app, services)
  logoRoute(app, services)
  jobReportRoute(app, services)
  await app.register(scope => uploadRoute(scope, services))
  registerShares(app, { services, sendfile, basePath })
}
