/**
 * The endpoints. Each folder parses the requests of one protocol into values, calls one function of a service for each, and sends the
 * result in the form of the protocol. Endpoints decide nothing and do not import each other.
 */
import type { FastifyInstance } from 'fastify'
import type { Services } from '../services/index.ts'
import type { Settings } from '../settings/index.ts'
import { registerApplications } from './applications/index.ts'
import { registerConsole } from './console/index.ts'
import { registerMcp } from './mcp/index.ts'
import { registerRest } from './rest/index.ts'
import { registerS3 } from './s3/index.ts'
import { registerScim } from './scim/index.ts'
import { registerTus } from './tus/index.ts'
import { registerWebdav } from './webdav/index.ts'

/** Adds the routes of every HTTP front end except GraphQL, which also takes what observes its operations: see `registerGraphql`. */
export async function registerFrontEnds(
  app: FastifyInstance,
  {
    services,
    settings,
  }: {
    services: Services
    settings: Pick<Settings, 'sendfile' | 'basePath' | 'publicUrl' | 'corsOrigins' | 's3Domain'>
  },
): Promise<void> {
  await registerRest(app, { services, ...settings })
  await registerTus(app, { services, basePath: settings.basePath })
  const { sendfile, basePath, publicUrl } = settings
  await registerWebdav(app, { services, sendfile, basePath, publicUrl })
  await registerMcp(app, services, settings)
  registerApplications(app, services, settings)
  await registerS3(app, services, settings)
  await registerScim(app, services, settings)
  await registerConsole(app, services, settings.basePath)
}
