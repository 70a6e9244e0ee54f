import { sql } from 'kysely'
import t from 'tap'
import { extent } from '../support/extent.ts'
import { type Answer, send } from './api.ts'
import { runAll, sample } from './cells.ts'
import { hasScope, isMaker, owns, reaches, type Scope } from './model.ts'
import { base, createWorld, type Holder, type World } from './world.ts'

/** Something that a credential makes at the base path, and how to see, change and end it. */
interface Thing {
  /** The scope that making and changing it needs. */
  scope: Scope
  /** The scope that seeing it needs. */
  sees: Scope
  create(world: World): { query: string; input: object }
  /** The path of the id in the response to `create`. */
  idOf(data: Made): string
  list: string
  changes: readonly string[]
}

type Made = Record<string, Record<string, Record<string, string>>>

const share = (kind: 'VIEW' | 'DROP'): Thing => ({
  scope: kind === 'VIEW' ? 'read' : 'write',
  sees: 'read',
  create: ({ providers }) => ({
    query: 'mutation ($input: CreateShareInput!) { createShare(input: $input) { share { id } } }',
    input: { providerId: providers.main, path: base, kind, password: 'a password of this test' },
  }),
  idOf: data => data.createShare?.share?.id ?? '',
  list: 'shares(first: 100, includeInactive: true) { nodes { id url } }',
  changes: ['updateShare(input: { id: $id, password: null }) { id }', 'revokeShare(id: $id) { id url }'],
})

const job = ({ providers }: World) => ({
  kind: 'COPY',
  sources: [{ providerId: providers.main, path: base }],
  target: { providerId: providers.main, path: `${base}/copies` },
  dryRun: true,
})

const things: Record<string, Thing> = {
  'a share': share('VIEW'),
  'a drop link': share('DROP'),
  'a job': {
    scope: 'write',
    sees: 'read',
    create: world => ({
      query: 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
      input: job(world),
    }),
    idOf: data => data.createJob?.job?.id ?? '',
    list: 'jobs(first: 100) { nodes { id } }',
    changes: ['pauseJob(id: $id) { id }', 'cancelJob(id: $id) { id }'],
  },
  'a schedule': {
    scope: 'write',
    sees: 'read',
    create: world => ({
      query: 'mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }',
      input: { name: 'yearly', cron: '0 0 1 1 *', timeZone: 'UTC', job: job(world) },
    }),
    idOf: data => data.createSchedule?.schedule?.id ?? '',
    list: 'schedules(first: 100) { nodes { id } }',
    changes: ['updateSchedule(input: { id: $id, enabled: false }) { id }', 'deleteSchedule(id: $id)'],
  },
  'a webhook': {
    scope: 'admin',
    sees: 'admin',
    create: ({ providers }) => ({
      query: 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }',
      input: {
        name: 'made',
        url: 'http://127.0.0.1:9/',
        events: ['FILE_UPLOADED'],
        location: { providerId: providers.main, path: base },
      },
    }),
    idOf: data => data.createWebhook?.webhook?.id ?? '',
    list: 'nodes: webhooks { id }',
    changes: ['updateWebhook(input: { id: $id, name: "changed" }) { id }', 'deleteWebhook(id: $id)'],
  },
}

t.setTimeout(300_000)

t.test(
  'only its maker, a session of the member and unrestricted administrators see, change and end a thing',
  async t => {
    const world = await createWorld(t, { people: false })
    const { accesses, founder } = world
    const maker = await world.person({ role: 'ADMIN', access: 'all' })
    const restricted = await world.person({ role: 'ADMIN', access: accesses.base })
    const keys = (['read', 'write', 'admin'] as const).flatMap(scope =>
      [accesses.all, accesses.base, accesses.apart].map(access => ({ scopes: [scope], access })),
    )
    const others = [
      founder,
      restricted,
      await world.person({ role: 'EDITOR', access: 'all' }),
      await world.key(founder, { scopes: ['admin'], access: 'all' }),
      await world.key(founder, { scopes: ['admin'], access: accesses.base }),
      await world.key(maker, { scopes: ['admin'], access: accesses.base }, 'another key'),
      await world.key(maker, { scopes: ['read'], access: 'all' }, 'another key'),
    ]
    const own = [maker, ...(await Promise.all(keys.map(key => world.key(maker, key)))), restricted]
    const cases = Object.entries(things).flatMap(([name, thing]) =>
      own
        .filter(by => hasScope(by, thing.scope) && reaches(by, world.providers.main, base))
        .flatMap(by => [...own, ...others].map(asks => ({ name, thing, by, asks }))),
    )
    const ask = (holder: Holder, query: string, variables: object = {}) =>
      send(world.url, holder.header, {
        method: 'POST',
        path: '/graphql',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      })
    const dataOf = ({ body }: Answer) => (body as { data: Made }).data
    const counts = { seen: 0, changed: 0, refused: 0, revealed: 0 }

    const wrong = await runAll(
      sample(cases, extent({ gate: 90, nightly: cases.length })),
      async ({ name, thing, by, asks }) => {
        // A member can have only a hundred of some objects.
        await sql`with jobs_gone as (delete from jobs where ended_at is not null),
        hooks_gone as (delete from webhooks) delete from schedules`.execute(world.app.db)
        const { query, input } = thing.create(world)
        const made = await ask(by, query, { input })
        const where = `${asks.label} ${asks.name} and ${name} of ${by.label} ${by.name}`
        if (made.errors.length > 0) return `${where}: ${made.text}`
        const id = thing.idOf(dataOf(made))
        const may = owns(asks, by) && reaches(asks, world.providers.main, base)
        const listed = dataOf(await ask(asks, `{ list: ${thing.list.replace('nodes: ', '')} }`))?.list
        const nodes = (Array.isArray(listed) ? listed : (listed?.nodes ?? [])) as { id: string; url?: string | null }[]
        const seen = nodes.find(node => node.id === id)
        if (Boolean(seen) !== (may && hasScope(asks, thing.sees))) return `${where}: ${seen ? 'seen' : 'not seen'}`
        counts.seen += seen ? 1 : 0
        const isRevealed = isMaker(asks, by) && may && hasScope(asks, thing.scope)
        if (seen && seen.url !== undefined && Boolean(seen.url) !== isRevealed)
          return `${where}: the link is ${seen.url}`
        counts.revealed += seen?.url ? 1 : 0
        for (const change of thing.changes) {
          const answer = await ask(asks, `mutation ($id: ID!) { ${change} }`, { id })
          const reason = answer.errors[0]?.extensions?.reason ?? 'OK'
          const isRefused = reason === 'NOT_FOUND' || reason === 'SCOPE_REQUIRED'
          if (isRefused === (may && hasScope(asks, thing.scope))) return `${where}: ${change}: ${reason}`
          if (!isRevealed && answer.text.includes('/s/stw_')) return `${where}: ${change} reveals the link`
          counts[isRefused ? 'refused' : 'changed'] += 1
        }
        return null
      },
      1,
    )
    t.comment(`${cases.length} cases: ${JSON.stringify(counts)}`)
    t.same(wrong.slice(0, 20), [])
    t.ok(
      Object.values(counts).every(count => count >= extent({ gate: 3, nightly: 15 })),
      JSON.stringify(counts),
    )
    t.equal(world.app.logged(), '')
  },
)
