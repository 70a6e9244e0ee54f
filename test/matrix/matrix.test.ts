import t, { type Test } from 'tap'
import { extent } from '../support/extent.ts'
import { argumentsOf, fieldsOf, operation, outputTypes, parseRoutes, readSchema, type Schema, sendAs } from './api.ts'
import { type Area, areas, hostileAreas, providerAreas } from './areas.ts'
import {
  balance,
  type Cell,
  canCarry,
  isDestructive,
  makeCell,
  runAll,
  runCell,
  sample,
  someCombinations,
} from './cells.ts'
import { fields, nestedFields } from './fields.ts'
import { basesIn, isBelow, reaches } from './model.ts'
import { routes } from './routes.ts'
import { noIds, type Target } from './row.ts'
import { compareTrees, readTree } from './tree.ts'
import { type Holder, sharedWorld, type World } from './world.ts'

const allRows = { ...fields, ...routes }
const rowNames = Object.keys(allRows)
const withLocation = rowNames.filter(name => allRows[name]?.takes)
const onPaths = withLocation.filter(name => allRows[name]?.takes?.[0] !== 'provider')
const twoEnded = rowNames.filter(name => allRows[name]?.takes?.[1] === 'new')

const targetOf = ({ locations }: Cell): Target => ({ locations, n: 0, ids: noIds })

t.setTimeout(3600_000)

