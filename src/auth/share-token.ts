import { randomBytes } from 'node:crypto'

/** Begins like an API key, so that the same pattern removes it from the log. */
const prefix = 'stw_share_'
const pattern = /^stw_share_[0-9a-f]{40}$/

/** Generates `stw_share_` followed by 160 random bits as 40 hexadecimal characters. */
export function generateShareToken(): string {
  return prefix + randomBytes(20).toString('hex')
}

export function isShareToken(text: string): boolean {
  return pattern.test(text)
}
