/** Writes the types of the GraphQL schema for the TypeScript client: `node scripts/client-schema.ts`. */
import { writeFile } from 'node:fs/promises'
import { schema } from '../src/endpoints/graphql/schema.ts'
import { typesOf } from './client-schema/types.ts'

await writeFile(new URL('../packages/client/src/schema.ts', import.meta.url), typesOf(schema))