t.test('every call gets the response that the model predicts', async t => {
  const world = await sharedWorld()
  const schema = await readSchema(world.url)
  t.comment(
    `${world.good.length} good credentials, ${world.invalid.length} others, ${world.inCookies.length} with cookies`,
  )

  t.test('every field, argument and route has a row, and every row has one', async t => {
    const isRoot = (name: string) => ['Query', 'Mutation', 'Subscription'].includes(name)
    const types = outputTypes(schema)
    const live = types
      .filter(type => isRoot(type.name))
      .flatMap(({ name, fields }) => fields?.map(field => `${name}.${field.name}`))
    t.same(Object.keys(fields).toSorted(), live.toSorted(), 'fields of Query, Mutation and Subscription')
    const nested = types
      .filter(type => !isRoot(type.name))
      .map(({ name, fields }) => [name, fields?.map(field => field.name).toSorted()])
    const rows = Object.entries(nestedFields).map(([type, known]) => [type, Object.keys(known).toSorted()])
    t.same(Object.fromEntries(rows), Object.fromEntries(nested), 'nested fields')
    for (const [name, row] of Object.entries(fields)) {
      const [root = '', own = ''] = name.split('.')
      const field = fieldsOf(schema, root).find(field => field.name === own)
      if (!field) continue
      const cell = makeCell(world, name, world.founder)
      const args = row.args?.(targetOf(cell)) ?? {}
      const given = Object.entries(args).flatMap(([key, value]) => {
        const input: unknown = Array.isArray(value) ? value[0] : value
        return typeof input === 'object' && input !== null ? Object.keys(input).map(inner => `${key}.${inner}`) : [key]
      })
      t.same(given.toSorted(), argumentsOf(schema, field).toSorted(), `arguments of ${name}`)
    }
    const liveRoutes = parseRoutes(world.app.app.server.printRoutes())
    t.ok(liveRoutes.length > 5)
    const known = new Set(Object.keys(routes).map(name => name.split(' ').slice(0, 2).join(' ')))
    t.same([...known].toSorted(), liveRoutes.toSorted(), 'routes')
  })

  t.test('invalid and missing credentials', async t => {
    // In `npm test`, sixteen rows share the credentials.
    const triedIn = (index: number) =>
      extent({ gate: world.invalid.filter((_, n) => n % 16 === index % 16), nightly: world.invalid })
    const cells = rowNames.flatMap((row, index) => triedIn(index).map(holder => makeCell(world, row, holder)))
    const hostile = onPaths.flatMap(row =>
      hostileAreas.filter(area => canCarry(row, area)).map(area => makeCell(world, row, world.none, [area])),
    )
    await runGroups(t, world, schema, [...cells, ...sample(hostile, extent({ gate: 50, nightly: hostile.length }))])
    const lost = world.invalid.filter(({ faults }) => faults)
    const wrong = await runAll(lost, async holder => {
      const calls = [
        { method: 'GET', path: '/nowhere' },
        { method: 'PUT', path: '/graphql' },
        { method: 'POST', path: '/graphql', headers: { 'content-type': 'application/json' }, body: '{' },
        { method: 'POST', path: '/api/upload/proxy', body: 'x' },
      ]
      const answers = await Promise.all(calls.map(call => sendAs(world.url, holder, call)))
      const codes = answers.map(({ status, errors }) => `${status} ${errors[0]?.extensions?.code}`)
      return codes.every(code => code === '401 UNAUTHENTICATED') ? null : `${holder.label}: ${codes}`
    })
    t.same(wrong, [], 'an invalid credential is refused before other errors')
  })

  t.test('every role, access, scope and restriction, in its own and in other providers', async t => {
    const isTried = someCombinations()
    const cells = rowNames.flatMap(row => {
      const where: (readonly Area[])[] = allRows[row]?.takes ? providerAreas.map(area => [area]) : [[]]
      return where.flatMap(given => world.good.filter(isTried).map(holder => makeCell(world, row, holder, given)))
    })
    await runGroups(
      t,
      world,
      schema,
      balance(cells, cell => cell.verdict.may, extent({ gate: 70, nightly: 1800 })),
    )
  })

  t.test("the console's cookie acts as its session and is ignored beside a header", async t => {
    const { inCookies } = world
    const isTried = someCombinations()
    const everywhere = rowNames.flatMap(row => inCookies.filter(isTried).map(holder => makeCell(world, row, holder)))
    const paths = onPaths.flatMap(row =>
      areas
        .filter(area => area.path !== '/' || canCarry(row, area))
        .flatMap(area => inCookies.filter(isTried).map(holder => makeCell(world, row, holder, [area]))),
    )
    await runGroups(
      t,
      world,
      schema,
      balance([...everywhere, ...paths], cell => cell.verdict.may, extent({ gate: 30, nightly: 1000 })),
    )
  })

  t.test('every area of a provider', async t => {
    const holders = world.good.filter(({ owner, key }) => owner.role === 'OWNER' && (owner.access === 'all' || !key))
    const isTried = someCombinations()
    const cells = onPaths.flatMap(row =>
      areas
        .filter(area => area.path !== '/' || canCarry(row, area))
        .flatMap(area => holders.filter(isTried).map(holder => makeCell(world, row, holder, [area]))),
    )
    await runGroups(
      t,
      world,
      schema,
      balance(cells, cell => cell.verdict.may, extent({ gate: 30, nightly: 700 })),
    )
  })

  t.test('hostile spellings of paths', async t => {
    const { accesses } = world
    const limits = [accesses.all, accesses.base, accesses.other, accesses.apart]
    const holders = world.good.filter(
      ({ owner, key }) =>
        owner.role === 'OWNER' && owner.access === 'all' && key?.scopes[0] === 'write' && limits.includes(key.access),
    )
    const isTried = someCombinations()
    const cells = onPaths.flatMap(row =>
      hostileAreas
        .filter(area => canCarry(row, area))
        .flatMap(area => holders.filter(isTried).map(holder => makeCell(world, row, holder, [area]))),
    )
    const targets = twoEnded.flatMap(row =>
      hostileAreas
        .filter(area => canCarry(row, area))
        .flatMap(area => holders.filter(isTried).map(holder => makeCell(world, row, holder, [areas[0] as Area, area]))),
    )
    await runGroups(t, world, schema, sample(cells, extent({ gate: 100, nightly: 9000 })))
    await runGroups(t, world, schema, sample(targets, extent({ gate: 50, nightly: 5000 })))
  })

  t.test('both locations of move and copy', async t => {
    const holders = sample(world.good, 60)
    const isTried = someCombinations()
    const cells = twoEnded.flatMap(row => {
      const carried = areas.filter(area => canCarry(row, area))
      return carried.flatMap(from =>
        carried.flatMap(to => holders.filter(isTried).map(holder => makeCell(world, row, holder, [from, to]))),
      )
    })
    await runGroups(
      t,
      world,
      schema,
      balance(cells, cell => cell.verdict.may, extent({ gate: 30, nightly: 700 })),
    )
  })

  t.test('no call was logged as a fault', async t => t.equal(world.app.logged(), ''))

  t.test('hidden and missing locations get the same response', async t => {
    const restricted = world.good.filter(
      ({ owner, key }) => owner.role === 'OWNER' && (key?.access ?? owner.access) === world.accesses.base,
    )
    const pairs = [
      ['hidden provider', 'missing provider'],
      ['hidden provider', 'garbage for a provider'],
      ['outside', 'missing outside'],
    ] as const
    const at = (name: string) => areas.find(area => area.name === name) as Area
    const all = withLocation.flatMap(row => pairs.flatMap(pair => restricted.map(holder => ({ row, pair, holder }))))
    const cases = sample(all, extent({ gate: 50, nightly: all.length }))
    const wrong = await runAll(cases, async ({ row, pair, holder }) => {
      const [there, missing] = await Promise.all(
        pair.map(async name => {
          const cell = makeCell(world, row, holder, [at(name)])
          if (cell.verdict.may) return 'permitted'
          const found = allRows[row]
          const call =
            found && 'call' in found
              ? found.call(targetOf(cell))
              : operation(schema, row, fields[row]?.args?.(targetOf(cell)) ?? {})
          const answer = await sendAs(world.url, holder, call)
          return `${answer.status} ${answer.text.replace(/"requestId":"[^"]*"/g, '')}`
        }),
      )
      return there === missing ? null : `${row} with ${holder.label}: ${pair}: ${there} ${missing}`
    })
    t.comment(`${cases.length} pairs`)
    t.same(wrong.slice(0, 20), [])
  })
})

