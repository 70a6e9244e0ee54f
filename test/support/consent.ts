/** A browser as far as OAuth consent needs one: it keeps cookies of this server and follows what the pages lead to. */

export interface Page {
  status: number
  text: string
  headers: Headers
}

export interface Consenting extends Page {
  /** Where the vendor has sent the browser: the address of this server, with code and state. */
  callback: string
}

export class ConsentBrowser {
  readonly cookies = new Map<string, string>()
  readonly #headers: Record<string, string>

  /** @param headers that a proxy in front adds */
  constructor(headers: Record<string, string> = {}) {
    this.#headers = headers
  }

  async open(address: string): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { ...this.#headers, ...(cookie && { cookie }) },
    })
    for (const text of response.headers.getSetCookie()) {
      const [pair = ''] = text.split(';', 1)
      this.cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  /** From the address that the API gave to the address at the vendor. @throws where the page leads nowhere */
  async begin(authorizationUrl: string): Promise<string> {
    const page = await this.open(authorizationUrl)
    const address = /<a href="([^"]+)"/.exec(page.text)?.[1]
    if (address === undefined) throw new Error(`${page.status}: ${page.text}`)
    return address.replaceAll('&#38;', '&')
  }

  /** At the vendor, where the person answers at once; resolves with the address that leads back here. */
  async answer(vendorUrl: string): Promise<string> {
    const response = await fetch(vendorUrl, { redirect: 'manual' })
    return response.headers.get('location') ?? ''
  }

  /** All of it. */
  async consent(authorizationUrl: string): Promise<Consenting> {
    const callback = await this.answer(await this.begin(authorizationUrl))
    return { ...(await this.open(callback)), callback }
  }
}
