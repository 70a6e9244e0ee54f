/** The commands for share links. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ask, drop, list } from '../support/shares.ts'
import { signedIn } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('links are created, listed and revoked', async t => {
  const { app, run, output, json, diskFolder } = await signedIn(t)
  await writeFile(join(diskFolder, 'a.txt'), 'a')
  await writeFile(join(diskFolder, 'b.txt'), 'b')
  const url = (await output('share', 'create', 'Disk:/a.txt', 'Disk:/b.txt', '--note', 'For you')).trim()
  t.match(url, new RegExp(`^${app.url}/s/stw_share_`))
  const link = url.slice(url.lastIndexOf('/') + 1)
  t.equal((await list(app, link)).body.entries.length, 2)
  t.equal((await ask(app, link)).body.note, 'For you')
  const created = await run(
    ['share', 'create', '--drop', '--password', '--max-bytes', '5', '--type', 'txt', '--expires', '30d', 'Disk:/'],
    { input: 'correct horse\n' },
  )
  t.equal(created.status, 0)
  const dropLink = created.stdout.trim().slice(url.lastIndexOf('/') + 1)
  t.equal((await drop(app, dropLink, '/c.txt', 'c')).reason, 'SHARE_PASSWORD_REQUIRED')
  t.match((await ask(app, dropLink, '', { password: 'correct horse' })).body, { kind: 'DROP', bytesLeft: 5 })
  const { lines } = await json('share', 'list')
  t.match(lines, [
    { kind: 'DROP', hasPassword: true, paths: ['/'], maxBytes: 5, fileTypes: ['txt'] },
    { kind: 'VIEW', url, paths: ['/a.txt', '/b.txt'], state: 'ACTIVE' },
  ])
  t.match(await output('share', 'list'), new RegExp(`VIEW {2}never expires .*/a.txt and 1 more\n {2}${url}`))
  t.match(await json('share', 'revoke', lines[1].id, 'none'), {
    status: 4,
    lines: [{ id: lines[1].id, state: 'REVOKED' }],
    errors: [{ reason: 'NOT_FOUND', subject: 'none' }],
  })
  t.equal((await list(app, link)).reason, 'SHARE_ENDED')
  for (const args of [
    ['--email', 'ann@example.org', 'Disk:/a.txt'],
    ['--drop', '--notify', 'Disk:/'],
  ]) {
    t.match((await run(['share', 'create', ...args])).stderr, /This server sends no email/, args.join(' '))
  }
  for (const args of [
    ['--max-downloads', '0'],
    ['--max-bytes', 'x'],
    ['--expires', 'soon'],
  ]) {
    t.match(await run(['share', 'create', 'Disk:/a.txt', ...args]), { status: 2, stdout: '' }, args.join(' '))
  }
})
