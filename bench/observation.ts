import { readFile } from 'node:fs/promises'
import { freePort } from '../test/support/free-port.ts'
import { type Installation, install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, startBare } from './processes.ts'
import { interleave } from './rounds.ts'
import { callsPerSecond, wrkScript } from './wrk.ts'

const connections = 64
const seconds = 3
/** Linux counts processor time in hundredths of a second. */
const tick = 10_000

export const observation: Part = {
  title: 'Metrics and traces',
  about: `\`{ me { id email } }\` with a session, over ${connections} connections for ${seconds} seconds: without metrics and traces, with
\`STOWAGE_METRICS_ADDRESS\`, and with \`OTEL_EXPORTER_OTLP_ENDPOINT\`, whose collector accepts everything. The processor time is that of
the server process, without the database.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk) {
      say('Metrics and traces are skipped: wrk is not installed.')
      return []
    }
    await using plain = await install()
    await using measured = await install({ STOWAGE_METRICS_ADDRESS: `127.0.0.1:${await freePort()}` })
    await using collector = await startBare(plain.folder)
    const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    await using traced = await install(traces)
    await using sampled = await install({ ...traces, OTEL_TRACES_SAMPLER_ARG: '0.01' })
    const costs = {
      plain: [] as number[],
      measured: [] as number[],
      traced: [] as number[],
      sampled: [] as number[],
    }
    const callsTo = async (name: keyof typeof costs, { stowage, folder, session }: Installation) => {
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${session}` }
      const body = '{"query":"{ me { id email } }"}'
      const script = await wrkScript(folder, 'call', { method: 'POST', path: '/graphql', headers, body })
      return async () => {
        const before = await processorTime(stowage.pid)
        const perSecond = await callsPerSecond(wrk, script, stowage.url, { connections, seconds })
        costs[name].push(((await processorTime(stowage.pid)) - before) / (perSecond * seconds))
        return perSecond
      }
    }
    const figures = await interleave(rounds, {
      plain: await callsTo('plain', plain),
      measured: await callsTo('measured', measured),
      traced: await callsTo('traced', traced),
      sampled: await callsTo('sampled', sampled),
    })
    // The first round only warms up.
    for (const cost of Object.values(costs)) cost.shift()
    const speed = { what: 'neither', figures: figures.plain }
    const cost = { what: 'neither', figures: costs.plain }
    return [
      { what: 'neither', figures: figures.plain, unit: 'calls/s' },
      { what: 'with metrics', figures: figures.measured, unit: 'calls/s', against: speed },
      { what: 'with traces of all calls', figures: figures.traced, unit: 'calls/s', against: speed },
      { what: 'with traces of 1 % of calls', figures: figures.sampled, unit: 'calls/s', against: speed },
      { what: 'processor time, neither', figures: costs.plain, unit: 'µs/call' },
      { what: 'processor time, with metrics', figures: costs.measured, unit: 'µs/call', against: cost },
      { what: 'processor time, with traces of all calls', figures: costs.traced, unit: 'µs/call', against: cost },
      { what: 'processor time, with traces of 1 % of calls', figures: costs.sampled, unit: 'µs/call', against: cost },
    ]
  },
}

/** Returns the microseconds that a process has used: proc(5), `utime` and `stime`. */
async function processorTime(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tick
}
