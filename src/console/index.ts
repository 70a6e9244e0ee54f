import type { FastifyInstance } from 'fastify'
import { consoleRoutes } from './pages.ts'
import { consoleSessionRoutes } from './session.ts'

/** Adds the console's pages and its session cookie. */
export async function registerConsole(app: FastifyInstance): Promise<void> {
  consoleSessionRoutes(app)
  await consoleRoutes(app)
}
