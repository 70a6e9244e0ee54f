/** Writes the printed schema as the type that the console's operations are checked against. */
import { readFile, writeFile } from 'node:fs/promises'
import { buildSchema, introspectionFromSchema } from 'graphql'

const printed = await readFile(new URL('../test/schema.graphql', import.meta.url), 'utf8')
const introspection = introspectionFromSchema(buildSchema(printed), { descriptions: false })
await writeFile(
  new URL('../web/src/api/introspection.ts', import.meta.url),
  `export type introspection = ${JSON.stringify(introspection)}\n`,
)
