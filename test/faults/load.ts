/** Clients that write, replace and delete files while the server responds. */
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
  /** Returns true shortly before the server is killed. Clients then stop at their next step. */
  over: () => boolean
  /** Responses that a kill does not explain. */
  odd: string[]
}

/** The statuses of a server that is stopping or has lost its database. */
const explained = new Set([500, 502, 503, 504])

let files = 0

/** Uploads files of up to `most` bytes in one request each. Some requests replace or delete a file. */
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
      // The server was killed.
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

/** Runs a resumable upload that continues after the server has restarted. */
export async function resumable({ world, ledger, odd }: Load, providerId: string, size: number): Promise<void> {
  const name = `resumable-${files++}.bin`
  const bytes = randomBytes(size)
  const content = sha256(bytes)
  const key = `${providerId}/${name}`
  ledger.attempt(key, content)
  const target = { url: world.url, token: world.token, metadata: { providerId, path: `/${name}` } }
  const responses: string[] = []
  try {
    // Continue after the 5xx of a server that is stopping, too.
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

/**
 * Whether the name is still reserved for an earlier upload. The response with the address of that upload was lost with
 * the server.
 */
function isNameKept(error: unknown): boolean {
  return `${error}`.includes('while creating upload') && `${error}`.includes('is under way')
}

/**
 * Whether the file of an earlier upload already exists. The client forgets an upload whose HEAD returns 5xx and creates
 * another one; the first may have been stored before its server was killed.
 */
function isNameTaken(error: unknown, responses: readonly string[]): boolean {
  const hasForgotten = responses.some(response => response.startsWith('HEAD 5'))
  return hasForgotten && `${error}`.includes('while creating upload') && `${error}`.includes('ALREADY_EXISTS')
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 100_000) yield bytes.subarray(start, start + 100_000)
}
