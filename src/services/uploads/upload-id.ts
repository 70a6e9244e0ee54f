import { randomBytes } from 'node:crypto'

const bytes = 24
const pattern = /^[\w-]{32}$/

export function newUploadId(): string {
  return randomBytes(bytes).toString('base64url')
}

/** Other texts are not looked up. */
export function isUploadId(text: string): boolean {
  return pattern.test(text)
}
