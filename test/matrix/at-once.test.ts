import t, { type Test } from 'tap'
import { atNight, extent } from '../support/extent.ts'
import { toolCall } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { type Answer, operation, post, readSchema, type Schema, send } from './api.ts'
import type { Access, Member, Scope } from './model.ts'
import { interpretTool } from './routes.ts'
import { accessInput, base, contentOf, createWorld, folders, type Holder, seedFile, type World } from './world.ts'

/** Writes and reads at two locations, with GraphQL and with tools. Resolves with the distinct reasons of refusals, or "yes" if all calls succeed. */
async function tries(world: World, schema: Schema, holder: Holder, url = world.url): Promise<string> {
  const outcomes: string[] = []
  for (const path of [folders.inside, folders.outside]) {
    for (const [row, args] of [
      [
        'Mutation.createFolder',
        { input: { providerId: world.providers.main, path: `${path}/at-once-${world.next()}` } },
      ],
      ['Query.folder', { providerId: world.providers.main, path }],
    ] as const) {
      const answer = await send(url, holder.header, operation(schema, row, args))
      outcomes.push(answer.status === 401 ? `401 ${reasonOf(answer)}` : reasonOf(answer))
    }
    const providerId = world.providers.main
    for (const call of [
      toolCall('create_folder', { providerId, path: `${path}/at-once-${world.next()}` }),
      toolCall('list_folder', { providerId, path }),
    ]) {
      const answer = await send(url, holder.header, { ...call, interpret: interpretTool })
      outcomes.push(answer.status === 401 ? `401 ${reasonOf(answer)}` : reasonOf(answer))
    }
  }
  return [...new Set(outcomes)].join(', ')
}

const reasonOf = (answer: Answer): string => answer.errors[0]?.extensions?.reason ?? 'yes'

async function change(world: World, schema: Schema, row: string, args: Record<string, unknown>, by = world.founder) {
  const answer = await send(world.url, by.header, operation(schema, row, args))
  if (answer.errors.length > 0) throw new Error(`${row}: ${answer.text}`)
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
  return (answer.body as any).data
}

function update(world: World, schema: Schema, { userId }: Holder, { role, access }: Member) {
  return change(world, schema, 'Mutation.updateMember', {
    input: { userId, role, providerAccess: accessInput(access) },
  })
}

async function setUp(t: Test) {
  const world = await createWorld(t, { people: false })
  const schema = await readSchema(world.url)
  const replica = await world.app.replica()
  const everywhere = async (holder: Holder) => {
    const outcomes = await Promise.all([world.url, replica.url].map(url => tries(world, schema, holder, url)))
    return outcomes[0] === outcomes[1] ? outcomes[0] : outcomes
  }
  const admin = () => world.person({ role: 'ADMIN', access: 'all' })
  return { world, schema, replica, everywhere, admin }
}

const everything: { scopes: readonly Scope[]; access: Access } = { scopes: ['admin'], access: 'all' }

