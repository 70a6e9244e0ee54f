/** Clients that write, replace and delete for as long as the server answers them. */
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { send } from '../http/tus.ts'
import { type Ledger, sha256 } from './ledger.ts'
import { below } from './rounds.ts'
import type { World } from './world.ts'

export { until } from '../support/until.ts'

export interface Load {
  world: World
  ledger: Ledger
  random: () => number
  /** Becomes true shortly before the server is killed, and ends the clients at their next step. */
  over: () => boolean
  /** Answers that no kill explains. */
  odd: string[]
}

/** What a server that ends, or whose database has ended, may answer. */
const explained = new Set([500, 502, 503, 504])

let files = 0

/** Uploads in one request, of all sizes up to `most` bytes; some replace a file, some delete one. */
export async function writeAll(load: Load, providerId: string, most: number): Promise<void> {
  const { world, ledger, random, over, odd } = load
  const own = `shared-${files++}.bin`
  const written: string[] = []
  while (!over()) {
    const dice = random()
    if (dice < 0.15 && written.length > 0) {
      if (!(await remove(load, providerId, written[below(random, written.length)] ?? own))) return
      continue
    }
    const replaces = dice < 0.4
    const name = replaces ? own : `file-${files++}.bin`
    const bytes = randomBytes(below(random, most))
    const content = sha256(bytes)
    const key = `${providerId}/${name}`
    ledger.attempt(key, content)
    try {
      const body = random() < 0.5 ? bytes : Readable.toWeb(Readable.from(chunksOf(bytes)))
      const query = `&conflict=${replaces ? 'replace' : 'fail'}`
      const response = await world.upload(world.token, providerId, `/${name}`, body as BodyInit, query)
      const answer = await response.text()
      if (response.status === 201) ledger.acknowledge(key, content)
      else if (!explained.has(response.status) || !over()) odd.push(`${key}: ${response.status} ${answer}`)
      if (response.status !== 201) return
      written.push(name)
    } catch (error) {
      // The server is gone.
      if (!over()) odd.push(`${key}: ${error}`)
      return
    }
  }
}

async function remove({ world, ledger, over, odd }: Load, providerId: string, name: string): Promise<boolean> {
  const key = `${providerId}/${name}`
  ledger.attempt(key, null)
  try {
    const query = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
    const { errors } = await world.graphql(query, { input: { providerId, path: `/${name}` } }, world.token)
    const reason = errors[0]?.extensions.reason
    if (reason === undefined || reason === 'NOT_FOUND') ledger.acknowledge(key, null)
    else if (!over()) odd.push(`${key}: ${reason}`)
    return reason === undefined || reason === 'NOT_FOUND'
  } catch (error) {
    if (!over()) odd.push(`${key}: ${error}`)
    return false
  }
}

/** A resumable upload that goes on after the server has come back. */
export async function resumable({ world, ledger, odd }: Load, providerId: string, size: number): Promise<void> {
  const name = `resumable-${files++}.bin`
  const bytes = randomBytes(size)
  const content = sha256(bytes)
  const key = `${providerId}/${name}`
  ledger.attempt(key, content)
  const target = { url: world.url, token: world.token, metadata: { providerId, path: `/${name}` } }
  const responses: string[] = []
  try {
    // Also after the 5xx of a server that is about to end.
    const sent = await send(target, bytes, {
      retryDelays: Array(300).fill(200),
      chunkSize: 3_000_000,
      onShouldRetry: error => !isNameKept(error),
      onAfterResponse: (request, response) => void responses.push(`${request.getMethod()} ${response.getStatus()}`),
    })
    if (sent.path === `/${name}`) ledger.acknowledge(key, content)
    else odd.push(`${key}: stored as ${sent.path}`)
  } catch (error) {
    if (!isNameKept(error) && !isNameTaken(error, responses)) odd.push(`${key}: ${responses.join(', ')}; ${error}`)
  }
}

/** The answer that told its address was lost with the server: the name is kept for that upload for some minutes. */
function isNameKept(error: unknown): boolean {
  return `${error}`.includes('while creating upload') && `${error}`.includes('is under way')
}

/**
 * The client forgets an upload whose HEAD is answered with 5xx, and creates another one. The file of the first may be there
 * already: its server was killed before it could say so.
 */
function isNameTaken(error: unknown, responses: readonly string[]): boolean {
  const hasForgotten = responses.some(response => response.startsWith('HEAD 5'))
  return hasForgotten && `${error}`.includes('while creating upload') && `${error}`.includes('ALREADY_EXISTS')
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 100_000) yield bytes.subarray(start, start + 100_000)
}
