/** The commands for quotas. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { signedIn } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('quotas are set, listed and removed', async t => {
  const { run, output, json, diskFolder } = await signedIn(t)
  await writeFile(join(diskFolder, 'a.txt'), 'a')
  t.match(await json('quota', 'set', 'Disk:/', '--bytes', '1.5kB', '--files', '3'), {
    status: 0,
    lines: [{ storage: 'Disk', path: '/', member: null, bytes: 1500, files: 3 }],
  })
  const email = 'owner@example.org'
  t.match(await json('quota', 'set', '--member', email, '--bytes', '2GB'), {
    lines: [{ storage: null, path: null, member: email, bytes: 2_000_000_000, files: null }],
  })
  t.match(await output('quota', 'ls', 'Disk:'), /\d+\/1500 +\d+\/3 {2}Disk:\//)
  await writeFile(join(diskFolder, 'large'), 'x'.repeat(1501))
  t.match(await run(['cp', join(diskFolder, 'large'), 'Disk:/copy']), { status: 1, stderr: /leaves room for/ })
  await output('quota', 'set', 'Disk:/', '--remove')
  t.match((await json('quota', 'ls')).lines, [{ member: email }])
  for (const args of [['Disk:/'], ['Disk:/', '--bytes', 'much'], ['Disk:/', '--member', email, '--bytes', '1']]) {
    t.match(await run(['quota', 'set', ...args]), { status: 2, stdout: '' }, args.join(' '))
  }
  t.match(await json('quota', 'set', '--member', 'nobody@example.org', '--bytes', '1'), { status: 4 })
})