t.test('a lost right is refused with the next request, on every replica', async t => {
  const { world, schema, everywhere, admin } = await setUp(t)
  const { founder, accesses } = world

  t.test('a revoked key', async t => {
    const key = await world.key(founder, everything)
    t.equal(await everywhere(key), 'yes')
    await change(world, schema, 'Mutation.revokeApiKey', { id: key.keyId })
    t.equal(await everywhere(key), '401 KEY_REVOKED')
    await change(world, schema, 'Mutation.renameApiKey', { id: key.keyId, name: 'back again' })
    await change(world, schema, 'Mutation.revokeApiKey', { id: key.keyId })
    t.equal(await everywhere(key), '401 KEY_REVOKED', 'for good')
  })

  atNight(t, 'a key that expires while it is used', async t => {
    const begunAt = Date.now()
    await everywhere(await world.key(founder, everything))
    const expiresAt = new Date(Date.now() + 1500 + 5 * (Date.now() - begunAt))
    const made = await world.app.createKey(founder.header?.slice(7) ?? '', { name: 'x', scopes: ['admin'], expiresAt })
    const key: Holder = { ...founder, kind: 'key', header: `Bearer ${made.key}` }
    t.equal(await everywhere(key), 'yes')
    const late: string[] = []
    while (Date.now() < expiresAt.getTime() + 300) {
      const asked = Date.now()
      const outcome = reasonOf(await send(world.url, key.header, post('{ me { id } }')))
      if (
        asked >= expiresAt.getTime() ? outcome !== 'KEY_EXPIRED' : Date.now() < expiresAt.getTime() && outcome !== 'yes'
      )
        late.push(outcome)
    }
    t.same(late, [], 'the key works until its expiry, to the millisecond')
    t.equal(await everywhere(key), '401 KEY_EXPIRED')
  })

  t.test('a session after logout', async t => {
    const person = await admin()
    t.equal(await everywhere(person), 'yes')
    await change(world, schema, 'Mutation.logout', {}, person)
    t.equal(await everywhere(person), '401 SESSION_ENDED')
  })

  t.test('a removed member and all their keys', async t => {
    const person = await admin()
    const key = await world.key(person, everything)
    t.same([await everywhere(person), await everywhere(key)], ['yes', 'yes'])
    await change(world, schema, 'Mutation.removeMember', { userId: person.userId })
    for (const holder of [person, key]) t.match(await everywhere(holder), /^401 (INVALID_CREDENTIAL|SESSION_ENDED)$/)
  })

  t.test('a deactivated member and all their keys, until they are reactivated', async t => {
    const person = await admin()
    const key = await world.key(person, everything)
    t.same([await everywhere(person), await everywhere(key)], ['yes', 'yes'])
    await change(world, schema, 'Mutation.deactivateMember', { userId: person.userId })
    t.same([await everywhere(person), await everywhere(key)], ['401 SESSION_ENDED', '401 ACCOUNT_DEACTIVATED'])
    await change(world, schema, 'Mutation.reactivateMember', { userId: person.userId })
    t.same([await everywhere(person), await everywhere(key)], ['401 SESSION_ENDED', 'yes'])
  })

  t.test('a role; if it is restored, a key regains at most its own scopes', async t => {
    const person = await admin()
    const [full, reader] = [
      await world.key(person, everything),
      await world.key(person, { scopes: ['read'], access: 'all' }),
    ]
    const steps: [Member['role'], string, string][] = [
      ['EDITOR', 'yes', 'SCOPE_REQUIRED, yes'],
      ['VIEWER', 'SCOPE_REQUIRED, yes', 'SCOPE_REQUIRED, yes'],
      ['NONE', 'SCOPE_REQUIRED', 'SCOPE_REQUIRED'],
      ['OWNER', 'yes', 'SCOPE_REQUIRED, yes'],
    ]
    for (const [role, fullTold, readerTold] of extent({ gate: steps.filter((_, n) => n % 2 === 1), nightly: steps })) {
      await update(world, schema, person, { role, access: 'all' })
      t.same(
        [await everywhere(person), await everywhere(full), await everywhere(reader)],
        [fullTold, fullTold, readerTold],
        role,
      )
    }
  })

  t.test('provider access; if it is restored, a key regains at most its own access', async t => {
    const person = await admin()
    const all = await world.key(person, everything)
    const narrow = await world.key(person, { scopes: ['write'], access: accesses.base })
    const steps: [keyof typeof accesses, string, string][] = [
      ['base', 'yes, OUTSIDE_BASE_PATH', 'yes, OUTSIDE_BASE_PATH'],
      ['other', 'PROVIDER_NOT_ALLOWED', 'PROVIDER_NOT_ALLOWED'],
      ['apart', 'OUTSIDE_BASE_PATH, yes', 'PROVIDER_NOT_ALLOWED'],
      ['listed', 'yes', 'yes, OUTSIDE_BASE_PATH'],
      ['all', 'yes', 'yes, OUTSIDE_BASE_PATH'],
    ]
    for (const [name, allTold, narrowTold] of extent({ gate: steps.filter((_, n) => n % 2 === 0), nightly: steps })) {
      await update(world, schema, person, { role: 'ADMIN', access: accesses[name] })
      t.same(
        [await everywhere(person), await everywhere(all), await everywhere(narrow)],
        [allTold, allTold, narrowTold],
        name,
      )
    }
  })

  t.test('"all providers" includes those connected later, a list does not', async t => {
    const [all, listed] = [
      await world.key(founder, everything),
      await world.key(founder, { ...everything, access: accesses.listed }),
    ]
    const later = await world.connect('later')
    const ask = (holder: Holder) => send(world.url, holder.header, operation(schema, 'Query.provider', { id: later }))
    t.same([reasonOf(await ask(all)), reasonOf(await ask(listed))], ['yes', 'PROVIDER_NOT_ALLOWED'])
    const own = await world.key(founder, { ...everything, access: { [later]: '/' } })
    t.equal(
      reasonOf(await send(world.url, listed.header, operation(schema, 'Mutation.disconnectProvider', { id: later }))),
      'PROVIDER_NOT_ALLOWED',
    )
    t.equal(
      reasonOf(await send(world.url, own.header, operation(schema, 'Mutation.disconnectProvider', { id: later }))),
      'yes',
    )
    t.same([reasonOf(await ask(all)), reasonOf(await ask(own))], ['NOT_FOUND', 'NOT_FOUND'])
  })
})

