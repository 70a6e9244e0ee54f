/** Measures how the cost of a request grows with the length of one text in it. */
import { once } from 'node:events'
import { Agent, type OutgoingHttpHeaders, request } from 'node:http'
import type { Test } from 'tap'
import type { TestApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'

export interface Sent {
  method?: string
  path: string
  headers?: OutgoingHttpHeaders
  body?: string
}

/** Makes a request with `text` in one part of it. */
export type RequestWith = (text: string) => Sent

/**
 * The UTF-16 code units of the longer text. A body may have 2.5 times as many, and all headers together only slightly
 * more.
 */
export const inBody = 400_000
export const inHeaders = 28_000

/** The length of the longer text divided by that of the shorter one. */
const factor = 8
/** The largest accepted growth. Quadratic time would grow 64 times. */
const maxGrowth = 2.5 * factor
/** The maximum number of measurements of one text. The fastest counts, because other load only adds time. */
const rounds = 40
/** The places of texts among which `npm test` divides the units. */
const places = 26

export const units = [
  'eyJ',
  'eyJ-',
  'eyJ.',
  'stw_',
  'a',
  'a.',
  '@',
  '9',
  '-',
  ' ',
  '\t',
  ',',
  ' ,',
  ';a=',
  '=',
  '"',
  '"a",',
  'W/',
  '\\',
  '/',
  '.',
  '%25',
  '&',
  '(',
  '{',
  '[',
]

/** Texts of `length` characters that end with the repeated unit, or with something else. */
const shapes: ((unit: string, length: number) => string)[] = [
  (unit, length) => `x${unit.repeat(length / unit.length)}`,
  (unit, length) => `${unit.repeat(length / unit.length)}x`,
]

export const json = { 'content-type': 'application/json' }
/** Encodes `text` for a URL, cut to the same length. */
export const inUrl = (text: string) => text.replace(/[^\x21-\x7e]|[#?]/g, encodeURIComponent).slice(0, text.length)

/**
 * Requires that all requests take linear time for texts of repeated `units`.
 * @param length of the longer texts
 */
export async function requireLinear(
  t: Test,
  app: TestApp,
  requests: Readonly<Record<string, RequestWith>>,
  { length, units }: { length: number; units: readonly string[] },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let slowest = { what: '', time: 0 }
  for (const [index, [what, requestWith]] of Object.entries(requests).entries()) {
    const wrong: string[] = []
    const tried = units.filter((_, n) => n % places === index % Math.min(places, units.length))
    const turn = (index + Math.floor(index / units.length)) % shapes.length
    for (const unit of extent({ gate: tried, nightly: units })) {
      for (const shape of extent({ gate: shapes.slice(turn, turn + 1), nightly: shapes })) {
        const [short, long] = [shape(unit, length / factor), shape(unit, length)]
        if (!isSendable(requestWith(long))) continue
        const { times, time } = await growth(app, agent, requestWith(short), requestWith(long))
        if (time > slowest.time) slowest = { what: `${what}, ${JSON.stringify(unit)}`, time }
        if (times > maxGrowth) wrong.push(`${JSON.stringify(unit)}: ${times.toFixed(1)} times, ${time.toFixed(0)} ms`)
      }
    }
    t.same(wrong, [], what)
  }
  agent.destroy()
  t.comment(`the slowest: ${slowest.what}, ${slowest.time.toFixed(1)} ms of processor time`)
}

/**
 * Measures how many times as long the longer request takes. It compares the fastest of several measurements of each.
 */
async function growth(app: TestApp, agent: Agent, short: Sent, long: Sent): Promise<{ times: number; time: number }> {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  let times = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && times > maxGrowth; round++) {
    least = Math.min(least, await cost(app, agent, short))
    most = Math.min(most, await cost(app, agent, long))
    times = most / least
  }
  return { times, time: most }
}

/**
 * Measures the milliseconds of processor time of this process, which other programs do not lengthen. It includes the client, whose
 * cost is linear. The time of a thread alone would be known only to some milliseconds.
 */
async function cost(app: TestApp, agent: Agent, { method = 'GET', path, headers, body }: Sent): Promise<number> {
  const begin = process.cpuUsage()
  // A URL object would encode the path again.
  const { hostname: host, port } = new URL(app.url)
  const outgoing = request({ host, port, path, method, agent, ...(headers && { headers }) })
  outgoing.end(body)
  const [incoming] = await once(outgoing, 'response')
  if (incoming.statusCode === 431) throw new Error(`Send less than ${path.length} characters: ${path.slice(0, 80)}`)
  incoming.resume()
  await once(incoming, 'close')
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1000
}

/** Node's client refuses control characters in headers. */
function isSendable({ headers = {} }: Sent): boolean {
  return Object.values(headers).every(value => /^[\t\x20-\x7e]*$/.test(String(value)))
}
