import t from 'tap'
import { password } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Answer, operation, readSchema, type Schema, send } from './api.ts'
import { balance, runAll, sample } from './cells.ts'
import { workspaceAdmin } from './fields.ts'
import { type Access, judge, judgeGift, type Member, type Role, roles, type Verdict } from './model.ts'
import { accessInput, createWorld, describeAccess, type Holder, sharedWorld, type World } from './world.ts'

t.setTimeout(300_000)

t.test('nobody grants rights that they do not have', async t => {
  const world = await sharedWorld()
  const schema = await readSchema(world.url)
  const { accesses } = world
  const actors = world.good.filter(({ kind, key }) => kind === 'session' || key?.scopes[0] === 'admin')
  const most: Access[] = [accesses.all, accesses.base, accesses.other, accesses.listed]
  const members = roles.flatMap(role => most.map(access => ({ role, access })))
  const shared = await Promise.all(members.map(async member => ({ ...member, id: await world.insertMember(member) })))
  const name = ({ role, access }: Member) => `${role} for ${describeAccess(access, world.providers)}`

  t.test('to other members', async t => {
    const wishes = [...roles, null].flatMap(role =>
      [...most, accesses.apart, accesses.several, null].map(access => ({ role, access })),
    )
    const cases = balance(
      actors.flatMap(actor => shared.flatMap(target => wishes.map(wish => ({ actor, target, wish })))),
      ({ actor, target, wish }) => judgeUpdate(actor, target, wish).may,
      extent({ gate: 25, nightly: 600 }),
    )
    let given = 0
    const wrong = await runAll(cases, async ({ actor, target, wish }) => {
      const next = { role: wish.role ?? target.role, access: wish.access ?? target.access }
      const verdict = judgeUpdate(actor, target, wish)
      const userId = verdict.may ? await world.insertMember(target) : target.id
      const input = { userId, role: wish.role, providerAccess: wish.access && accessInput(wish.access) }
      const answer = await call(world, schema, actor, 'Mutation.updateMember', { input })
      const where = `${actor.label} makes ${name(target)} ${name(next)}`
      const fault = differs(answer, verdict)
      if (fault) return `${where}: ${fault}`
      given += verdict.may ? 1 : 0
      const now = await read(world, userId)
      return now === stored(verdict.may ? next : target) ? null : `${where}: they now are ${now}`
    })
    t.comment(`${cases.length} cases, ${given} given`)
    t.same(wrong.slice(0, 20), [])
  })

  t.test('members with more rights cannot be changed or removed', async t => {
    const cases = balance(
      actors.flatMap(actor => shared.map(target => ({ actor, target }))),
      ({ actor, target }) => judgeUpdate(actor, target, target).may,
      extent({ gate: 15, nightly: 200 }),
    )
    const wrong = await runAll(cases, async ({ actor, target }) => {
      const verdict = judgeUpdate(actor, target, target)
      const userId = verdict.may ? await world.insertMember(target) : target.id
      const fault = differs(await call(world, schema, actor, 'Mutation.removeMember', { userId }), verdict)
      const now = await read(world, userId)
      const isRight = now === (verdict.may ? null : stored(target))
      return !fault && isRight ? null : `${actor.label} removes ${name(target)}: ${fault}, they now are ${now}`
    })
    t.comment(`${cases.length} cases`)
    t.same(wrong.slice(0, 20), [])
  })

  t.test('invites that grant more are neither visible nor revocable', async t => {
    const verdictOf = (actor: Holder, gift: Member): Verdict => {
      const allowed = judge(actor, workspaceAdmin)
      return allowed.may ? judgeGift(actor, gift) : allowed
    }
    const unlike = await runAll(actors, async actor => {
      const answer = await call(world, schema, actor, 'Query.invites', {}, world.url, '{ id }')
      const verdict = judge(actor, workspaceAdmin)
      const fault = differs(answer, verdict)
      if (fault || !verdict.may) return fault && `${actor.label}: ${fault}`
      const seen = dataOf(answer).invites.map(({ id }: { id: string }) => id)
      const may = [...world.invites].filter(([, gift]) => judgeGift(actor, gift).may).map(([id]) => id)
      return seen.toSorted().join() === may.toSorted().join() ? null : `${actor.label} sees ${seen}, may see ${may}`
    })
    t.same(unlike.slice(0, 20), [], 'seen')
    const cases = balance(
      actors.flatMap(actor => [...world.invites].map(([id, gift]) => ({ actor, id, gift }))),
      ({ actor, gift }) => verdictOf(actor, gift).may,
      extent({ gate: 15, nightly: 200 }),
    )
    const wrong = await runAll(cases, async ({ actor, gift, id: standing }) => {
      const verdict = verdictOf(actor, gift)
      const id = verdict.may ? await world.insertInvite(gift) : standing
      const fault = differs(await call(world, schema, actor, 'Mutation.revokeInvite', { id }), verdict)
      const remaining = await world.app.db.selectFrom('invites').select('id').where('id', '=', id).execute()
      const isRight = remaining.length === (verdict.may ? 0 : 1)
      return !fault && isRight ? null : `${actor.label} revokes ${name(gift)}: ${fault}, ${remaining.length} remaining`
    })
    t.comment(`${actors.length} lists, ${cases.length} cases`)
    t.same(wrong.slice(0, 20), [], 'revoked')
  })

  t.test('through invites', async t => {
    const gifts: { role: Role; access: Access | null }[] = [
      ...members,
      ...roles.map(role => ({ role, access: accesses.apart })),
      ...roles.map(role => ({ role, access: accesses.several })),
      ...roles.map(role => ({ role, access: null })),
    ]
    const verdictOf = (actor: Holder, { role, access }: (typeof gifts)[number]): Verdict => {
      const allowed = judge(actor, workspaceAdmin)
      // The default is the access of the creator, which is always permitted.
      return allowed.may ? judgeGift(actor, { role, access: access ?? {} }) : allowed
    }
    const cases = balance(
      actors.flatMap(actor => gifts.map(gift => ({ actor, gift }))),
      ({ actor, gift }) => verdictOf(actor, gift).may,
      extent({ gate: 20, nightly: 400 }),
    )
    const made: { invite: string; actor: Holder; gift: (typeof gifts)[number] }[] = []
    const wrong = await runAll(cases, async ({ actor, gift }) => {
      const input = { role: gift.role, providerAccess: gift.access && accessInput(gift.access) }
      const answer = await call(world, schema, actor, 'Mutation.createInvite', { input })
      const fault = differs(answer, verdictOf(actor, gift))
      const invite = dataOf(answer)?.createInvite?.invite
      if (!fault && invite && gift.access) made.push({ invite, actor, gift })
      return (
        fault &&
        `${actor.label} invites ${gift.role} for ${gift.access && describeAccess(gift.access, world.providers)}: ${fault}`
      )
    })
    t.comment(`${cases.length} cases, ${made.length} made`)
    t.same(wrong.slice(0, 20), [])
    const used = sample(made, extent({ gate: 5, nightly: 12 }))
    const unlike = await runAll(used, async ({ invite, gift, actor }) => {
      const { id } = await world.app.register(`invited-${world.next()}@example.org`, { invite })
      const now = await read(world, id)
      return now === stored({ role: gift.role, access: gift.access ?? 'all' })
        ? null
        : `${actor.label} ${gift.role}: ${now}`
    })
    t.same(unlike, [], 'a new member gets the role and access of the invite')
    t.match(await registered(world, schema, used[0]?.invite ?? ''), /INVALID_INVITE/, 'an invite works once')
  })

  t.test('to themselves', async t => {
    const cases = actors.flatMap(actor => [
      ...roles.map(role => ({ actor, input: { userId: actor.userId, role } })),
      ...most.map(access => ({ actor, input: { userId: actor.userId, providerAccess: accessInput(access) } })),
    ])
    const chosen = sample(cases, extent({ gate: 20, nightly: 400 }))
    const wrong = await runAll(chosen, async ({ actor, input }) => {
      const answer = await call(world, schema, actor, 'Mutation.updateMember', { input })
      const reasons = ['OWN_MEMBERSHIP', 'EXCEEDS_OWN_REACH', 'SCOPE_REQUIRED', 'PROVIDER_NOT_ALLOWED']
      const isRefused = reasons.includes(answer.errors[0]?.extensions?.reason ?? '')
      const now = await read(world, actor.userId ?? '')
      return isRefused && now === stored(actor.own ?? actor.owner)
        ? null
        : `${actor.label} ${JSON.stringify(input)}: ${answer.text} ${now}`
    })
    t.comment(`${chosen.length} cases`)
    t.same(wrong.slice(0, 20), [])
  })
  t.equal(world.app.logged(), '')
})

