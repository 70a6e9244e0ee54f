/**
 * Measures the server under attack. The server, the attacker and another client run in separate processes.
 * `npm run bench -- 1 attacks` measures the same for longer, with larger folders.
 */
import t, { type Test } from 'tap'
import { type AttackName, attackNames } from '../../../bench/attacks/attacks.ts'
import { type Measured, measure, signInsTried } from '../../../bench/attacks/measure.ts'
import { type Server, startTarget } from '../../../bench/attacks/target.ts'
import { databaseSettings } from '../../servers/postgres.ts'

const mib = 1024 * 1024
/** Milliseconds of measurement under attack, and of the attack before. */
const duration = 3000
const leadTime = 1000
/** Milliseconds for one request, without the time in which the server had no processor because of other load. */
const maxTime = 400
/** The number of files in the large folder. */
const files = 50_000
const connections = 3000
/** The number of attempts. Other load can only slow a measurement down, so one fast attempt is enough. */
const attempts = 3

t.setTimeout(600_000)

/** The server has one process, because the measurements are those of one. */
async function start(t: Test): Promise<Server> {
  return startTarget(t, { files, connections }, { ...(await databaseSettings(t)), STOWAGE_PROCESSES: '1' })
}

async function attack(t: Test, server: Server, name: AttackName) {
  const attacked = await measure(server, name, duration, leadTime)
  t.comment(describe(attacked))
  const isSlow = attacked.slowestServed > maxTime
  const isRefused = attacked.signIns < signInsTried - 1
  return { ...attacked, isSlow, isRefused }
}

t.test('others are served during the attack', async t => {
  const shared = await start(t)
  for (const name of attackNames) {
    await t.test(name, async t => {
      let measured = await attack(t, shared, name)
      for (let attempt = 1; (measured.isSlow || measured.isRefused) && attempt < attempts; attempt += 1) {
        // A new server excludes the influence of earlier attacks.
        const fresh = await start(t)
        measured = await attack(t, fresh, name)
        await fresh.stop()
      }
      t.notOk(measured.isSlow, '/healthz responds in time')
      t.equal(measured.unhealthy, 0, '/healthz always responds')
      t.notOk(measured.isRefused, 'the owner can sign in')
      t.ok(measured.growth < 400 * mib, 'memory is bounded')
    })
  }
})

function describe({ slowest, slowestServed, median, signIns, growth }: Measured): string {
  return `/healthz ${median.toFixed(1)} ms, at most ${Math.round(slowest)} ms (${Math.round(slowestServed)} ms with a processor), ${signIns} signed in, ${Math.round(growth / mib)} MiB more`
}
