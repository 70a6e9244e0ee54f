import t from 'tap'
import { extent } from '../support/extent.ts'
import { type Answer, operation, post, readSchema, send } from './api.ts'
import { runAll, sample } from './cells.ts'
import { workspaceAdmin } from './fields.ts'
import {
  type Access,
  basesIn,
  hasScope,
  isBelow,
  judge,
  judgeGift,
  judgeNewKey,
  reachesAll,
  type Scope,
  scopes,
  type Verdict,
} from './model.ts'
import { accessInput, describeAccess, type Holder, sharedWorld, type World } from './world.ts'

t.setTimeout(300_000)

const viewerQuery =
  '{ viewer { kind scopes expiresAt providerAccess { all restrictions { basePath provider { id } } } } }'

t.test('API keys', async t => {
  const world = await sharedWorld()
  const schema = await readSchema(world.url)
  const { founder, good, providers } = world

  t.test('viewer returns exactly the rights of the specification', async t => {
    // GraphQL refuses tokens that are for the MCP endpoint alone.
    const holders = good.filter(({ isMcpOnly }) => !isMcpOnly)
    const wrong = await runAll(holders, async holder => {
      const found = await reachOf(world, holder)
      const wanted = expectedReach(world, holder)
      return same(found, wanted) ? null : `${holder.label}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`
    })
    t.comment(`${holders.length} credentials`)
    t.same(wrong.slice(0, 20), [])
  })

  t.test('a credential cannot create a key with more rights than it has', async t => {
    const accesses: Access[] = [
      // A key has one base path in each provider.
      ...Object.values(world.accesses).filter(access => access !== world.accesses.several),
      { [providers.missing]: '/' },
      { [providers.main]: '/team/backups/deep' },
      { [providers.main]: '/team/backups-old' },
      { [providers.main]: '/team/backups', [providers.hidden]: '/' },
    ]
    const given = [...scopes.map(scope => [scope]), ['read', 'admin'] as Scope[]]
    const wishes = given.flatMap(scopes => accesses.map(access => ({ scopes, access })))
    const byAll = good.flatMap(maker => wishes.map(wish => ({ maker, wish })))
    const [may, mayNot] = [true, false].map(is =>
      byAll.filter(({ maker }) => judge(maker, { who: 'key manager' }).may === is),
    )
    const cases = [
      ...sample(may ?? [], extent({ gate: 50, nightly: 1000 })),
      ...sample(mayNot ?? [], extent({ gate: 20, nightly: 300 })),
    ]
    let made = 0
    const wrong = await runAll(cases, async ({ maker, wish }) => {
      const where = `${wish.scopes} for ${describeAccess(wish.access, providers)} by ${maker.label}`
      const manages = judge(maker, { who: 'key manager' })
      const verdict = manages.may ? judgeNewKey(maker, wish) : manages
      const input = { name: 'wish', scopes: wish.scopes, providerAccess: accessInput(wish.access) }
      const call = operation(schema, 'Mutation.createApiKey', { input }, '{ key apiKey { id } }')
      const answer = await send(world.url, maker.header, call)
      const isMissing = wish.access !== 'all' && providers.missing in wish.access
      const fault = differs(answer, verdict, isMissing ? 'NOT_FOUND' : null)
      if (fault) return `${where}: ${fault}`
      const key = dataOf(answer)?.createApiKey?.key
      if (!key) return null
      made += 1
      const holder: Holder = { ...maker, kind: 'key', key: wish, header: `Bearer ${key}`, label: where }
      const found = await reachOf(world, holder)
      const limit = await reachOf(world, maker)
      await forget(world, dataOf(answer)?.createApiKey?.apiKey.id)
      if (!same(found, expectedReach(world, holder))) return `${where} reaches ${JSON.stringify(found)}`
      return isCovered(found, limit) ? null : `${where} exceeds its creator: ${JSON.stringify([found, limit])}`
    })
    t.comment(`${cases.length} wishes, ${made} made`)
    t.ok(made > extent({ gate: 5, nightly: 50 }), `${made} made`)
    t.same(wrong.slice(0, 20), [])
  })

  t.test('a key cannot outlive the key that created it', async t => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const input = { name: 'maker', scopes: ['admin'], expiresAt: at(3600_000) }
    const { key } = await world.app.createKey(tokenOf(founder), input)
    const make = async (expiresAt: string | null) => {
      const wish = { name: 'made', scopes: ['read'], expiresAt }
      const call = operation(schema, 'Mutation.createApiKey', { input: wish }, '{ apiKey { expiresAt } }')
      return (await send(world.url, `Bearer ${key}`, call)).errors[0]?.extensions?.reason ?? 'made'
    }
    t.same(await Promise.all([make(null), make(at(7200_000)), make(at(1800_000)), make(at(-1000))]), [
      'EXCEEDS_OWN_REACH',
      'EXCEEDS_OWN_REACH',
      'made',
      'INVALID_INPUT',
    ])
  })

  t.test('only permitted members see and revoke keys of others', async t => {
    const people = good.filter(({ kind }) => kind === 'session')
    const managers = good.filter(({ kind, key }) => kind === 'session' || key?.scopes[0] === 'admin')
    const cases = sample(
      managers.flatMap(actor => [founder, ...people].map(owner => ({ actor, owner }))),
      extent({ gate: 20, nightly: 600 }),
    )
    const wrong = await runAll(cases, async ({ actor, owner }) => {
      const isOwn = actor.userId === owner.userId
      const id = (await world.key(owner, { scopes: ['read'], access: 'all' }, 'canary-of-another').catch(() => null))
        ?.keyId
      const needed = judge(actor, isOwn ? { who: 'key manager' } : { ...workspaceAdmin, who: 'key manager' })
      const listed = isOwn || !needed.may ? needed : judgeGift(actor, owner.owner)
      const isHidden =
        !listed.may && ['SCOPE_REQUIRED', 'PROVIDER_NOT_ALLOWED'].some(each => listed.reasons.includes(each))
      const one: Verdict = isHidden ? { may: false, code: 'NOT_FOUND', reasons: ['NOT_FOUND'] } : listed
      const calls: [string, Record<string, unknown>, Verdict][] = [
        ['Query.apiKeys', { ofUser: owner.userId, includeInactive: false }, listed],
      ]
      if (id) {
        calls.push(['Query.apiKey', { id }, one])
        calls.push(['Mutation.renameApiKey', { id, name: 'canary-of-another' }, one])
        calls.push(['Mutation.revokeApiKey', { id }, one])
      }
      for (const [row, args, verdict] of calls) {
        const answer = await send(world.url, actor.header, operation(schema, row, args))
        const fault = differs(answer, verdict, null)
        if (fault) return `${row} of ${owner.label} by ${actor.label}: ${fault}`
        if (!verdict.may && answer.text.includes('canary-of-another')) return `${row} tells ${answer.text}`
      }
      await forget(world, id)
      return null
    })
    t.comment(`${cases.length} pairs`)
    t.same(wrong.slice(0, 20), [])
  })
})