t.test('a workspace keeps an owner', async t => {
  const world = await createWorld(t, { people: false })
  const schema = await readSchema(world.url)
  const replica = await world.app.replica()
  const { founder } = world
  const reason = (answer: Answer) => answer.errors[0]?.extensions?.reason ?? 'yes'
  const remove = (by: Holder, whom: Holder) => call(world, schema, by, 'Mutation.removeMember', { userId: whom.userId })
  const demote = (by: Holder, whom: Holder, url?: string) =>
    call(world, schema, by, 'Mutation.updateMember', { input: { userId: whom.userId, role: 'ADMIN' } }, url)
  const key = await world.key(founder, { scopes: ['admin'], access: 'all' })
  for (const by of [founder, key]) t.equal(reason(await remove(by, founder)), 'LAST_OWNER', by.label)

  const other = await world.person({ role: 'OWNER', access: 'all' })
  const outcomes = new Set<string>()
  for (let round = 0; round < extent({ gate: 5, nightly: 12 }); round++) {
    const answers = await Promise.all([demote(founder, other), demote(other, founder, replica.url)])
    outcomes.add(answers.map(reason).toSorted().join(' '))
    const states = await Promise.all(
      [founder, other].map(async one => [one, await read(world, one.userId ?? '')] as const),
    )
    const remaining = states.filter(([, now]) => now === stored({ role: 'OWNER', access: 'all' }))
    t.equal(remaining.length, 1, 'one of two owners who demote each other at once succeeds')
    const [owner] = remaining[0] ?? []
    const loser = owner === founder ? other : founder
    if (owner)
      await call(world, schema, owner, 'Mutation.updateMember', { input: { userId: loser.userId, role: 'OWNER' } })
  }
  t.comment([...outcomes].join(' | '))
  t.equal(reason(await remove(other, founder)), 'yes')
  t.equal(reason(await remove(other, other)), 'LAST_OWNER')
})

