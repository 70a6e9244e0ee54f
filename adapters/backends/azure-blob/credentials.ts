import { StorageError } from '../../contract.ts'

/** @throws INVALID_CONFIG */
export function parseKey(text: string): Buffer {
  const trimmed = text.trim()
  const key = Buffer.from(trimmed, 'base64')
  if (key.length === 0 || key.toString('base64') !== trimmed) {
    const message = 'The account key is not complete: copy it again from "Access keys" of the storage account.'
    throw new StorageError('INVALID_CONFIG', message)
  }
  return key
}

/** Parses a token or an address with one. @throws INVALID_CONFIG */
export function parseSas(text: string): Readonly<Record<string, string>> {
  const trimmed = text.trim()
  const query = Object.fromEntries(new URLSearchParams(trimmed.slice(trimmed.indexOf('?') + 1)))
  if (!query.sig || !query.sv) {
    const message = 'The shared access signature is not complete: it has "sv=" and "sig=" in it. Copy it again.'
    throw new StorageError('INVALID_CONFIG', message)
  }
  return query
}
