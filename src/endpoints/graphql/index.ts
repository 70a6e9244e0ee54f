import type { FastifyInstance } from 'fastify'
import { mercurius } from 'mercurius'
import type { Services } from '../../services/index.ts'
import type { RequestFacts } from './context.ts'
import { cacheSize } from './documents.ts'
import { createExecute } from './execute.ts'
import { graphiqlRoute } from './graphiql.ts'
import { createPrepare } from './prepare.ts'
import { graphqlRoute } from './route.ts'
import { schema } from './schema.ts'
import { createSubscribe } from './subscribe.ts'

/**
 * Adds `/graphql` and `/graphiql`. The app's error handler reports requests that are invalid as HTTP.
 * @param options.basePath "/stowage"; empty for the root
 */
export async function registerGraphql(
  app: FastifyInstance,
  options: { services: Services; facts: RequestFacts; basePath: string },
): Promise<void> {
  await app.register(mercurius, {
    schema,
    routes: false,
    graphiql: false,
    cache: cacheSize,
    // error-formatter.ts formats the errors, because it needs the request.
    errorFormatter: ({ data, errors }) => ({ statusCode: 200, response: { data: data ?? null, errors: errors ?? [] } }),
  })
  await app.register(async scope => {
    graphqlRoute(scope, {
      services: options.services,
      prepare: createPrepare(schema),
      execute: createExecute(app, schema),
      subscribe: createSubscribe(schema),
      facts: options.facts,
    })
  })
  await app.register(async scope => graphiqlRoute(scope, options.basePath))
}