/** The rights of a request: scopes, and base paths by provider. */
interface Rights {
  scopes: readonly string[]
  all: boolean
  bases: Readonly<Record<string, readonly string[]>>
}

/** Revokes the created keys, because a member can have a limited number of active keys. */
async function forget({ app }: World, id: string | null | undefined): Promise<void> {
  if (id) await app.db.deleteFrom('api_keys').where('id', '=', id).execute()
}

async function reachOf(world: World, holder: Holder): Promise<Rights> {
  const answer = await send(world.url, holder.header, post(viewerQuery))
  const { scopes, providerAccess } = dataOf(answer).viewer
  const listed: { basePath: string; provider: { id: string } }[] = providerAccess.restrictions
  return {
    scopes,
    all: providerAccess.all,
    bases: Object.fromEntries(
      [...Map.groupBy(listed, one => one.provider.id)].map(([id, some]) => [
        id,
        some.map(one => one.basePath).toSorted(),
      ]),
    ),
  }
}

function expectedReach({ providers }: World, holder: Holder): Rights {
  const all = reachesAll(holder) && hasScope(holder, 'read')
  const known = [providers.main, providers.hidden].flatMap(id => {
    const bases = all ? [] : basesIn(holder, id)
    return bases.length === 0 ? [] : [[id, bases]]
  })
  return { scopes: scopes.filter(scope => hasScope(holder, scope)), all, bases: Object.fromEntries(known) }
}

function isCovered(inner: Rights, outer: Rights): boolean {
  const isInside = ([id, paths]: [string, readonly string[]]) =>
    outer.all || paths.every(path => outer.bases[id]?.some(base => isBelow(path, base)))
  const scopesCovered = inner.scopes.every(scope => outer.scopes.includes(scope))
  return scopesCovered && (outer.all || !inner.all) && Object.entries(inner.bases).every(isInside)
}

function same(a: Rights, b: Rights): boolean {
  const text = ({ scopes, all, bases }: Rights) => JSON.stringify([scopes, all, Object.entries(bases).toSorted()])
  return text(a) === text(b)
}

/** @param instead the accepted outcome if the model permits the call */
function differs({ errors, text }: Answer, verdict: Verdict, instead: string | null): string | null {
  const { code, reason } = errors[0]?.extensions ?? {}
  const came = `got ${code} ${reason}`
  if (verdict.may) return (code ?? null) === instead ? null : `expected ${instead ?? 'success'}, ${came}`
  if (code !== verdict.code || !verdict.reasons.includes(reason ?? '')) return `expected ${verdict.reasons}, ${came}`
  return /"stw_[0-9a-f]{40}"/.test(text) ? 'a key in a refusal' : null
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
function dataOf({ body }: Answer): any {
  return (body as { data?: unknown }).data
}

function tokenOf({ header }: Holder): string {
  return header?.slice('Bearer '.length) ?? ''
}
