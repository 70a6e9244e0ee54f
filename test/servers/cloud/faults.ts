import type { IncomingMessage } from 'node:http'

/** Selects requests. All given properties have to match. */
export interface Match {
  method?: string
  /** Matches the decoded path with its query. */
  path?: RegExp
}

export interface Fault extends Match {
  /** One of the vendor's reasons, or `lost`: the connection breaks without a response. */
  reason: string
  status?: number
  /** Seconds. */
  retryAfter?: number
  times?: number
  /** The server handles the request first and replaces only the response. */
  executed?: boolean
}

export interface Logged {
  method: string
  /** The path with its query. */
  url: string
  status: number
  token: string | undefined
  contentRange: string | undefined
}

type Hook = Match & { run: () => unknown }

/** Faults and hooks on demand, and the log of requests. */
export class Faults {
  readonly log: Logged[] = []
  #faults: Fault[] = []
  #hooks: Hook[] = []

  fail(fault: Fault): void {
    this.#faults.push({ times: 1, ...fault })
  }

  /** Runs a hook once, before the next matching request is handled. */
  before(hook: Hook): void {
    this.#hooks.push(hook)
  }

  /** The number of faults that are still to occur. */
  get pending(): number {
    return this.#faults.length
  }

  count(match: Match): number {
    return this.log.filter(({ method, url }) => fits(match, method, url)).length
  }

  clear(): void {
    this.#faults = []
    this.#hooks = []
    this.log.length = 0
  }

  async prepare(method: string, url: string): Promise<Fault | undefined> {
    const hook = this.#hooks.find(hook => fits(hook, method, url))
    if (hook) {
      this.#hooks = this.#hooks.filter(other => other !== hook)
      await hook.run()
    }
    const fault = this.#faults.find(fault => fits(fault, method, url))
    if (fault?.times !== undefined) {
      fault.times -= 1
      if (fault.times <= 0) this.#faults = this.#faults.filter(other => other !== fault)
    }
    return fault
  }
}

export function fits({ method, path }: Match, actualMethod: string, url: string): boolean {
  return (
    (method === undefined || method === actualMethod) &&
    (path === undefined || path.test(decodeURIComponent(url.replaceAll('+', ' '))))
  )
}

/** @param refuse sends the vendor's error, with these headers */
export function answerWith(
  fault: Fault,
  request: IncomingMessage,
  refuse: (fault: Fault, headers: Record<string, string>) => void,
): void {
  if (fault.reason === 'lost') {
    request.socket.destroy()
    return
  }
  // Read the whole body first, as the vendors do: an early response breaks many clients.
  request.resume()
  refuse(fault, fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) })
}
