/** Members see what has changed where they may read, and nothing of what others may not know. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { activityEvents } from '../../src/db/activity.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { drop, makeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'

const app = await startApp(t)
const owner = await app.register('owner@example.org')
const root = join(app.folder, 'files')
await mkdir(root)
const disk = await app.connectProvider(owner.token, 'local', { root }, 'Files')
const memory = await app.connectProvider(owner.token, 'memory', {}, 'Memory')
const member = await joined('member@example.org', 'VIEWER', [{ providerId: disk, basePath: '/team' }])
const nobody = await app.register('nobody@example.org')

type Input = Record<string, unknown>
interface Listed {
  action: string
  userName: string | null
  isByShareLink: boolean
  location: { providerName: string; path: string } | null
  destination: { path: string } | null
}

async function joined(email: string, role: string, restrictions: Input[]) {
  const query = `mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }`
  const input = { role, providerAccess: { all: false, restrictions } }
  const { createInvite } = await app.ask(query, { input }, owner.token)
  return app.register(email, { invite: createInvite.invite })
}

const change = (name: string, type: string, input: Input, as = owner.token) =>
  app.ask(`mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`, { input }, as)
const at = (path: string, providerId = disk) => ({ providerId, path })
const query = `query ($within: [LocationInput!], $first: Int, $after: String) {
  activity(within: $within, first: $first, after: $after) {
    nodes { action userId userName isByShareLink location { providerName path } destination { path } }
    pageInfo { hasNextPage endCursor } } }`

async function listed(as: string, variables: Input = {}): Promise<string[]> {
  await app.app.services.audit.flush()
  const { activity } = await app.ask(query, { first: 100, ...variables }, as)
  const pathOf = (location: { path: string } | null) => location?.path ?? '-'
  return activity.nodes.map((each: Listed) => {
    const who = each.isByShareLink ? 'a visitor' : each.userName
    return `${who} ${each.action} ${pathOf(each.location)}${each.destination ? ` ${each.destination.path}` : ''}`
  })
}

const reason = async (variables: Input, as: string): Promise<string> =>
  (await app.graphql(query, variables, as)).errors[0]?.extensions.reason ?? 'OK'

t.test('members see the changes within their folders', async t => {
  for (const path of ['/team', '/team-2', '/private']) await change('createFolder', 'CreateFolderInput', at(path))
  for (const path of ['/team/a.txt', '/team-2/b.txt', '/private/c.txt', '/private/d.txt']) {
    t.equal((await app.upload(owner.token, disk, path, 'x')).status, 201)
  }
  await change('rename', 'RenameInput', { ...at('/team/a.txt'), name: 'e.txt' })
  await change('move', 'MoveInput', { ...at('/private/c.txt'), toPath: '/team/c.txt', conflict: 'FAIL' })
  await change('move', 'MoveInput', { ...at('/team/e.txt'), toPath: '/private/e.txt', conflict: 'FAIL' })
  await change('copy', 'CopyInput', { ...at('/team/c.txt'), toProviderId: memory, toPath: '/f.txt', conflict: 'FAIL' })
  await change('createComment', 'CreateCommentInput', { ...at('/team/c.txt'), text: 'secret words' })
  await app.graphql(
    'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
    { input: at('/team/missing') },
    owner.token,
  )
  const { link } = await makeShare(app, owner.token, { kind: 'DROP', providerId: disk, path: '/team' })
  await drop(app, link, '/dropped.txt', 'x')
  const expected = [
    'a visitor UPLOAD /team/dropped.txt',
    'owner COMMENT_CREATE /team/c.txt',
    'owner COPY /team/c.txt',
    'owner MOVE /team/e.txt',
    'owner MOVE - /team/c.txt',
    'owner RENAME /team/a.txt /team/e.txt',
    'owner UPLOAD /team/a.txt',
    'owner FOLDER_CREATE /team',
  ]
  t.same(await listed(member.token), expected, 'no failure, and no path outside')
  t.same((await listed(owner.token)).slice(0, 5), [
    'a visitor UPLOAD /team/dropped.txt',
    'owner COMMENT_CREATE /team/c.txt',
    'owner COPY /team/c.txt /f.txt',
    'owner MOVE /team/e.txt /private/e.txt',
    'owner MOVE /private/c.txt /team/c.txt',
  ])
  t.same(await listed(owner.token, { within: [at('/f.txt', memory)] }), ['owner COPY /team/c.txt /f.txt'])
  t.same(await listed(member.token, { within: [at('/team/c.txt')] }), [
    'owner COMMENT_CREATE /team/c.txt',
    'owner COPY /team/c.txt',
    'owner MOVE - /team/c.txt',
  ])
  t.equal(await reason({ within: [at('/private')] }, member.token), 'OUTSIDE_BASE_PATH')
  t.equal(await reason({ within: [at('/', memory)] }, member.token), 'PROVIDER_NOT_ALLOWED')
  t.equal(await reason({ within: Array.from({ length: 51 }, (_, n) => at(`/${n}`)) }, owner.token), 'INVALID_INPUT')
  t.same(await listed(owner.token, { within: [at('/', 'no id')] }), [])
  t.equal(await reason({}, nobody.token), 'SCOPE_REQUIRED')
  t.equal(await reason({ first: 101 }, owner.token), 'INVALID_INPUT')
  t.equal(await reason({ after: 'none' }, owner.token), 'INVALID_CURSOR')

  const pages: string[][] = []
  for (let after: string | null = null, hasNext = true; hasNext; ) {
    const { activity } = await app.ask(query, { first: 3, after }, member.token)
    pages.push(activity.nodes.map(({ action }: Listed) => action))
    ;({ endCursor: after, hasNextPage: hasNext } = activity.pageInfo)
  }
  t.same(
    pages.map(page => page.length),
    [3, 3, 2],
  )
  t.same(
    pages.flat(),
    expected.map(line => /[A-Z_]{4,}/.exec(line)?.[0]),
  )
})

atNight(t, 'what a job has changed is one change, with its number for those who may read all of it', async t => {
  for (const path of ['/team/in', '/private/tree']) await change('createFolder', 'CreateFolderInput', at(path))
  for (const path of ['/private/x.txt', '/private/y.txt', '/private/tree/z.txt']) {
    t.equal((await app.upload(owner.token, disk, path, 'x')).status, 201)
  }
  const job = async (input: Input) => {
    const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
    const { createJob } = await app.ask(create, { input }, owner.token)
    const state = 'query ($id: ID!) { job(id: $id) { state } }'
    await until(async () => {
      const { job } = await app.ask(state, { id: createJob.job.id }, owner.token)
      return ['SUCCEEDED', 'FAILED'].includes(job.state) || job
    })
  }
  const sources = [at('/private/x.txt'), at('/private/y.txt')]
  const copy = { kind: 'COPY', sources, target: at('/team/in'), conflict: 'RENAME' }
  await job({ ...copy, dryRun: true })
  await job(copy)
  await job({ kind: 'DELETE', sources: [at('/team/in/x.txt'), at('/team/in/y.txt')] })
  await job({ kind: 'VERIFY', sources: [at('/team')] })
  const toPath = '/tree'
  await change('copy', 'CopyInput', { ...at('/private/tree'), toProviderId: memory, toPath, conflict: 'FAIL' })
  const fields = 'action isByJob fileCount location { path } destination { path }'
  const seen = async (as: string, within: Input[]) => {
    await app.app.services.audit.flush()
    const list = `query ($within: [LocationInput!]) { activity(within: $within, first: 10) { nodes { ${fields} } } }`
    return (await app.ask(list, { within }, as)).activity.nodes
  }
  const isByJob = true
  t.same(await seen(member.token, [at('/team/in')]), [
    { action: 'DELETE', isByJob, fileCount: 2, location: { path: '/team/in/x.txt' }, destination: null },
    { action: 'COPY', isByJob, fileCount: null, location: null, destination: { path: '/team/in' } },
    { action: 'FOLDER_CREATE', isByJob: false, fileCount: null, location: { path: '/team/in' }, destination: null },
  ])
  t.match(await seen(owner.token, [at('/team/in')]), [
    { action: 'DELETE', fileCount: 2 },
    { action: 'COPY', fileCount: 2, location: { path: '/private/x.txt' }, destination: { path: '/team/in' } },
    {},
  ])
  t.same(await seen(owner.token, [at(toPath, memory)]), [
    {
      action: 'COPY',
      isByJob: false,
      fileCount: null,
      location: { path: '/private/tree' },
      destination: { path: toPath },
    },
  ])
})

t.test('a list can read the index of changes in its order', async t => {
  const { rows } = await app.db.transaction().execute(async trx => {
    // The table of this test is too small for an index to be worth it.
    await sql`set local enable_seqscan = off`.execute(trx)
    await sql`set local enable_sort = off`.execute(trx)
    return sql<{ 'QUERY PLAN': string }>`explain select id from audit_events
      where workspace_id = ${disk} and (result = 'OK' or action = 'JOB_END') and action in (${sql.join(activityEvents.map(sql.lit))})
      order by id desc limit 10`.execute(trx)
  })
  t.match(rows.map(row => row['QUERY PLAN']).join('\n'), /Index.* using audit_events_changes/)
})
