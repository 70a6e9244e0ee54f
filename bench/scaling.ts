import { processTree } from '../test/support/process-tree.ts'
import { install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, startStowage } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'
import { callsPerSecond, wrkScript } from './wrk.ts'

const connections = 24
const seconds = 3

export const scaling: Part = {
  title: 'Processes and replicas',
  about: `\`{ me { id email } }\` with an API key, over ${connections} connections for ${seconds} seconds, to one server with 1, 2 and 4 processes,
and to three replicas of one process on one PostgreSQL, each with a third of the connections. The client shares the processors, so
the processor time for each call says what a core carries: that of the server processes, and that of PostgreSQL.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk) {
      say('Processes and replicas are skipped: wrk is not installed.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const contestants: Record<string, () => Promise<number>> = {}
    const costs: Record<string, { server: number[]; database: number[] }> = {}
    for (const [name, processes, replicas] of layouts) {
      const settings = { STOWAGE_PROCESSES: String(processes) }
      const { stowage, folder, key } = stack.use(await install(settings))
      const servers = [stowage]
      // A further server on the same data folder uses the database of the first.
      for (let more = 1; more < replicas; more += 1) servers.push(stack.use(await startStowage(folder, settings)))
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` }
      const body = '{"query":"{ me { id email } }"}'
      const script = await wrkScript(folder, 'call', { method: 'POST', path: '/graphql', headers, body })
      const cost = { server: [] as number[], database: [] as number[] }
      costs[name] = cost
      const pids = servers.map(({ pid }) => pid)
      contestants[name] = async () => {
        const before = await processorTime(pids)
        const load = { connections: Math.ceil(connections / replicas), seconds }
        const each = await Promise.all(servers.map(({ url }) => callsPerSecond(wrk, script, url, load)))
        const perSecond = each.reduce((sum, figure) => sum + figure, 0)
        const after = await processorTime(pids)
        cost.server.push((after.server - before.server) / (perSecond * seconds))
        cost.database.push((after.database - before.database) / (perSecond * seconds))
        return perSecond
      }
    }
    const figures = await interleave(rounds, contestants)
    const [[one]] = layouts
    const against = { what: one, figures: figures[one] ?? [] }
    return layouts.flatMap(([name], index): Row[] => [
      { what: name, figures: figures[name] ?? [], unit: 'calls/s', against: index === 0 ? undefined : against },
      // The first round only warms up.
      { what: `${name}: processor time of the server`, figures: costs[name]?.server.slice(1) ?? [], unit: 'µs/call' },
      { what: `${name}: of PostgreSQL`, figures: costs[name]?.database.slice(1) ?? [], unit: 'µs/call' },
    ])
  },
}

/** Name, processes of each replica, replicas. */
const layouts = [
  ['one process', 1, 1],
  ['two processes', 2, 1],
  ['four processes', 4, 1],
  ['three replicas', 1, 3],
] as const

/** Returns the microseconds that the servers and their PostgreSQL have used. */
async function processorTime(pids: readonly number[]): Promise<{ server: number; database: number }> {
  const all = (await Promise.all(pids.map(processTree))).flat()
  const sum = (isDatabase: boolean) =>
    all.filter(({ name }) => (name === 'postgres') === isDatabase).reduce((total, { time }) => total + time, 0)
  return { server: sum(false), database: sum(true) }
}
