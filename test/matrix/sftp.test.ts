/** The permissions of SFTP, with the model and the cells of the other endpoints. */
import t from 'tap'
import { connectSsh, RawSftp, serveSftp, text } from '../sftp/server.ts'
import { extent } from '../support/extent.ts'
import { readSchema } from './api.ts'
import { areas, hostileAreas } from './areas.ts'
import { balance, canCarry, isDestructive, makeCell, runAll, runCell, someCombinations } from './cells.ts'
import { basesIn, reaches } from './model.ts'
import { performOver, sftpRows } from './sftp-rows.ts'
import { compareTrees, readTree } from './tree.ts'
import { type Holder, sharedWorld } from './world.ts'

t.setTimeout(3600_000)

const isKey = (token: string) => /^stw_[\da-f]{40}$/.test(token)
const tokenOf = ({ header }: Holder) => header?.replace(/^\w+ /, '') ?? ''

t.test('SFTP gives the response that the model predicts', async t => {
  const world = await sharedWorld()
  const schema = await readSchema(world.url)
  const endpoint = await serveSftp(t, world.app)
  const sessions = new Map<string, Promise<RawSftp>>()
  const sessionOf = (key: string) => {
    const session = sessions.get(key) ?? connectSsh(t, endpoint, { password: key }).then(RawSftp.start)
    sessions.set(key, session)
    return session
  }
  performOver(sessionOf)

  const isGood = (token: string) => isKey(token) && world.good.some(holder => tokenOf(holder) === token)

  t.test('only API keys are accepted', async t => {
    const tokens = new Set([...world.invalid, ...world.good].map(tokenOf).filter(token => !isGood(token)))
    t.ok(tokens.size > 3)
    let tried = 0
    // A connection takes fewer than six attempts, and an exchange of keys costs more than all of them.
    const groups = [...tokens].flatMap((_, at, all) => (at % 5 === 0 ? [all.slice(at, at + 5)] : []))
    const wrong = await runAll(
      groups,
      async group => {
        const left = group.values()
        let last = ''
        const authHandler = (_left: unknown, _partial: unknown, next: (attempt: object | false) => void) => {
          const { value: password } = left.next()
          if (password === undefined) return next(false)
          tried += 1
          last = password
          next({ type: 'password', username: 'anybody', password })
        }
        const refused = await connectSsh(t, endpoint, { authHandler } as never).then(
          () => 'accepted',
          error => (error.level === 'client-authentication' ? null : String(error)),
        )
        return refused && `${last.slice(0, 20)}: ${refused}`
      },
      4,
    )
    t.same(wrong, [])
    t.equal(tried, tokens.size)
  })

  const keys = world.good.filter(holder => isKey(tokenOf(holder)))
  const isTried = someCombinations()
  const cells = Object.keys(sftpRows).flatMap(row =>
    [...areas, ...hostileAreas]
      .filter(area => canCarry(row, area))
      .flatMap(area => keys.filter(isTried).map(holder => makeCell(world, row, holder, [area]))),
  )

  t.test('every row, area and key', async t => {
    const chosen = balance(cells, ({ verdict }) => verdict.may, extent({ gate: 65, nightly: 3000 })).filter(
      cell => !isDestructive(cell),
    )
    t.ok(chosen.length > 100)
    const groups = Map.groupBy(chosen, ({ verdict, holder }) =>
      verdict.may ? `${basesIn(holder, world.providers.main)} ${basesIn(holder, world.providers.hidden)}` : 'refused',
    )
    for (const group of groups.values()) {
      const [first] = group
      const holder = first?.verdict.may ? first.holder : null
      const outside = async () => {
        const all = new Map<string, string>()
        for (const [provider, root] of world.roots) {
          for (const [path, value] of await readTree(root)) {
            if (!holder || !reaches(holder, provider, path)) all.set(`${provider}${path}`, value)
          }
        }
        return all
      }
      const before = await outside()
      t.same(await runAll(group, cell => runCell(world, schema, cell)), [])
      t.same(compareTrees(before, await outside()), [], 'nothing else changes')
    }
    t.same(endpoint.faults, [])
  })

  t.test('the root and the way down show what a key can access', async t => {
    const some = keys.filter((_, index) => extent({ gate: index % 3 === 0, nightly: true }))
    const wrong = await runAll(some, async holder => {
      const sftp = await sessionOf(tokenOf(holder))
      const names = async (path: string): Promise<string> => {
        const opened = await sftp.request(11, text(path))
        if (opened.status !== null) return ''
        const { rest } = await sftp.request(12, opened.rest)
        return rest.toString()
      }
      const shown = await names('/')
      for (const provider of [world.providers.main, world.providers.hidden]) {
        const may = basesIn(holder, provider).length > 0
        if (shown.includes(provider) !== may) return `${holder.label}: ${provider} is ${may ? 'missing' : 'shown'}`
      }
      const isLimited = !reaches(holder, world.providers.main, '/canary-documents')
      const top = await names(`/${world.providers.main}`)
      return isLimited && top.includes('canary') ? `${holder.label} sees ${top}` : null
    })
    t.same(wrong, [])
  })
})
