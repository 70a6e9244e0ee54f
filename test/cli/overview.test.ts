/** The command with the overview. */
import { sql } from 'kysely'
import t from 'tap'
import { signedIn } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('administrators see what runs, what grows and what has failed', async t => {
  const { app, run, output, json, disk, token } = await signedIn(t)
  await sql`insert into usage_days (provider_id, day, files, bytes)
    values (${disk}, current_date, 12, 3400000), (${disk}, current_date - 31, 10, 1400000)`.execute(app.db)
  await sql`update providers set status = 'UNAVAILABLE'`.execute(app.db)
  const text = await output('overview')
  t.match(text, /^Stowage \S+, PostgreSQL \d/)
  t.match(text, /Members: 1\n {2}1 OWNER\n/)
  t.match(text, /UNAVAILABLE +3\.4 MB +12 files {2}Disk {2}\(\+2\.0 MB in 30 days\)/)
  t.match(text, /Failures\n {2}1 storage not working\n/)
  t.match(await json('overview'), {
    status: 0,
    lines: [{ storages: [{ files: 12, bytes: 3_400_000, addedBytes: 2_000_000 }], failures: [{ kind: 'STORAGES' }] }],
  })
  const { key } = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const refused = await run(['overview'], { environment: { STOWAGE_API_KEY: key } })
  t.match(refused, { stdout: '', stderr: /scope "admin"/ })
  t.not(refused.status, 0)
})
