import { connectToDatabase, install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, startBare } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'
import { callsPerSecond, type WrkRequest, wrkScript } from './wrk.ts'

const connections = 64
const seconds = 3
const load = { connections, seconds }
const sizes = [1000, 1_000_000]

export const smallCalls: Part = {
  title: 'Small calls',
  about: `\`{ me { id email } }\` with a session or an API key, over ${connections} connections for ${seconds} seconds, compared with Node's own HTTP
server that responds with constant JSON. The table of keys has a thousand rows, then a million.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk) {
      say('Small calls are skipped: wrk is not installed.')
      return []
    }
    await using installation = await install()
    const { stowage, folder, session, key } = installation
    await using bare = await startBare(folder)
    const scripts = {
      bare: await wrkScript(folder, 'bare', requestWith('none')),
      session: await wrkScript(folder, 'session', requestWith(session)),
      key: await wrkScript(folder, 'key', requestWith(key)),
    }
    const rows: Row[] = []
    for (const keys of sizes) {
      say(`  ${keys.toLocaleString('en')} keys in the table`)
      await fillKeys(folder, keys)
      const figures = await interleave(rounds, {
        bare: () => callsPerSecond(wrk, scripts.bare, bare.url, load),
        session: () => callsPerSecond(wrk, scripts.session, stowage.url, load),
        key: () => callsPerSecond(wrk, scripts.key, stowage.url, load),
      })
      const against = { what: 'bare Node', figures: figures.bare }
      const table = `${keys.toLocaleString('en')} keys in the table`
      rows.push(
        { what: `bare Node, constant JSON`, figures: figures.bare, unit: 'calls/s' },
        { what: `with a session, ${table}`, figures: figures.session, unit: 'calls/s', against },
        { what: `with an API key, ${table}`, figures: figures.key, unit: 'calls/s', against },
      )
    }
    return rows
  },
}

function requestWith(token: string): WrkRequest {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }
  return { method: 'POST', path: '/graphql', headers, body: '{"query":"{ me { id email } }"}' }
}

/** Inserts keys of the existing member. The first key stays in use. */
async function fillKeys(folder: string, count: number): Promise<void> {
  const db = await connectToDatabase(folder)
  try {
    await db.query(
      `insert into api_keys (workspace_id, user_id, name, key_hash, display_prefix, scopes, provider_access)
       select workspace_id, user_id, 'filling', sha256(uuid_send(gen_random_uuid())), display_prefix, scopes, provider_access
       from (select * from api_keys where name = 'bench') as first, generate_series(1, $1::int)
       limit $1 - (select count(*) from api_keys)`,
      [count],
    )
    await db.query('vacuum analyze api_keys')
  } finally {
    await db.end()
  }
}
