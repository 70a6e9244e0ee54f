/**
 * The GraphQL endpoint. `route.ts` gets a request, `documents.ts` and `prepare.ts` refuse what is invalid or too expensive, the rule of each
 * field (`rules.ts`) decides before its resolver in `types/` calls a service, and `execute.ts` formats the result.
 */
import type { FastifyInstance } from 'fastify'
import { mercurius } from 'mercurius'
import type { GraphqlOptions } from './context.ts'
import { cacheSize } from './documents.ts'
import { createExecute, createSubscribe } from './execute.ts'
import { graphiqlRoute } from './graphiql.ts'
import { createPrepare } from './prepare.ts'
import { graphqlRoute } from './route.ts'
import { schema } from './schema.ts'

/** Adds `/graphql` and `/graphiql`. The app's error handler reports requests that are invalid as HTTP. */
export async function registerGraphql(app: FastifyInstance, options: GraphqlOptions): Promise<void> {
  await app.register(mercurius, {
    schema,
    routes: false,
    graphiql: false,
    cache: cacheSize,
    // error-formatter.ts formats the errors, because it needs the request.
    errorFormatter: ({ data, errors }) => ({ statusCode: 200, response: { data: data ?? null, errors: errors ?? [] } }),
  })
  await app.register(async scope => {
    const parts = {
      prepare: createPrepare(schema),
      execute: createExecute(app, schema),
      subscribe: createSubscribe(schema),
    }
    graphqlRoute(scope, parts, options)
  })
  await app.register(async scope => graphiqlRoute(scope, options.settings.basePath))
}
