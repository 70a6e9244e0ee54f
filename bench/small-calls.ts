import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Peer, run } from './processes.ts'
import type { Row } from './table.ts'

const connections = 64
const seconds = 4

/** Requests a second of `{ me { id email } }` by session and by key, beside bare Node answering constant JSON. */
export async function smallCalls(options: {
  wrk: string
  bare: Peer
  stowage: Peer
  folder: string
  tokens: { session: string; key: string }
  rounds: number
}): Promise<Row[]> {
  const { wrk, bare, stowage, folder, tokens, rounds } = options
  const script = async (name: string, token: string): Promise<string> => {
    const path = join(folder, `${name}.lua`)
    await writeFile(
      path,
      `wrk.method = "POST"
wrk.body = '{"query":"{ me { id email } }"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${token}"
done = function(summary)
  local failed = summary.errors.status + summary.errors.read + summary.errors.timeout
  io.write("FIGURES ", summary.requests / (summary.duration / 1e6), " ", failed, "\\n")
end
`,
    )
    return path
  }
  const contestants = [
    { figures: [] as number[], url: `${bare.url}/graphql`, script: await script('bare', 'none') },
    { figures: [] as number[], url: `${stowage.url}/graphql`, script: await script('session', tokens.session) },
    { figures: [] as number[], url: `${stowage.url}/graphql`, script: await script('key', tokens.key) },
  ]
  for (let round = -1; round < rounds; round++) {
    for (const { figures, url, script } of contestants) {
      const args = ['-t1', `-c${connections}`, `-d${round < 0 ? 2 : seconds}s`, '-s', script, url]
      const { stdout } = await run(wrk, args)
      const [, perSecond, failed] = /FIGURES (\S+) (\d+)/.exec(stdout) ?? []
      if (failed !== '0') throw new Error(`Requests failed: ${stdout}`)
      if (round >= 0) figures.push(Number(perSecond))
    }
  }
  const [plain, session, key] = contestants.map(({ figures }) => figures)
  const against = plain && { what: 'bare Node', figures: plain }
  return [
    { what: 'bare Node, constant JSON', figures: plain ?? [], unit: 'calls/s' },
    { what: '`{ me { id email } }` with a session', figures: session ?? [], unit: 'calls/s', against },
    { what: '`{ me { id email } }` with an API key', figures: key ?? [], unit: 'calls/s', against },
  ]
}
