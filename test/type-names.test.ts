/** Each type name has one meaning: no folder of the list declares the same name twice. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'

const root = new URL('..', import.meta.url).pathname
const declaration =
  /^(?:export )?(?:abstract )?(?:interface|type|class|enum) ([A-Z]\w*)\s*(?:[<={]|extends|implements)/gm

async function duplicates(folder: string): Promise<string[]> {
  const files = (await readdir(join(root, folder), { recursive: true })).filter(name => /\.tsx?$/.test(name))
  const declared = new Map<string, string[]>()
  for (const file of files.toSorted()) {
    const text = await readFile(join(root, folder, file), 'utf8')
    for (const [, name = ''] of text.matchAll(declaration)) {
      declared.set(name, [...(declared.get(name) ?? []), file])
    }
  }
  t.ok(declared.size > 5, `${folder} declares types`)
  return [...declared].filter(([, files]) => files.length > 1).map(([name, files]) => `${name}: ${files.join(', ')}`)
}

for (const folder of [
  'src',
  'web/src',
  'packages/cli/src',
  'adapters/backends/local',
  'adapters/backends/s3',
  'adapters/backends/azure-blob',
  'adapters/backends/google-drive',
  'adapters/backends/dropbox',
  'adapters/backends/onedrive',
  'adapters/bases/cloud',
  'adapters/bases/plain',
  'adapters/bases/objects',
  'adapters/backends/webdav',
]) {
  t.test(`each type name of ${folder} is declared once`, async t => {
    t.same(await duplicates(folder), [])
  })
}
