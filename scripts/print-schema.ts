/** Writes the committed print of the GraphQL schema: `node scripts/print-schema.ts`. */
import { writeFile } from 'node:fs/promises'
import { printSchema } from 'graphql'
import { schema } from '../src/endpoints/graphql/schema.ts'

await writeFile(new URL('../test/schema.graphql', import.meta.url), `${printSchema(schema)}\n`)
