/** A back end in which `\` separates folders, and the traits that confine it. */
import t from 'tap'
import { windowsNames } from '../../adapters/contract.ts'
import { base } from '../matrix/world.ts'
import { extent } from '../support/extent.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { secret, smb } from './back-ends.ts'
import { forEach, leavesTheRest, tryPath } from './cases.ts'
import { namesAllowedBy } from './corpus.ts'
import { attack, download, upload } from './requests.ts'

/** Each leads out of the base path where `\` separates folders: to the provider's root, and out of the provider. */
const climbing = [
  `${base}/..\\..\\canary-documents\\seed.txt`,
  `${base}/..\\..\\seed.txt`,
  `${base}/..\\..\\..\\seed.txt`,
  `${base}/..\\..\\..\\etc`,
  `${base}/deep/..\\..\\..\\seed.txt`,
  `${base}/..\\canary-beside/seed.txt`,
  `${base}/..\\backups-old`,
  `${base}\\..\\..\\seed.txt`,
  `${base}/\\seed.txt`,
]

attackBackEnd(t, 'a Windows share', () => smb(), {
  names: namesAllowedBy(windowsNames),
  more: async (t, on) => {
    await t.test('a backslash does not lead out of the base path, over any endpoint', async t => {
      const tried = [...climbing.entries()].filter(([n]) => extent({ gate: n % 5 === 1, nightly: true }))
      await leavesTheRest(t, on, () => forEach(on, tried, ([n, path]) => tryPath(on, path, n)))
      const [read, written] = [await download(on, climbing[1] ?? ''), await upload(on, `${base}/con`, 'a device')]
      t.match([read.status, read.text], [404, /This storage cannot have names that contain/])
      t.match([written.status, written.text], [400, /This storage reserves the name .*con.*: choose another name/])
    })
  },
})

t.test('without the traits, the same paths lead out', async t => {
  const on = await attack(t, smb({}))
  const found = []
  for (const path of climbing) if ((await download(on, path)).text.includes(secret)) found.push(path)
  t.ok(found.length >= 5, `${found.length} of ${climbing.length} paths`)
})