t.test('links end with the credential that created them', async t => {
  const { world, schema, replica, admin } = await setUp(t)
  const { providers, accesses } = world
  const path = `${base}/${seedFile}`

  async function linkOf(holder: Holder, expiresIn = 300): Promise<string> {
    const select = `{ downloadUrl(expiresIn: ${expiresIn}) }`
    const call = operation(schema, 'Query.file', { providerId: providers.main, path }, select)
    const answer = await send(world.url, holder.header, call)
    // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
    return new URL((answer.body as any).data.file.downloadUrl).href.slice(world.url.length)
  }
  async function follow(link: string, header: string | null = null): Promise<string> {
    const [one, other, head, named] = await Promise.all([
      send(world.url, header, { method: 'GET', path: link }),
      send(replica.url, header, { method: 'GET', path: link }),
      send(world.url, header, { method: 'HEAD', path: link }),
      send(world.url, header, { method: 'GET', path: link.replace('?', '/a%20name?') }),
    ])
    const statuses = [one, other, head, named].map(({ status }) => status)
    if (new Set(statuses).size > 1) return statuses.join(' ')
    return one.status === 200 ? one.text : `${one.status} ${reasonOf(one)}`
  }

  t.test('revoking a key ends its links and no others', async t => {
    const person = await admin()
    const [key, other] = [await world.key(person, everything), await world.key(person, everything)]
    const [cut, kept] = [await linkOf(key), await linkOf(other)]
    t.same([await follow(cut), await follow(kept)], [contentOf(path), contentOf(path)])
    await change(world, schema, 'Mutation.revokeApiKey', { id: key.keyId }, person)
    t.same([await follow(cut), await follow(kept)], ['401 LINK_EXPIRED', contentOf(path)])
    t.equal(
      await follow(cut, world.founder.header),
      '401 LINK_EXPIRED',
      'the credential of somebody else does not revive the link',
    )
    t.equal(await follow(kept, key.header), '401 KEY_REVOKED', 'a valid link does not revive a revoked credential')
    await update(world, schema, person, { role: 'EDITOR', access: accesses.apart })
    t.equal(await follow(kept), '403 OUTSIDE_BASE_PATH')
    await update(world, schema, person, { role: 'EDITOR', access: accesses.other })
    t.equal(await follow(kept), '403 PROVIDER_NOT_ALLOWED')
    await update(world, schema, person, { role: 'NONE', access: 'all' })
    t.equal(await follow(kept), '403 SCOPE_REQUIRED')
    await update(world, schema, person, { role: 'VIEWER', access: accesses.base })
    t.equal(await follow(kept), contentOf(path))
    await change(world, schema, 'Mutation.removeMember', { userId: person.userId })
    t.equal(await follow(kept), '401 LINK_EXPIRED')
  })

  t.test('logout ends the links of the session', async t => {
    const person = await admin()
    const link = await linkOf(person)
    t.equal(await follow(link), contentOf(path))
    await change(world, schema, 'Mutation.logout', {}, person)
    t.equal(await follow(link), '401 LINK_EXPIRED')
  })

  t.test('an expired or modified link is refused', async t => {
    const begunAt = Date.now()
    await follow(await linkOf(world.founder))
    const link = await linkOf(world.founder, 1 + Math.ceil((Date.now() - begunAt) / 200))
    t.equal(await follow(link), contentOf(path))
    await until(async () => (await follow(link)) === '401 LINK_EXPIRED')
    const good = new URL(await linkOf(world.founder), world.url)
    const ticket = good.searchParams.get('ticket') ?? ''
    const changed = [...ticket].flatMap((letter, index) => {
      if (index % extent({ gate: 7, nightly: 1 }) !== 0) return []
      // The last character of base64 can have unused bits.
      const isPadding = index === ticket.length - 1 || ticket[index + 1] === '.'
      return isPadding ? [] : [ticket.slice(0, index) + (letter === 'A' ? 'B' : 'A') + ticket.slice(index + 1)]
    })
    const statuses = await Promise.all(
      [...changed, '', ticket.slice(1), `${ticket}A`, '.', 'null'].map(async ticket => {
        const answer = await send(world.url, null, {
          method: 'GET',
          path: `/api/download/proxy?${new URLSearchParams({ ticket })}`,
        })
        return `${answer.status} ${reasonOf(answer)}`
      }),
    )
    t.same([...new Set(statuses)], ['401 LINK_EXPIRED'])
    t.equal(
      await follow(`${good.pathname}${good.search}&path=${encodeURIComponent(`${folders.outside}/${seedFile}`)}`),
      '400 INVALID_INPUT',
    )
    t.equal(await follow(`${good.pathname}${good.search}`), contentOf(path))
  })
})

