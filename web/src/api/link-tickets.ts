/** Tickets with which somebody who is back from an issuer links an account there. The server puts them into the address of a page. */

const mark = '#link='

/** Returns the ticket in the part of an address from "#" on; null for none. */
export function ticketIn(hash: string): string | null {
  return hash.startsWith(mark) ? hash.slice(mark.length) : null
}

/** Returns the id of the issuer in a ticket, which is signed, and not encrypted; null for anything else. */
export function issuerIn(ticket: string | null): unknown {
  return contentOf(ticket).issuerId ?? null
}

/** Returns the email address of the account at the issuer; null if the issuer has named none. */
export function emailIn(ticket: string | null): string | null {
  const { email } = contentOf(ticket)
  return typeof email === 'string' ? email : null
}

function contentOf(ticket: string | null): Record<string, unknown> {
  try {
    const [payload = ''] = (ticket ?? '').split('.')
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), each => each.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return {}
  }
}
