/**
 * Every regular expression of the product takes linear time for any text. `npm test` checks those that are not among the proven
 * ones, and `npm run test:nightly` all; `node test/regular-expressions.test.ts --update` records them as proven.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { atNight, extent } from './support/extent.ts'
import {
  readProven,
  regularExpressionsIn,
  type Source,
  superLinear,
  writeProven,
} from './support/regular-expressions.ts'

const root = new URL('..', import.meta.url).pathname
const folders = ['src', 'adapters', 'migrations', 'web/src', 'packages/client/src', 'packages/cli/src']

async function sourcesIn(folder: string): Promise<Source[]> {
  const names = (await readdir(join(root, folder), { recursive: true })).filter(name => /\.(?:ts|tsx|js)$/.test(name))
  return await Promise.all(
    names.map(async name => ({
      name: join(folder, name),
      text: await readFile(join(root, folder, name), 'utf8'),
    })),
  )
}

// The checker needs seconds for some patterns, more on a busy machine.
t.setTimeout(600_000)

t.test('every regular expression is linear', async t => {
  const sources = (await Promise.all(folders.map(sourcesIn))).flat()
  const expressions = sources.flatMap(regularExpressionsIn)
  t.ok(expressions.length > 100, `${expressions.length} are found in ${sources.length} files`)
  for (const folder of folders.filter(folder => folder !== 'migrations')) {
    t.ok(
      expressions.some(({ position }) => position.startsWith(`${folder}/`)),
      folder,
    )
  }
  const isUpdate = process.argv.includes('--update')
  const proven = isUpdate ? new Set<string>() : extent({ gate: await readProven(), nightly: new Set<string>() })
  const wrong = superLinear(expressions, proven)
  t.same(wrong, [])
  if (isUpdate && wrong.length === 0) await writeProven(expressions)
})

atNight(t, 'the checker finds patterns that are not linear', async t => {
  const check = (text: string, name = 'a.ts') => superLinear(regularExpressionsIn({ name, text }), new Set())
  t.match(check('\nconst tokens: RegExp = /stw_\\w{8,}|eyJ[\\w-]+\\.[\\w.-]+/g'), [/^\/stw_.* in a\.ts:2: 2nd degree/])
  t.match(check('text.replace(/^[ \\t]+|[ \\t]+$/g, "")'), [/2nd degree/])
  t.match(check('const view = <b title={name.replace(/(a|a)*$/, "")} />', 'a.tsx'), [/exponential/])
  t.match(check("const schema = { type: 'string', pattern: '^(a+)+$' }"), [/exponential/])
  t.match(check("const schema = { 'pattern': '^(a+)+$' }"), [/exponential/])
  t.throws(() => check('\nconst made = new RegExp(text)'), /a\.ts:2/)
  t.throws(() => check('const made = RegExp(text)'), /a\.ts:1/)
  t.same(check('const good = /^[a-z]+$/'), [])
})