t.test('a cursor works only for its credential and its folder', async t => {
  const { world, admin } = await setUp(t)
  const { providers, founder, accesses } = world
  const list = async (
    holder: Holder,
    after: string | null,
    location = { providerId: providers.main, path: base as string },
  ) => {
    const query = `query ($providerId: ID!, $path: String!, $after: String) {
      folder(providerId: $providerId, path: $path) { entries(first: 1, after: $after) { nodes { path } pageInfo { endCursor } } } }`
    const answer = await send(world.url, holder.header, post(query, { ...location, after }))
    // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
    return { reason: reasonOf(answer), cursor: (answer.body as any).data?.folder?.entries.pageInfo.endCursor as string }
  }
  const person = await admin()
  const key = await world.key(person, everything)
  const others = [
    founder,
    await admin(),
    person,
    await world.key(person, everything),
    await world.key(person, { scopes: ['read'], access: accesses.base }),
  ]
  const { cursor } = await list(key, null)
  t.type(cursor, 'string')
  t.equal((await list(key, cursor)).reason, 'yes')
  for (const other of others) t.equal((await list(other, cursor)).reason, 'INVALID_CURSOR', other.label)
  const elsewhere = [
    { providerId: providers.main, path: folders.outside },
    { providerId: providers.main, path: '/' },
    { providerId: providers.hidden, path: base },
  ]
  for (const location of elsewhere) t.equal((await list(key, cursor, location)).reason, 'INVALID_CURSOR', location.path)
  for (const wrong of [cursor.slice(1), `${cursor}A`, cursor.toUpperCase(), '', ' ', btoa('0'), person.userId ?? '']) {
    t.equal((await list(key, wrong)).reason, 'INVALID_CURSOR', wrong)
  }
})
