/** Measures calls per second with wrk. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './processes.ts'

export interface WrkRequest {
  method: string
  /** Each `#` stands for the number of the request, which starts again after `paths` requests. */
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** Default: unlimited. */
  paths?: number
}

/** Writes the script of a request, and returns its path. */
export async function wrkScript(folder: string, name: string, request: WrkRequest): Promise<string> {
  const { method, path, headers = {}, body, paths = 2 ** 53 } = request
  const file = join(folder, `${name}.lua`)
  const lines = [
    `wrk.method = ${JSON.stringify(method)}`,
    ...(body === undefined ? [] : [`wrk.body = ${longString(body)}`]),
    ...Object.entries(headers).map(([key, value]) => `wrk.headers[${JSON.stringify(key)}] = ${JSON.stringify(value)}`),
    'local number = 0',
    'request = function()',
    `  number = number % ${paths} + 1`,
    `  return wrk.format(nil, ${path.split('#').map(longString).join(' .. string.format("%d", number) .. ')})`,
    'end',
    'done = function(summary)',
    '  local failed = summary.errors.status + summary.errors.read + summary.errors.timeout',
    '  io.write("FIGURES ", summary.requests / (summary.duration / 1e6), " ", failed, "\\n")',
    'end',
  ]
  await writeFile(file, lines.join('\n'))
  return file
}

function longString(text: string): string {
  return `[==[${text}]==]`
}

/** Resolves with the calls per second. @throws if one fails */
export async function callsPerSecond(
  wrk: string,
  script: string,
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<number> {
  const { stdout } = await run(wrk, ['-t1', '--timeout', '30s', `-c${connections}`, `-d${seconds}s`, '-s', script, url])
  const [, perSecond, failed] = /FIGURES (\S+) (\d+)/.exec(stdout) ?? []
  if (failed !== '0') throw new Error(`Requests failed: ${stdout}`)
  return Number(perSecond)
}
