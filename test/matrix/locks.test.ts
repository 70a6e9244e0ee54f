/** The lock of somebody else binds every operation that changes an entry, whichever endpoint it belongs to. */
import t from 'tap'
import { connectSsh, RawSftp, serveSftp } from '../sftp/server.ts'
import { drop, makeShare } from '../support/shares.ts'
import { lockInfo } from '../webdav/client.ts'
import { type Answer, operation, readSchema, send } from './api.ts'
import { makeCell, prepare } from './cells.ts'
import { fields } from './fields.ts'
import { routes } from './routes.ts'
import type { Row } from './row.ts'
import { performOver, sftpRows } from './sftp-rows.ts'
import { compareTrees, readTree } from './tree.ts'
import { base, createWorld } from './world.ts'

const rows: Readonly<Record<string, Row>> = { ...fields, ...routes, ...sftpRows }

/** Rows that write at paths and yet change no entry, with what they do. */
const without: Readonly<Record<string, string>> = {
  'Mutation.takeOverUpload': 'ends the unfinished upload of somebody',
  'Mutation.endLock': 'ends a lock, here an unknown one',
  'Mutation.updateTags': 'changes tags, which describe an entry',
  'Mutation.createComment': 'adds a comment on an entry',
  'Mutation.updateComment': 'changes a comment, here an unknown one',
  'Mutation.deleteComment': 'deletes a comment, here an unknown one',
  'Mutation.createHold': 'protects an entry',
  'Mutation.createJob': 'creates a job, which lists what is locked as a failure',
  'Mutation.createSchedule': 'creates a schedule of such jobs',
  'Mutation.createWebhook': 'tells others of changes',
  'PUT /s3/* of the retention': 'protects an object',
  'PUT /s3/* of the legal-hold': 'protects an object',
  'PUT /s3/* with a lock': 'is invalid for a bucket without Object Lock',
  'GET /s3/* as a list of parts': 'reads',
  'PUT /s3/* as a part': 'continues an unknown upload',
  'PUT /s3/* as a copied part': 'continues an unknown upload',
  'POST /s3/* completing an upload': 'continues an unknown upload',
  'DELETE /s3/* of an upload': 'ends an unknown upload',
  'UNLOCK /dav/*': 'ends a lock, here an unknown one',
  'SFTP RMDIR': 'removes no file',
}

const isChange = ({ needs, takes }: Row) =>
  needs.where === 'paths' && takes !== undefined && (needs.scope === 'write' || needs.scope === 'admin')

function outcomeOf({ status, errors }: Answer): string {
  return errors[0]?.extensions?.reason ?? String(status)
}

t.test('each row of the matrix that changes an entry is refused while somebody else has a lock', async t => {
  const world = await createWorld(t, { people: false })
  const schema = await readSchema(world.url)
  const endpoint = await serveSftp(t, world.app)
  performOver(async password => RawSftp.start(await connectSsh(t, endpoint, { password })))
  const owner = await world.key(world.founder, { scopes: ['admin'], access: 'all' })
  const other = await world.key(await world.person({ role: 'EDITOR', access: 'all' }), {
    scopes: ['write'],
    access: 'all',
  })
  const changing = Object.keys(rows).filter(name => rows[name] && isChange(rows[name]))
  const calls = await Promise.all(
    changing.map(async name => {
      const cell = makeCell(world, name, owner)
      const { ids } = await prepare(world, cell)
      const target = { locations: cell.locations, n: cell.n, ids }
      const route = routes[name] ?? sftpRows[name]
      return { name, call: route ? route.call(target) : operation(schema, name, fields[name]?.args?.(target) ?? {}) }
    }),
  )
  const share = await makeShare(world.app, world.founder.header?.slice('Bearer '.length) ?? '', {
    providerId: world.providers.main,
    path: base,
    kind: 'DROP',
  })
  const path = `/dav/${world.providers.main}${base}`
  const headers = { depth: 'infinity', timeout: 'Second-600' }
  const locked = await send(world.url, other.header, { method: 'LOCK', path, headers, body: lockInfo() })
  t.equal(locked.status, 200, locked.text)

  const root = world.roots.get(world.providers.main) ?? ''
  const before = await readTree(root)
  const outcomes: Record<string, string> = {}
  for (const { name, call } of calls) outcomes[name] = outcomeOf(await send(world.url, owner.header, call))
  outcomes['a drop link'] = (await drop(world.app, share.link, '/dropped.txt', 'dropped')).reason ?? 'OK'
  const expected = Object.keys(outcomes).map(name => [name, without[name] === undefined ? 'LOCKED' : outcomes[name]])
  t.same(outcomes, Object.fromEntries(expected))
  t.same(
    Object.keys(without).filter(name => outcomes[name] === 'LOCKED'),
    [],
    'these would be changes',
  )
  t.same(compareTrees(before, await readTree(root)), [])
})
