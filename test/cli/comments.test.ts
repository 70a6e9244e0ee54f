/** Tests `stowage comment`, which lists and writes comments, and `stowage activity`, which lists changes. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { signedIn } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('comments are written, listed and deleted, and are among the changes', async t => {
  const { app, token, run, output, json, diskFolder, disk } = await signedIn(t)
  await writeFile(join(diskFolder, 'a.txt'), 'a')
  const { me } = await app.ask('{ me { id } }', {}, token)
  const rename = 'mutation { updateProfile(input: { name: "Ann" }) { id } }'
  await app.ask(rename, {}, token)
  const added = await json('comment', 'add', 'Disk:/a.txt', `First line\nFor @[${me.id}]`)
  t.match(added, { status: 0, lines: [{ author: 'Ann', mentions: ['Ann'], editedAt: null }] })
  const [{ id }] = added.lines
  t.match((await json('comment', 'ls', 'Disk:/a.txt')).lines, [{ id, text: `First line\nFor @[${me.id}]` }])
  t.match(await output('comment', 'ls', 'Disk:/a.txt'), new RegExp(`Z  Ann  ${id}\n  First line\n  For @Ann\n`))
  t.equal((await app.upload(token, disk, '/b.txt', 'b')).status, 201)
  await app.app.services.audit.flush()
  t.match(await json('activity', 'Disk:/a.txt'), {
    status: 0,
    lines: [{ action: 'COMMENT_CREATE', user: 'Ann', storage: 'Disk', path: '/a.txt', toPath: null, files: null }],
  })
  t.match(await output('activity', '-n', '1'), /Z {2}Ann {2}upload {2}Disk:\/b\.txt\n$/)
  await output('comment', 'rm', 'Disk:/a.txt', id)
  t.same((await json('comment', 'ls', 'Disk:/a.txt')).lines, [])
  t.match(await run(['comment', 'rm', 'Disk:/a.txt', id]), { status: 4 })
  t.match(await json('comment', 'add', 'Disk:/missing', 'x'), { status: 4 })
  t.match(await run(['activity', '--limit', 'many']), { status: 2, stdout: '' })
})