/**
 * Runs the refused cells first: nothing may change. Then runs the permitted cells, grouped by the access of their credential:
 * nothing outside that access may change.
 */
async function runGroups(t: Test, world: World, schema: Schema, cells: readonly Cell[]): Promise<void> {
  const begin = performance.now()
  const usable = cells.filter(cell => !isDestructive(cell))
  const groups = Map.groupBy(usable, ({ verdict, holder }) => (verdict.may ? accessOf(world, holder) : 'refused'))
  const wrong: string[] = []
  for (const group of groups.values()) {
    const holder = group[0]?.verdict.may ? group[0].holder : null
    const before = await outside(world, holder)
    wrong.push(...(await runAll(group, cell => runCell(world, schema, cell))))
    wrong.push(...compareTrees(before, await outside(world, holder)).map(change => `${change}, which must not happen`))
  }
  const refused = groups.get('refused')?.length ?? 0
  const ms = Math.round(performance.now() - begin)
  t.comment(`${usable.length} cells, ${refused} refused, ${groups.size} groups, ${wrong.length} wrong, ${ms} ms`)
  t.ok(usable.length > 0)
  for (const line of wrong.slice(0, 30)) t.fail(line)
  t.equal(wrong.length, 0, 'cells that differ from the model')
}

function accessOf({ providers }: World, holder: Holder): string {
  return `${basesIn(holder, providers.main)} ${basesIn(holder, providers.hidden)}`
}

/** Reads all files on disk that are outside the access of the holder; all files for null. */
async function outside(world: World, holder: Holder | null): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const [provider, root] of world.roots) {
    for (const [path, value] of await readTree(root)) {
      // Calls that restore take files from here, which the checks of their effects find.
      if (holder && isBelow(path, '/.stowage-trash')) continue
      if (!holder || !reaches(holder, provider, path)) all.set(`${provider}${path}`, value)
    }
  }
  return all
}
