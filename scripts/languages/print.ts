/**
 * Prints the texts of the console for translators, as JSON: `node scripts/languages/print.ts` prints all in English, and
 * `node scripts/languages/print.ts de` those that German does not have yet.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../build/folders.ts'
import { readTranslations } from './compile.ts'
import { readEnglish } from './extract.ts'

const web = join(root, 'web')
const tag = process.argv[2]
const known = await readdir(join(web, 'languages'))
const present = tag !== undefined && known.includes(`${tag}.json`)
const texts = present ? await readTranslations(join(web, 'languages', `${tag}.json`)) : {}
const wanted = [...(await readEnglish(join(web, 'src/texts')))].filter(
  ([key, { isOptional }]) => !isOptional && texts[key] === undefined,
)
const output = Object.fromEntries(wanted.map(([key, { message }]) => [key, message]))
process.stdout.write(`${JSON.stringify(output, null, 2)}\n`)
