import { execFile } from 'node:child_process'
import { link, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { base } from '../matrix/world.ts'
import { extent } from '../support/extent.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { local } from './back-ends.ts'
import { change, checkArchive, forEach, leavesTheRest, tryPath } from './cases.ts'
import { download, graphql } from './requests.ts'

attackBackEnd(t, 'local disk', local, {
  more: async (t, on) => {
    await t.test('symbolic links and devices are not followed', async t => {
      const folder = join(on.app.folder, 'provider', base, 'links')
      const run = promisify(execFile)
      const outside = join(on.app.folder, 'provider', 'canary-documents')
      await mkdir(join(folder, 'real'), { recursive: true })
      const targets = {
        absolute: outside,
        file: join(outside, 'seed.txt'),
        relative: '../../../canary-documents',
        'relative-file': '../../../canary-documents/seed.txt',
        chain: 'relative',
        loop: 'loop',
        'loop-a': 'loop-b',
        'loop-b': 'loop-a',
        root: '/',
        proc: '/proc/self/root',
        fd: '/proc/self/fd',
        environment: '/proc/self/environ',
        inside: 'real',
        dangling: '../../../canary-new',
        zero: '/dev/zero',
      }
      for (const [name, target] of Object.entries(targets)) await symlink(target, join(folder, name))
      await run('mkfifo', [join(folder, 'fifo')])
      const special = ['fifo']
      if (process.getuid?.() === 0) {
        await run('mknod', [join(folder, 'device'), 'c', '1', '5'])
        special.push('device')
      }
      await writeFile(join(folder, 'real/file'), 'inside')
      await link(join(folder, 'real/file'), join(folder, 'hard'))
      const below = [...Object.keys(targets), ...special].flatMap(name => [
        `${base}/links/${name}`,
        `${base}/links/${name}/seed.txt`,
        `${base}/links/${name}/canary-documents/seed.txt`,
        `${base}/links/${name}/etc/passwd`,
        `${base}/links/${name}/new/deep/file`,
      ])
      await leavesTheRest(t, on, async () => {
        for (const path of below) {
          const read = await download(on, path)
          t.equal(read.status, 404, path)
        }
        t.equal(await checkArchive(on, `${base}/links`), 2, 'the archive contains the file and its hard link')
        const moved = { providerId: on.providerId, path: `${base}/links`, toPath: `${base}/links-elsewhere` }
        const copied = await graphql(on, change('copy'), { input: moved })
        t.match(JSON.parse(copied.text), { data: { copy: { path: moved.toPath } } })
        t.equal(await checkArchive(on, moved.toPath), 2, 'the copy contains no symbolic link')
        // One request that makes a folder may refuse another that stores a file under its name, so these take turns.
        // `npm test` tries every 13th link, each with another one of the five paths.
        const all = [...below.entries()]
        const tried = extent({ gate: all.filter(([n]) => n % 13 === 3), nightly: all })
        const groups = Map.groupBy(tried, ([, path]) => path.split('/', base.split('/').length + 2).join('/'))
        await forEach(on, [...groups.values()], async group => {
          for (const [n, path] of group) await tryPath(on, path, 10_000 + n)
        })
      })
    })
  },
})
