/**
 * Measures the server under attack. The server, the attacker and another client run in separate processes.
 * `npm run bench -- 1 attacks` measures the same for longer, with larger folders.
 */
import t from 'tap'
import { attackNames } from '../../bench/attacks/attacks.ts'
import { type Measured, measure, signInsTried } from '../../bench/attacks/measure.ts'
import { startTarget } from '../../bench/attacks/target.ts'
import { testDatabase } from '../servers/postgres.ts'

const mib = 1024 * 1024
/** Milliseconds of measurement under attack. */
const duration = 5000
/** Milliseconds of measurement with harmless requests, which show the current speed of the machine. */
const calmDuration = 1500
/** The number of files in the large folder. */
const files = 100_000
const connections = 3000
/** The number of attempts. Other load can only slow a measurement down, so one fast attempt is enough. */
const attempts = 3

t.setTimeout(600_000)

for (const name of attackNames) {
  t.test(`others are served during the attack: ${name}`, async t => {
    for (let attempt = 1; ; attempt += 1) {
      // Each attack gets a new server, so that attacks do not influence each other.
      const { connectionString } = await testDatabase(t)
      const environment = { DATABASE_URL: connectionString, STOWAGE_SECRET: 'a secret that only these tests have' }
      const server = await startTarget(t, { files, connections }, environment)
      const calm = await measure(server, null, calmDuration)
      const attacked = await measure(server, name, duration)
      await server.stop()
      t.comment(`${describe(attacked)}; with harmless requests ${describe(calm)}`)
      const isSlow = attacked.slowest > 400 + 5 * calm.slowest
      const isRefused = attacked.signIns < signInsTried - 1
      if ((isSlow || isRefused) && attempt < attempts) continue
      t.notOk(isSlow, '/healthz responds in time')
      t.equal(attacked.unhealthy, 0, '/healthz always responds')
      t.notOk(isRefused, 'the owner can sign in')
      t.ok(attacked.growth < 400 * mib, 'memory is bounded')
      return
    }
  })
}

function describe({ slowest, median, signIns, growth }: Measured): string {
  return `/healthz ${median.toFixed(1)} ms, at most ${Math.round(slowest)} ms, ${signIns} signed in, ${Math.round(growth / mib)} MiB more`
}
