import { Client, type Context, RedirectHandler, RetryHandler } from '@microsoft/microsoft-graph-client'

interface Address {
  url: string
}

/** The address in the links of a fake server for Microsoft's client, which follows only those of https. */
export const publicUrl = 'https://fake.example/'

/** Sends requests for Microsoft's addresses to the fake server. */
export function send(fake: Address, url: string, init?: RequestInit): Promise<Response> {
  return fetch(url.replace(/^https:\/\/(?:graph\.microsoft\.com|fake\.example)\//, fake.url), init)
}

export function connect(fake: Address, token: string): Client {
  const network = {
    async execute(context: Context) {
      const url = String(context.request)
      const authorization = url.includes('/v1.0/') ? { authorization: `Bearer ${token}` } : {}
      const headers = { ...(context.options?.headers as Record<string, string>), ...authorization }
      context.response = await send(fake, url, { ...(context.options as RequestInit), headers })
    },
    setNext() {},
  }
  const redirect = new RedirectHandler()
  redirect.setNext(network)
  const retry = new RetryHandler()
  retry.setNext(redirect)
  return Client.initWithMiddleware({ middleware: retry })
}
