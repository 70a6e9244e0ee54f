/** Writes the printed schema as a type, which checks the console's operations. */
import { readFile, writeFile } from 'node:fs/promises'
import { buildSchema, introspectionFromSchema } from 'graphql'

const target = new URL('../web/src/api/introspection.ts', import.meta.url)
const printed = await readFile(new URL('../test/schema.graphql', import.meta.url), 'utf8')
const introspection = introspectionFromSchema(buildSchema(printed), { descriptions: false })
const type = `export type introspection = ${JSON.stringify(introspection)}\n`
// A newer file would make the next start of the server build the console again.
if (type !== (await readFile(target, 'utf8').catch(() => null))) await writeFile(target, type)
