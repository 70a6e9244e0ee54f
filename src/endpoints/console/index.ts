import type { FastifyInstance } from 'fastify'
import { consoleRoutes } from './pages.ts'
import { consoleSessionRoutes } from './session.ts'

/** Adds the console's pages and its session cookie. @param basePath "/stowage"; empty for the root */
export async function registerConsole(app: FastifyInstance, basePath: string): Promise<void> {
  consoleSessionRoutes(app, basePath)
  await consoleRoutes(app, basePath)
}
