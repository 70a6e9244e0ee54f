/** Writes the printed schema as a type, which checks the console's operations. */
import { readFile, writeFile } from 'node:fs/promises'
import { buildSchema, introspectionFromSchema } from 'graphql'

const printed = await readFile(new URL('../test/schema.graphql', import.meta.url), 'utf8')
const introspection = introspectionFromSchema(buildSchema(printed), { descriptions: false })
await writeFile(
  new URL('../web/src/api/introspection.ts', import.meta.url),
  `export type introspection = ${JSON.stringify(introspection)}\n`,
)
