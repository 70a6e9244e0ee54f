/** A minimal browser for OAuth consents: it stores cookies and follows the links of the pages. */

export interface Page {
  status: number
  text: string
  headers: Headers
}

interface Consenting extends Page {
  /** The address of this server to which the vendor redirected, with code and state. */
  callback: string
}

export class ConsentBrowser {
  readonly cookies = new Map<string, string>()
  readonly #headers: Record<string, string>

  /** @param headers the headers that a proxy in front adds */
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

  /** Opens the address from the API and resolves with the vendor's address. @throws if the page has no link */
  async begin(authorizationUrl: string): Promise<string> {
    const page = await this.open(authorizationUrl)
    const address = /<a href="([^"]+)"/.exec(page.text)?.[1]
    if (address === undefined) throw new Error(`${page.status}: ${page.text}`)
    return address.replaceAll('&#38;', '&')
  }

  /** Consents at the vendor and resolves with the callback address. */
  async consentAtVendor(vendorUrl: string): Promise<string> {
    const response = await fetch(vendorUrl, { redirect: 'manual' })
    return response.headers.get('location') ?? ''
  }

  /** Completes a consent. */
  async consent(authorizationUrl: string): Promise<Consenting> {
    const callback = await this.consentAtVendor(await this.begin(authorizationUrl))
    return { ...(await this.open(callback)), callback }
  }
}