t.test('an invite grants no more than its creator could grant today', async t => {
  const world = await createWorld(t, { people: false })
  const schema = await readSchema(world.url)
  const { founder, accesses } = world
  const maker = await world.person({ role: 'ADMIN', access: 'all' })
  const invite = async () =>
    dataOf(
      await call(world, schema, maker, 'Mutation.createInvite', {
        input: { role: 'ADMIN', providerAccess: { all: true } },
      }),
    ).createInvite.invite
  const change = (member: Member) => {
    const input = { userId: maker.userId, role: member.role, providerAccess: accessInput(member.access) }
    return call(world, schema, founder, 'Mutation.updateMember', { input })
  }
  const [one, two, three, four] = [await invite(), await invite(), await invite(), await invite()]
  await change({ role: 'EDITOR', access: 'all' })
  t.match(await registered(world, schema, one), /INVALID_INVITE/)
  await change({ role: 'ADMIN', access: accesses.base })
  t.match(await registered(world, schema, two), /INVALID_INVITE/)
  await change({ role: 'ADMIN', access: 'all' })
  t.equal(await registered(world, schema, three), 'ADMIN')
  await call(world, schema, founder, 'Mutation.removeMember', { userId: maker.userId })
  t.match(await registered(world, schema, four), /INVALID_INVITE/)
  t.equal(await registered(world, schema, null), 'NONE', 'registration without an invite gives no role')
  const settings = async (registration: string) =>
    call(world, schema, founder, 'Mutation.updateWorkspace', { input: { registration } })
  const input = { role: 'VIEWER', providerAccess: null }
  const own = dataOf(await call(world, schema, founder, 'Mutation.createInvite', { input })).createInvite.invite
  await settings('CLOSED')
  t.same(
    [await registered(world, schema, own), await registered(world, schema, null)],
    ['REGISTRATION_CLOSED', 'REGISTRATION_CLOSED'],
  )
  await settings('INVITE')
  t.same(
    [await registered(world, schema, null), await registered(world, schema, own)],
    ['REGISTRATION_CLOSED', 'VIEWER'],
  )
})

function judgeUpdate(actor: Holder, target: Member, wish: { role: Role | null; access: Access | null }): Verdict {
  const allowed = judge(actor, workspaceAdmin)
  const has = allowed.may ? judgeGift(actor, target) : allowed
  return has.may ? judgeGift(actor, { role: wish.role ?? target.role, access: wish.access ?? target.access }) : has
}

function differs({ errors, text }: Answer, verdict: Verdict): string | null {
  const { code, reason } = errors[0]?.extensions ?? {}
  if (verdict.may) return errors.length === 0 ? null : `expected success, got ${code} ${reason}`
  const isRight = code === verdict.code && verdict.reasons.includes(reason ?? '')
  return isRight ? null : `expected ${verdict.code} ${verdict.reasons}, got ${text}`
}

function call(
  world: World,
  schema: Schema,
  by: Holder,
  row: string,
  args: Record<string, unknown>,
  url = world.url,
  select?: string,
): Promise<Answer> {
  return send(url, by.header, operation(schema, row, args, select))
}

/** Registers somebody and resolves with their role, or with the reason of the refusal. */
async function registered(world: World, schema: Schema, invite: string | null): Promise<string> {
  const input = { email: `new-${world.next()}@example.org`, password, invite }
  const answer = await send(world.url, null, operation(schema, 'Mutation.register', { input }, '{ user { role } }'))
  return answer.errors[0]?.extensions?.reason ?? dataOf(answer).register.user.role
}

/** Reads the role and access of a member from the database, or null. */
async function read({ app }: World, userId: string): Promise<string | null> {
  const row = await app.db
    .selectFrom('members')
    .select(['role', 'provider_access'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!row) return null
  const access = row.provider_access
  const groups = access.all ? [] : [...Map.groupBy(access.restrictions, one => one.providerId)]
  const bases = groups.map(([id, some]) => [id, some.map(one => one.basePath)])
  return stored({ role: row.role, access: access.all ? 'all' : Object.fromEntries(bases) })
}

function entriesOf(access: Exclude<Access, 'all'>) {
  return Object.entries(access)
    .map(([id, bases]) => [id, [bases].flat().toSorted()])
    .toSorted()
}

function stored({ role, access }: Member): string {
  return `${role} ${access === 'all' ? 'all' : JSON.stringify(entriesOf(access))}`
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
function dataOf({ body }: Answer): any {
  return (body as { data?: unknown }).data
}
